# SPDX-License-Identifier: Apache-2.0
"""The names of the memory that a module uses, from its debug information.

One line for each member of a lock or client (`object`: offset, size, name, whose), variable
(`static`: address, size, name; `thread`: offset, size, name), member of a type, by which
objects on the heap are named (`type`: the type's size and name; the member's offset, size and
name), and variable of a function (`local`: the addresses between which the function's code lies;
offset in its frame, size, name). The line `longer` says that some structure ends in an array of at
most one element, which may go on behind the structure. The first line is `instrumented` if the
checker sees each access of the module's code, and `silent` if it may not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from pathlib import Path

    from elftools.dwarf.die import DIE

INSTRUMENTED = "instrumented"
SILENT = "silent"
LONGER = "longer"
MOST_ELEMENTS = 64
MOST_DEPTH = 8
LIBRARIES = ("std", "__gnu_cxx", "__cxxabiv1")
# Operations of location expressions.
OP_ADDRESS = 0x03
OP_CONSTANT = (0x0C, 0x0E)
OP_OF_THREAD = (0xE0, 0x9B)
OP_IN_FRAME = 0x91
FRAME_OF_CALL = [0x9C]  # the base of a frame: the stack's end before the call
LOCALS = ("DW_TAG_variable", "DW_TAG_formal_parameter")
SCOPES = ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine")
QUALIFIERS = (
    "DW_TAG_typedef",
    "DW_TAG_const_type",
    "DW_TAG_volatile_type",
    "DW_TAG_atomic_type",
)
UNION = "DW_TAG_union_type"
STRUCTURES = ("DW_TAG_structure_type", "DW_TAG_class_type", UNION)


def text(module: Path, entries: Sequence[str]) -> str:
    """Returns no names for what the debug information does not describe."""
    with module.open("rb") as file:
        try:
            elf = ELFFile(file)
            if not elf.has_dwarf_info():
                return f"{LONGER}\n"
            found = _Found(entries)
            for unit in elf.get_dwarf_info().iter_CUs():
                found.look(unit.get_top_DIE(), ours=False)
            return "".join(f"{line}\n" for line in found.lines)
        except (ELFError, DWARFError):
            return f"{LONGER}\n"


# What every shared object has, from the compiler's and the C library's own files.
OF_START = frozenset(
    {"_init", "_fini", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux"}
    | {"frame_dummy", "call_weak_fn", "_edata", "_end", "__bss_start", "_DYNAMIC", "__dso_handle"}
    | {"_GLOBAL_OFFSET_TABLE_", "__GNU_EH_FRAME_HDR", "__TMC_END__"}
)


def has_other_code(module: Path, known: Container[str]) -> bool:
    """Returns whether something was linked in that defines functions which are not known."""
    with module.open("rb") as file:
        try:
            symbols = ELFFile(file).get_section_by_name(".symtab")
        except ELFError:
            return True
        if not isinstance(symbols, SymbolTableSection):
            return True  # the options leave the symbols out
        return any(
            each["st_shndx"] != "SHN_UNDEF"
            and each["st_info"]["type"] not in ("STT_SECTION", "STT_FILE", "STT_OBJECT", "STT_TLS")
            and each.name not in OF_START
            and each.name not in known
            for each in symbols.iter_symbols()
            if each.name
        )


@dataclass
class _Found:
    """The lines of the list, and the search for them."""

    entries: Sequence[str]
    lines: list[str] = field(default_factory=list)

    def look(self, scope: DIE, *, ours: bool) -> None:
        """Looks at a scope's variables and types, and into the scopes in it."""
        for die in scope.iter_children():
            if die.tag == "DW_TAG_namespace":
                name = _name(die)
                if name not in LIBRARIES:
                    self.look(die, ours=name == "lockyard_checked")
            elif die.tag == "DW_TAG_variable":
                self._variable(die, ours=ours)
            elif die.tag in STRUCTURES:
                self._type(die)
                if _ends_in_short_array(die) and LONGER not in self.lines:
                    self.lines.append(LONGER)
                self.look(die, ours=False)
            elif die.tag in ("DW_TAG_subprogram", "DW_TAG_lexical_block"):
                self.look(die, ours=False)
                if die.tag == "DW_TAG_subprogram" and "DW_AT_low_pc" in die.attributes:
                    self._locals_of(die)

    def _variable(self, die: DIE, *, ours: bool) -> None:
        named = _named(die)
        name = _name(named)
        if ours and name.startswith("lockyard_type_"):
            entry = self.entries[int(name.removeprefix("lockyard_type_"))]
            pointer = die.get_DIE_from_attribute("DW_AT_type")
            of = _stripped(pointer.get_DIE_from_attribute("DW_AT_type"))
            self.lines += [
                f"object {at} {size} {member} {entry}" for at, size, member in _members(of)
            ]
        kind, place = _location(die)
        if not kind or not name or name.startswith("lockyard_"):
            return
        typed = named if "DW_AT_type" in named.attributes else die
        if "DW_AT_type" not in typed.attributes:
            return
        of = typed.get_DIE_from_attribute("DW_AT_type")
        found = list(_members(of, place, name)) or [(place, _size(of), name)]
        self.lines += [f"{kind} {at} {size} {member}" for at, size, member in found]

    def _locals_of(self, function: DIE) -> None:
        base = function.attributes.get("DW_AT_frame_base")
        high = function.attributes.get("DW_AT_high_pc")
        if base is None or base.value != FRAME_OF_CALL or high is None:
            return
        low = function.attributes["DW_AT_low_pc"].value
        end = high.value if high.form == "DW_FORM_addr" else low + high.value
        self._locals(function, f"local {low} {end}")

    def _locals(self, scope: DIE, head: str) -> None:
        for die in scope.iter_children():
            if die.tag in SCOPES:
                self._locals(die, head)
            elif die.tag in LOCALS and "DW_AT_artificial" not in die.attributes:
                self._local(die, head)

    def _local(self, die: DIE, head: str) -> None:
        place = _offset_in_frame(die)
        named = _named(die)
        typed = named if "DW_AT_type" in named.attributes else die
        if place is None or not _name(named) or "DW_AT_type" not in typed.attributes:
            return
        of = typed.get_DIE_from_attribute("DW_AT_type")
        found = list(_members(of, place, _name(named))) or [(place, _size(of), _name(named))]
        self.lines += [f"{head} {at} {size} {member}" for at, size, member in found if size]

    def _type(self, die: DIE) -> None:
        if not _name(die) or not _size(die):
            return
        head = f"type {_size(die)} {_name(die)}"
        self.lines += [f"{head} {at} {size} {member}" for at, size, member in _members(die)]


def _named(variable: DIE) -> DIE:
    """Returns where a variable's name is: with the variable, or with its declaration."""
    for link in ("DW_AT_specification", "DW_AT_abstract_origin"):
        if link in variable.attributes:
            return _named(variable.get_DIE_from_attribute(link))
    return variable


def _location(variable: DIE) -> tuple[str, int]:
    """Returns the kind of a variable that is not on a stack, and its address or offset."""
    attribute = variable.attributes.get("DW_AT_location")
    if attribute is None or not isinstance(attribute.value, list):
        return "", 0
    code = bytes(attribute.value)
    if len(code) == 9 and code[0] == OP_ADDRESS:
        return "static", int.from_bytes(code[1:], "little")
    if len(code) in (6, 10) and code[0] in OP_CONSTANT and code[-1] in OP_OF_THREAD:
        return "thread", int.from_bytes(code[1:-1], "little")
    return "", 0


def _offset_in_frame(variable: DIE) -> int | None:
    """Returns nothing for a variable that is not always at one place in its function's frame."""
    attribute = variable.attributes.get("DW_AT_location")
    if attribute is None or not isinstance(attribute.value, list):
        return None
    operation, *digits = bytes(attribute.value)
    if operation != OP_IN_FRAME or any(each < 0x80 for each in digits[:-1]) or not digits:
        return None
    value = sum((each & 0x7F) << 7 * place for place, each in enumerate(digits))
    return value - (1 << 7 * len(digits)) if digits[-1] & 0x40 else value


def _members(
    of: DIE, base: int = 0, prefix: str = "", depth: int = 0
) -> Iterator[tuple[int, int, str]]:
    of = _stripped(of)
    if of.tag == "DW_TAG_array_type" and depth < MOST_DEPTH:
        element = of.get_DIE_from_attribute("DW_AT_type")
        size = _size(element)
        for index in range(min(_count(of), MOST_ELEMENTS)):
            yield from _members(element, base + index * size, f"{prefix}[{index}]", depth + 1)
    elif of.tag == UNION and prefix and _size(of):
        yield base, _size(of), prefix
    elif of.tag in STRUCTURES and not _is_leaf(of) and depth < MOST_DEPTH:
        for die in of.iter_children():
            if "DW_AT_data_member_location" not in die.attributes or "DW_AT_type" not in (
                die.attributes
            ):
                continue
            location = die.attributes["DW_AT_data_member_location"].value
            if not isinstance(location, int):  # a virtual base: the object itself says where it is
                continue
            offset = base + location
            name = prefix
            if die.tag != "DW_TAG_inheritance":
                name = f"{prefix}.{_name(die)}" if prefix else _name(die)
            yield from _members(die.get_DIE_from_attribute("DW_AT_type"), offset, name, depth + 1)
    elif prefix and _size(of):
        yield base, _size(of), prefix


def _ends_in_short_array(structure: DIE) -> bool:
    fields = [each for each in structure.iter_children() if each.tag == "DW_TAG_member"]
    if not fields or "DW_AT_type" not in fields[-1].attributes:
        return False
    last = _stripped(fields[-1].get_DIE_from_attribute("DW_AT_type"))
    return last.tag == "DW_TAG_array_type" and _count(last) <= 1


def _is_leaf(die: DIE) -> bool:
    """Tells whether a type is one of the library's, whose members mean nothing to a reader."""
    parent = die.get_parent()
    while parent is not None:
        if parent.tag == "DW_TAG_namespace" and _name(parent) == "std":
            return True
        parent = parent.get_parent()
    return False


def _stripped(die: DIE) -> DIE:
    while die.tag in QUALIFIERS and "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
    return die


def _name(die: DIE) -> str:
    attribute = die.attributes.get("DW_AT_name")
    return attribute.value.decode(errors="replace") if attribute else ""


def _size(die: DIE) -> int:
    die = _stripped(die)
    if die.tag == "DW_TAG_array_type":
        return _count(die) * _size(die.get_DIE_from_attribute("DW_AT_type"))
    attribute = die.attributes.get("DW_AT_byte_size")
    return int(attribute.value) if attribute else 0


def _count(array: DIE) -> int:
    count = 1
    for each in array.iter_children():
        if each.tag == "DW_TAG_subrange_type":
            bound = each.attributes.get("DW_AT_upper_bound")
            count *= int(bound.value) + 1 if bound else 0
    return count
