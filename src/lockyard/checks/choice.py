# SPDX-License-Identifier: Apache-2.0
"""The choices that the options of lockyard check make; refuses contradictory ones."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.checks.clients import MAX_ACQUISITIONS, MAX_THREADS, ClientSize
from lockyard.checks.glue import Wanted
from lockyard.checks.result import ANY_BOUND
from lockyard.errors import UsageError
from lockyard.options import whole_number
from lockyard.user_locks.lock_spec import user_locks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

SEARCHES = ("exhaustive", "pct", "random")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
MEMORY_BYTES = (1 << 20, 1 << 40)
MAX_SECONDS = 86400.0
MAX_BOUND = 1000
MAX_WORKERS = 256


@dataclass(frozen=True)
class Choice:
    """Names; or any of all, litmus and mutants; or bench; or a replay of one name."""

    names: tuple[str, ...]
    all: bool
    litmus: bool
    mutants: bool
    bench: bool
    replay: str
    size: ClientSize | None  # the client size for every lock; None: several sizes
    user_code: Wanted | None = None  # the user's locks or client, which are checked alone
    gdb: bool = False  # the replay runs under gdb
    cluster: str = ""  # the address of its scheduler; empty: this machine alone

    def __post_init__(self) -> None:
        switches = {
            "--all": self.all,
            "--litmus": self.litmus,
            "--mutants": self.mutants,
            "--bench": self.bench,
        }
        given = [switch for switch, on in switches.items() if on]
        if self.gdb and not (self.replay and self.user_code):
            raise UsageError(
                "--gdb: steps through one execution of your own lock or client, so there is "
                "nothing to step through; add --lock or --client, and the --replay that a failed "
                "check printed"
            )
        if self.cluster and (self.replay or self.bench):
            raise UsageError(
                f"--cluster: {'--replay' if self.replay else '--bench'} runs on this machine "
                "alone, so nothing was sent to it; drop one of the two"
            )
        if self.user_code is not None:
            self._check_user_code()
            return
        if self.replay:
            if len(self.names) != 1 or given:
                raise UsageError(
                    "--replay: replays one execution of one lock; name that lock, and drop "
                    "everything else"
                )
            if self.size is not None:
                raise UsageError(
                    "--replay: the replayed text already contains the client size; drop --threads "
                    "and --acquisitions"
                )
        if not (given or self.names):
            raise UsageError("nothing to check: name a lock, or give --all, --litmus or --mutants")
        alone = ["the names"] if self.names else ["--bench"] if self.bench else []
        others = [each for each in given if each not in alone]
        if alone and others:
            raise UsageError(
                f"{' and '.join([*others, *alone])}: exclude each other; give one of them at a time"
            )
        shaped = [each for each in given if each != "--all"]
        if self.size is not None and shaped:
            raise UsageError(
                f"{shaped[0]}: has its own client sizes; drop --threads and --acquisitions"
            )

    def _check_user_code(self) -> None:
        others = [*self.names, *(["--all"] if self.all else []), *(["--litmus"] * self.litmus)]
        others += ["--bench"] * self.bench
        if others:
            raise UsageError(
                f"{self.user_code}: is checked alone, so {' and '.join(others)} would not be "
                "checked; check them by another command"
            )
        if self.user_code is None:
            return
        if self.cluster:
            raise UsageError(
                f"{self.user_code} and --cluster exclude each other, because your code is compiled "
                "on this machine alone; drop --cluster"
            )
        if self.replay and (len(self.user_code.entries) != 1 or self.mutants or self.size):
            raise UsageError(
                "--replay: replays one execution of one lock, with its client size; give one "
                "--lock or --client, and drop everything else"
            )
        if self.user_code.client and self.size is not None:
            raise UsageError(
                "--client: has its own client size (its constant `threads`); drop --threads and "
                "--acquisitions"
            )


def user_code(
    locks: Sequence[str], clients: Sequence[str], include: Sequence[str], flags: str
) -> Wanted | None:
    """Returns what to compile, or None if the user named neither a lock nor a client."""
    if len(clients) > 1:
        raise UsageError(
            f"--client: names {len(clients)} files ({', '.join(clients)}), and each client is a "
            "program of its own, so nothing was checked; check one at a time"
        )
    client = clients[0] if clients else ""
    if client and locks:
        raise UsageError(
            "--client and --lock: a client includes the header of its lock itself; drop --lock, "
            "or drop --client to check the lock in lockyard's own clients"
        )
    if client and Path(client).is_dir():
        raise UsageError(
            f"--client {client}: is a folder and not a C or C++ file, so nothing was checked; name "
            "the file"
        )
    if client and not Path(client).is_file():
        raise UsageError(
            f"--client {client}: there is no such file (searched from {Path.cwd()}), so nothing "
            "was checked; correct the path"
        )
    try:
        # A client's file has no type to name; the other options mean the same for both.
        named = user_locks_of(locks or ([f"{client}:client"] if client else ()), include, flags)
    except UsageError as error:
        raise UsageError(str(error).replace("was measured", "was checked")) from None
    if named is None:
        return None
    return Wanted(() if client else named.locks, client, named.include, named.flags)


def size(threads: int | None, acquisitions: int | None) -> ClientSize | None:
    if threads is None and acquisitions is None:
        return None
    default = ClientSize()
    return ClientSize(threads or default.threads, acquisitions or default.acquisitions)


def threads(option: str, text: str) -> int:
    return whole_number(option, text, 1, MAX_THREADS)


def acquisitions(option: str, text: str) -> int:
    return whole_number(option, text, 1, MAX_ACQUISITIONS)


def bound(option: str, text: str) -> int:
    if text.strip() == "0":
        raise UsageError(
            f"{option} 0: without preemptions no thread is ever interrupted, which proves little; "
            f"give 1 or more, or any"
        )
    if text.strip() == "any":
        return ANY_BOUND
    return whole_number(option, text, 1, MAX_BOUND)


def workers(option: str, text: str) -> int:
    return whole_number(option, text, 1, MAX_WORKERS)


def default_workers() -> int:
    return min(len(os.sched_getaffinity(0)), MAX_WORKERS)


def search(option: str, text: str) -> str:
    if text not in SEARCHES:
        raise UsageError(f"{option} {text}: no such search; choose from {', '.join(SEARCHES)}")
    return text


def seconds(option: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= MAX_SECONDS:
        raise UsageError(f"{option} {text}: must be more than 0, and at most a day")
    return found


def memory_bytes(option: str, text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,6})([KMG])", text.strip(), re.IGNORECASE)
    found = int(match[1]) * UNITS[match[2].upper()] if match else 0
    least, most = MEMORY_BYTES
    if not least <= found <= most:
        raise UsageError(
            f"{option} {text}: must be from 1M to 1024G; give a number with K, M or G, as in 512M"
        )
    return found
