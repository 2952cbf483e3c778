# SPDX-License-Identifier: Apache-2.0
"""Starts programs with one of this installation's libraries for LD_PRELOAD."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lockyard.errors import LockyardError, MissingCapabilityError, UsageError
from lockyard.field_kit.program_file import NotExecutableError, located, needed_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CONTROL = "glibc"  # the library that forwards to glibc
PASSED = ("robust", "inheriting", "protecting", "shared")
CONDITIONS = ("condition_variable", "condition_variable_any")
_PREFIX = "liblockyard-run-"
# Signals that the terminal sends to no process by itself.
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)
_OF_TERMINAL = (signal.SIGINT, signal.SIGQUIT)


def folder() -> Path:
    """Returns the folder of the libraries: the installation's, or the one that the environment
    variable names."""
    chosen = os.environ.get("LOCKYARD_PRELOAD")
    path = Path(chosen) if chosen else Path(__file__).parents[1] / "lib" / "preload"
    if not path.is_dir():
        raise MissingCapabilityError(
            f"there are no libraries for LD_PRELOAD at {path}, so no locks can be swapped; "
            + ("correct or unset LOCKYARD_PRELOAD" if chosen else "reinstall lockyard")
        )
    return path


def swappable() -> list[str]:
    """Returns the names that `library` accepts, without the control."""
    names = (each.name.removeprefix(_PREFIX) for each in folder().glob(f"{_PREFIX}*.so"))
    locks = (f"{lock}[{policy}]" if policy else lock for lock, _, policy in map(_parts, names))
    return sorted(name for name in locks if name != CONTROL)


def _parts(name: str) -> tuple[str, str, str]:
    return name.removesuffix(".so").partition("-")


def library(lock: str) -> Path:
    """Returns the library that swaps in the lock. Raises UsageError if there is none."""
    path = folder() / f"{_PREFIX}{lock.replace('[', '-').removesuffix(']')}.so"
    if not path.is_file():
        raise UsageError(
            f"{lock} cannot take the place of a pthread mutex: either there is no such lock, or it "
            "needs more than the mutex's 8 bytes, or another start than zero bytes; choose from "
            + ", ".join([*swappable(), CONTROL])
        )
    if ":" in str(path) or " " in str(path):
        raise MissingCapabilityError(
            f"LD_PRELOAD separates paths by colons and spaces, and {path} has one, so the library "
            "cannot be loaded; install lockyard elsewhere"
        )
    return path


@dataclass
class Reported:
    """What the libraries said about the processes that they were loaded into."""

    processes: set[int] = field(default_factory=set)
    refused: bool = False
    passed: Counter[str] = field(default_factory=Counter)  # mutexes that stayed glibc's, by kind

    def add(self, line: dict[str, Any]) -> None:
        self.processes.add(line["pid"])
        self.refused |= line["event"] == "refused"
        self.passed.update({kind: line[kind] for kind in PASSED if line.get(kind)})


class Launch:
    """A program with a lock in place of its mutexes, ready to be started."""

    def __init__(
        self, command: Sequence[str], lock: str | None, settings: Mapping[str, str]
    ) -> None:
        """Prepares the program as it is if `lock` is None."""
        if not command:
            raise UsageError("no program was given, so there is nothing to run; add -- PROGRAM")
        self.command = tuple(command)
        self.lock = lock
        program = located(command[0], os.environ)
        self._environment = dict(os.environ)
        if lock is not None:
            path = library(lock)
            first = needed_first(program, path, os.environ)
            inherited = os.environ.get("LD_PRELOAD", "").split()
            self._environment["LD_PRELOAD"] = " ".join([*first, str(path), *inherited])
            self._environment.update(settings)

    def start(self, reports: IO[bytes], **streams: Any) -> subprocess.Popen[bytes]:
        # A name of a file in memory, so that a full disk loses nothing.
        name = f"/proc/{os.getpid()}/fd/{reports.fileno()}"
        environment = self._environment | {"LOCKYARD_PRELOAD_REPORT": name}
        try:
            return subprocess.Popen(self.command, env=environment, **streams)
        except OSError as error:
            raise NotExecutableError(
                f"{self.command[0]} cannot be executed ({error.strerror}), so nothing was run; "
                "name an executable file"
            ) from None

    def check(self, reported: Reported) -> None:
        """Raises an error if the library was not loaded, or refused."""
        if self.lock is None:
            return
        if reported.refused:
            raise MissingCapabilityError(
                f"{self.command[0]} runs with a glibc of unknown layout, so no locks were swapped; "
                "the library's message on standard error has the known versions"
            )
        if not reported.processes:
            raise LockyardError(
                f"the library was not loaded into {self.command[0]}, so it ran with its own locks; "
                "look on standard error for a message of the dynamic linker"
            )


def report_file() -> IO[bytes]:
    return os.fdopen(os.memfd_create("lockyard-reports", os.MFD_CLOEXEC), "w+b")


def read_reports(file: IO[bytes]) -> Reported:
    found = Reported()
    file.seek(0)
    for line in file:
        found.add(json.loads(line))
    return found


def run_as_one(launch: Launch, reports: IO[bytes]) -> int:
    """Runs the program as if it were this process: signals reach it. Returns its status, negative
    after a signal."""
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []
    kept = {}
    in_foreground = _is_in_foreground()

    def forward(number: int, _frame: object) -> None:
        if number in _OF_TERMINAL and in_foreground:
            return  # the terminal has sent it to both
        if process is None:
            early.append(number)
        else:
            process.send_signal(number)

    for number in (*_FORWARDED, *_OF_TERMINAL):
        if signal.getsignal(number) != signal.SIG_IGN:
            kept[number] = signal.signal(number, forward)
    try:
        process = launch.start(reports)
        for each in early:
            process.send_signal(each)
        return process.wait()
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _is_in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def settings_of(condition: str) -> Iterator[tuple[str, str]]:
    """Yields the environment variables for the chosen condition variable."""
    if condition:
        if condition not in CONDITIONS:
            raise UsageError(
                f"--condition {condition}: there is no such condition variable to swap in; choose "
                + " or ".join(CONDITIONS)
            )
        yield "LOCKYARD_CONDITION", condition
