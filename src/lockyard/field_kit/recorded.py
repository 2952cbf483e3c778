# SPDX-License-Identifier: Apache-2.0
"""Recorded programs: where their records lie, and the names of recorded addresses."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.field_kit.process import MACHINES, Process
from lockyard.field_kit.records_file import SUFFIX, bytes_used, read
from lockyard.field_kit.symbols import RUNTIMES, WRAPPERS, Symbols
from lockyard.field_kit.target import Mapping, Maps, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockyard.field_kit.records import Records

FAST_FOLDER = Path("/dev/shm")  # noqa: S108 - a folder of this process alone is made in it
UNKNOWN = "unknown"
# Functions that only lock or unlock: their callers say more.
_LOCKING = re.compile(
    r"(~?(scoped|unique|shared)?_?(mutex|spin|rw)?_?(lock|guard|lockguard|holder)(shared)?"
    r"|(try_?|mutex_?|pthread_mutex_|rw_?)?(un)?lock(_?(shared|exclusive|read|write|guard))?"
    r"|acquire|release|enter|leave|wait(_?(for|until))?|signal(all)?|notify(_?(one|all))?|post"
    r"|broadcast|down|up)$",
    re.IGNORECASE,
)
# The function that a std::thread runs, where its body is inlined.
_THREAD_BODY = re.compile(r"^std::thread::_State_impl<.*?std::tuple<(.*{lambda.*)> > >::_M_run")


@contextmanager
def records_folder() -> Iterator[Path]:
    """Makes a folder for the records, in memory where that is possible."""
    inside = FAST_FOLDER if os.access(FAST_FOLDER, os.W_OK) else None
    try:
        folder = Path(tempfile.mkdtemp(prefix="lockyard-", dir=inside))
    except OSError as error:
        raise MissingCapabilityError(
            f"no folder for the records can be made ({error.strerror}), so nothing was started; "
            "set TMPDIR to a folder with space"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def all_records(folder: Path) -> list[Records]:
    """Returns the records of all processes that had room for some."""
    paths = sorted(folder.glob(f"*{SUFFIX}"), key=lambda each: each.stat().st_mtime_ns)
    return [read(path) for path in paths if bytes_used(path)]


def nothing_recorded(program: str) -> str:
    """Returns what is said if no process of the program had room for records."""
    return (
        f"{program} had no memory for its records, so nothing is known of its locks; raise its "
        "limits of address space and file size (ulimit -v, -f), or name a folder with space by "
        "TMPDIR"
    )


def records_path_of(pid: int) -> Path:
    """Returns the file to which a running process writes its records."""
    for mapping in Process(pid).maps().all():
        if mapping.path.endswith(SUFFIX):
            return Path(f"/proc/{pid}/root{mapping.path}")
    raise UsageError(
        f"process {pid} writes no records, so there is no profile; start it with 'lockyard "
        "profile -- PROGRAM', or look at it with 'lockyard hang'"
    )


class _RecordedTarget:
    """Implements target.Target, for names only."""

    machine = next(iter(MACHINES.values()))
    has_own_ids = False

    def __init__(self, records: Records) -> None:
        self.pid, self.program = records.pid, records.program

    def snapshot(self) -> Snapshot:
        return Snapshot({})

    def read(self, address: int, size: int) -> bytes | None:  # noqa: ARG002 - the protocol's
        return None

    def maps(self) -> Maps:
        return Maps([])

    def file(self, path: str) -> str:
        return path

    def names(self, tids: list[int]) -> dict[int, str]:  # noqa: ARG002 - the protocol's
        return {}


class Names:
    """Names of the locks and places of one process."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._places: dict[tuple[int, ...], str] = {}
        self._functions: dict[int, str] = {}

    @cached_property
    def _maps(self) -> Maps:
        return Maps(
            [Mapping(each.begin, each.end, "r-xp", 0, each.path) for each in self._records.modules]
        )

    @cached_property
    def _symbols(self) -> Symbols:
        return Symbols(_RecordedTarget(self._records), self._maps)

    def variable(self, address: int) -> str:
        """Returns the symbol at an address of static data; "" for other memory."""
        return self._symbols.variable(address) if self._maps.at(address) else ""

    def function(self, return_address: int) -> str:
        """Returns the function from which the call was made."""
        if return_address not in self._functions:
            name = self._symbols.function(return_address - 1)
            base = name.partition("+0x")[0]
            known = base and "." not in base.rpartition("/")[2].partition("(")[0]
            self._functions[return_address] = short_name(base) if known else name
        return self._functions[return_address]

    def code(self, return_address: int) -> str:
        """Returns module and offset of a call, as addr2line takes them."""
        return self._symbols.offset(return_address - 1)

    def is_runtime(self, return_address: int) -> bool:
        """Returns whether the address is in the C or C++ library."""
        path = self._maps.file_at(return_address - 1)
        return path.rpartition("/")[2].startswith(RUNTIMES)

    def place(self, stack: tuple[int, ...]) -> str:
        """Returns the innermost function that does more than to lock."""
        if stack not in self._places:
            names = [self.function(address) for address in stack]
            telling = (each for each in names if not _is_wrapper(each))
            self._places[stack] = next(telling, names[0] if names else UNKNOWN)
        return self._places[stack]


def _is_wrapper(name: str) -> bool:
    bare = name.partition("<")[0].rpartition("::")[2]
    return (
        name.removeprefix("void ").removeprefix("bool ").startswith(WRAPPERS)
        or name.startswith((*RUNTIMES, "__interceptor_"))
        or _LOCKING.match(bare) is not None
    )


def short_name(name: str) -> str:
    """Leaves the arguments out of the name of a function."""
    if body := _THREAD_BODY.search(name):
        name = body[1]
    depth, kept = 0, ""
    for letter in name.replace("(anonymous namespace)::", ""):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and letter != ")":
            kept += letter
    return kept.removesuffix(" const").strip()
