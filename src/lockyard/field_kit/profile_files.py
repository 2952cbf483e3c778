# SPDX-License-Identifier: Apache-2.0
"""A profile's file, JSON Lines, written and read; and folded stacks for flame graphs."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from lockyard.errors import UsageError
from lockyard.field_kit.contention import Contention, Process, Record
from lockyard.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lockyard.field_kit.contention import WaitGroup

_FIRST = b'{"record":"profile",'


def write(path: Path, content: bytes) -> None:
    replace_file(path, content, "so the profile is only what was printed")


def json_lines(processes: Iterable[Contention]) -> bytes:
    return b"".join(
        msgspec.json.encode(each) + b"\n" for found in processes for each in _records(found)
    )


def _records(found: Contention) -> Iterator[Record]:
    """Yields the process, then each lock with its waits, then the long waits."""
    yield found.process
    for row in (*found.rows, *found.idle):
        yield row
        yield from found.groups[row.lock, row.kind]
    yield from found.long_waits


def is_profile(path: Path) -> bool:
    """Returns whether the file begins as a profile does."""
    try:
        with path.open("rb") as file:
            return file.read(len(_FIRST)) == _FIRST
    except OSError:
        return False


def read(path: Path) -> list[Contention]:
    """Returns the processes of a profile's file; its lines may have keys that are new."""
    found = list[Contention]()
    decoder = msgspec.json.Decoder(Record)
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            record = decoder.decode(line)
        except msgspec.DecodeError as error:
            raise UsageError(
                f"{path}, line {number}: not a record of a profile ({error}), so the file cannot "
                "be shown; name a file that 'lockyard profile -o' has written"
            ) from None
        if isinstance(record, Process):
            found.append(Contention(record))
        else:
            found[-1].add(record)
    return found


def stack_of(group: WaitGroup) -> list[str]:
    """Returns the waiter's functions, outermost first, then the lock and the holder's place."""
    behind = [f"behind {group.holder_place}"] if group.holder else []
    return [*reversed(group.waiter), f"[{group.kind} {group.lock}]", *behind]


def folded(processes: Iterable[Contention]) -> bytes:
    """Returns a line for each stack, with the microseconds waited."""
    sums = defaultdict[str, float](float)
    for found in processes:
        for groups in found.groups.values():
            for group in groups:
                stack = ";".join(each.replace(";", ":") for each in stack_of(group))
                sums[stack] += group.wait_ns
    lines = (f"{stack} {max(1, round(ns / 1e3))}\n" for stack, ns in sums.items())
    return "".join(lines).encode()
