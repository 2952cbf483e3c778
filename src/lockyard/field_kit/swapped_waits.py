# SPDX-License-Identifier: Apache-2.0
"""Which thread waits for which mutex in a program under `lockyard run`: the library publishes it,
because a waiter sleeps in a word that is not the mutex's."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

if TYPE_CHECKING:
    from lockyard.field_kit.target import Mapping, Target

_LIBRARY = "/liblockyard-run-"
_TABLE = "lockyard_swapped_waits"
_SLOT = struct.Struct("<iIQ")  # thread, unused, mutex
_OWNER_AT = 8


def swapped_waits(target: Target) -> dict[int, tuple[int, int | None]]:
    """Returns, for each thread that waits for a swapped mutex, its address and its owner."""
    first = next((each for each in target.maps().all() if _LIBRARY in each.path), None)
    if first is None or (place := _table(target.file(first.path), first)) is None:
        return {}
    address, size = place
    if (content := target.read(address, size)) is None:
        return {}
    return {
        thread: (mutex, _owner(target, mutex))
        for thread, _, mutex in _SLOT.iter_unpack(content)
        if mutex
    }


def _table(path: str, first: Mapping) -> tuple[int, int] | None:
    try:
        with Path(path).open("rb") as file:
            elf = ELFFile(file)
            section: Any = elf.get_section_by_name(".dynsym")
            found = section.get_symbol_by_name(_TABLE)
            start = next(elf.iter_segments("PT_LOAD"))["p_vaddr"] & ~0xFFF
    except (OSError, ELFError, AttributeError, StopIteration):
        return None
    if not found:
        return None
    size = found[0]["st_size"] // _SLOT.size * _SLOT.size
    return first.begin - start + found[0]["st_value"], size


def _owner(target: Target, mutex: int) -> int | None:
    """Returns the owner's id; None if the mutex is on its way to a waiter."""
    word = target.read(mutex + _OWNER_AT, 4)
    return (int.from_bytes(word, "little") or None) if word else None
