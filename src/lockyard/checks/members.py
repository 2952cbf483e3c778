# SPDX-License-Identifier: Apache-2.0
"""The names of the members of a user's lock, from the debug information of its module.

One line for each member: its offset, its size, its name, and the lock's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from elftools.dwarf.die import DIE

MOST_ELEMENTS = 64
MOST_DEPTH = 8
STRUCTURES = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")


def text(module: Path, entries: Sequence[str]) -> str:
    """Returns no lines for a type that the debug information does not describe."""
    lines: list[str] = []
    with module.open("rb") as file:
        try:
            found = _types(ELFFile(file))
            for number, entry in enumerate(entries):
                die = found.get(f"lockyard_type_{number}")
                for offset, size, name in _members(die, 0, "", 0) if die is not None else ():
                    lines.append(f"{offset} {size} {name} {entry}\n")
        except (ELFError, DWARFError):
            return ""
    return "".join(lines)


def _types(elf: ELFFile) -> dict[str, DIE]:
    """Returns what our variables point to, by the variables' names."""
    found: dict[str, DIE] = {}
    if not elf.has_dwarf_info():
        return found
    for unit in elf.get_dwarf_info().iter_CUs():
        for space in unit.get_top_DIE().iter_children():
            if space.tag != "DW_TAG_namespace" or _name(space) != "lockyard_checked":
                continue
            for die in space.iter_children():
                if die.tag == "DW_TAG_variable" and _name(die).startswith("lockyard_type_"):
                    pointer = die.get_DIE_from_attribute("DW_AT_type")
                    found[_name(die)] = _stripped(pointer.get_DIE_from_attribute("DW_AT_type"))
    return found


def _members(of: DIE, base: int, prefix: str, depth: int) -> Iterator[tuple[int, int, str]]:
    of = _stripped(of)
    if of.tag == "DW_TAG_array_type" and depth < MOST_DEPTH:
        element = of.get_DIE_from_attribute("DW_AT_type")
        size = _size(element)
        for index in range(min(_count(of), MOST_ELEMENTS)):
            yield from _members(element, base + index * size, f"{prefix}[{index}]", depth + 1)
    elif of.tag in STRUCTURES and not _is_leaf(of) and depth < MOST_DEPTH:
        for die in of.iter_children():
            if "DW_AT_data_member_location" not in die.attributes or "DW_AT_type" not in (
                die.attributes
            ):
                continue
            offset = base + die.attributes["DW_AT_data_member_location"].value
            name = prefix
            if die.tag != "DW_TAG_inheritance":
                name = f"{prefix}.{_name(die)}" if prefix else _name(die)
            yield from _members(die.get_DIE_from_attribute("DW_AT_type"), offset, name, depth + 1)
    elif prefix and _size(of):
        yield base, _size(of), prefix


def _is_leaf(die: DIE) -> bool:
    """Tells whether a type is one of the library's, whose members mean nothing to a reader."""
    parent = die.get_parent()
    while parent is not None:
        if parent.tag == "DW_TAG_namespace" and _name(parent) == "std":
            return True
        parent = parent.get_parent()
    return False


def _stripped(die: DIE) -> DIE:
    while die.tag in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
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
