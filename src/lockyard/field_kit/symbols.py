# SPDX-License-Identifier: Apache-2.0
"""Names for addresses in a process: of variables, of functions, of regions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from lockyard.cxx_names import demangled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lockyard.field_kit.target import Maps, Target, Thread

_SYMBOL = np.dtype(
    [
        ("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"),
        ("value", "<u8"), ("size", "<u8"),
    ]
)  # fmt: skip
_VARIABLE, _FUNCTIONS = 1, (2, 10)
_STACK_BYTES = 4096
# Between a program's own function and the kernel.
RUNTIMES = ("libc.so", "libc-2", "libpthread", "ld-linux", "libstdc++", "libc++", "libgcc_s")
WRAPPERS = (
    "std::mutex", "std::timed_mutex", "std::recursive_", "std::shared_", "std::__shared_",
    "std::unique_lock", "std::lock_guard", "std::scoped_lock", "std::condition_variable",
    "std::thread", "std::counting_semaphore", "std::__atomic_", "__gthread",
    "std::atomic", "std::latch", "std::barrier", "std::call_once", "std::binary_semaphore",
)  # fmt: skip


@dataclass(frozen=True)
class _Table:
    """Symbols of one kind, by address."""

    values: np.ndarray
    sizes: np.ndarray
    names: np.ndarray
    strings: bytes

    def at(self, address: int) -> str:
        index = int(np.searchsorted(self.values, address, side="right")) - 1
        if index < 0 or address >= int(self.values[index]) + max(int(self.sizes[index]), 1):
            return ""
        begin = int(self.names[index])
        name = self.strings[begin : self.strings.index(b"\0", begin)].decode(errors="replace")
        distance = address - int(self.values[index])
        return demangled(name) + (f"+{distance:#x}" if distance else "")

    def ranges(self, part: str, is_wanted: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
        """Yields begin and end of the symbols whose name, which has this part before it is
        demangled, is wanted."""
        for value, size, begin in zip(self.values, self.sizes, self.names, strict=True):
            name = self.strings[begin : self.strings.index(b"\0", begin)]
            if part.encode() in name and is_wanted(demangled(name.decode(errors="replace"))):
                yield int(value), int(value) + max(int(size), 1)


@dataclass(frozen=True)
class Module:
    shift: int  # from the file's addresses to the process's
    variables: _Table | None = None
    functions: _Table | None = None


class Symbols:
    def __init__(self, target: Target, maps: Maps) -> None:
        self._target, self._maps = target, maps
        self._modules: dict[str, Module | None] = {}
        self._stacks: dict[int, int] = {}  # begin of a mapping to the thread whose stack it is

    def note_stacks(self, threads: list[Thread]) -> None:
        for thread in threads:
            if thread.call and (mapping := self._maps.at(thread.call.stack)):
                self._stacks.setdefault(mapping.begin, thread.tid)

    def variable(self, address: int) -> str:
        """Returns how to name an object: by its symbol, or by where it lies."""
        path = self._maps.file_at(address)
        if path:
            module = self._module(path)
            found = (
                module.variables.at(address - module.shift) if module and module.variables else ""
            )
            return found or self._offset(path, address, module)
        mapping = self._maps.at(address)
        if mapping is None:
            return f"{address:#x} (not mapped)"
        if mapping.begin in self._stacks:
            return f"{address:#x} (stack of {self._stacks[mapping.begin]})"
        where = mapping.path.strip("[]") or "allocated"
        return f"{address:#x} ({where})"

    def function(self, address: int) -> str:
        path = self._maps.file_at(address)
        module = self._module(path) if path else None
        found = module.functions.at(address - module.shift) if module and module.functions else ""
        return found or (self._offset(path, address, module) if path else f"{address:#x}")

    def offset(self, address: int) -> str:
        """Returns the module, and the address in it."""
        path = self._maps.file_at(address)
        return self._offset(path, address, self._module(path)) if path else f"{address:#x}"

    def caller(self, thread: Thread) -> str:
        """Guesses which of the program's own functions waits: the first word on the stack that is
        the address behind a call in the program's own code, and not in a wrapper of the standard
        library's. Returns "" if there is none."""
        if thread.call is None or self._target.machine != "EM_X86_64":
            return ""
        mapping = self._maps.at(thread.call.stack)
        if mapping is None:
            return ""
        size = min(_STACK_BYTES, mapping.end - thread.call.stack) // 8 * 8
        stack = self._target.read(thread.call.stack, size)
        for word in np.frombuffer(stack or b"", "<u8"):
            name = self._calling(int(word))
            if name and not name.startswith(WRAPPERS):
                return name
        return ""

    def _calling(self, address: int) -> str:
        """Returns the program's function that the address is in, right behind a call, or ""."""
        code = self._maps.at(address)
        if code is None or "x" not in code.flags or not code.path.startswith("/"):
            return ""
        if os.path.basename(code.path).startswith(RUNTIMES):  # noqa: PTH119 - another machine's
            return ""
        if not self._follows_call(address):
            return ""
        return self.function(address - 1).partition("+0x")[0]

    def _follows_call(self, address: int) -> bool:
        before = self._target.read(address - 7, 7)
        if before is None:
            return False
        return before[2] == 0xE8 or any(
            before[-length] == 0xFF and (before[1 - length] >> 3) & 7 == 2
            for length in (2, 3, 6, 7)
        )

    def _offset(self, path: str, address: int, module: Module | None) -> str:
        name = os.path.basename(path)  # noqa: PTH119 - as above
        return f"{name}+{address - module.shift:#x}" if module else f"{address:#x} ({name})"

    def _module(self, path: str) -> Module | None:
        if path not in self._modules:
            self._modules[path] = self._load(path)
        return self._modules[path]

    def _load(self, path: str) -> Module | None:
        first = next(each for each in self._maps.all() if each.path == path)
        try:
            with open(self._target.file(path), "rb") as file:  # noqa: PTH123 - may be of /proc
                elf = ELFFile(file)
                for segment in elf.iter_segments("PT_LOAD"):
                    page = segment["p_offset"] & ~0xFFF
                    if page == first.offset:
                        shift = first.begin - (segment["p_vaddr"] & ~0xFFF)
                        return module_of(elf, shift)
        except (OSError, ELFError, ValueError):
            return None
        return None


def module_of(elf: ELFFile, shift: int) -> Module:
    section = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
    if section is None:
        return Module(shift)
    strings = elf.get_section(section["sh_link"]).data()
    symbols = np.frombuffer(section.data(), _SYMBOL)
    symbols = symbols[(symbols["section"] != 0) & (symbols["value"] != 0)]
    symbols = symbols[np.argsort(symbols["value"], kind="stable")]
    kinds = symbols["info"] & 15

    def table(chosen: np.ndarray) -> _Table:
        return _Table(chosen["value"], chosen["size"], chosen["name"], strings)

    return Module(
        shift,
        table(symbols[kinds == _VARIABLE]),
        table(symbols[np.isin(kinds, _FUNCTIONS)]),
    )
