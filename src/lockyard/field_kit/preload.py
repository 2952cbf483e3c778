# SPDX-License-Identifier: Apache-2.0
"""Starts programs with one of this installation's libraries for LD_PRELOAD."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lockyard.errors import LockyardError, MissingCapabilityError, UsageError
from lockyard.field_kit.program_file import NotExecutableError, located, needed_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Stream = IO[Any] | int | None  # None: the stream of this process
CONTROL = "glibc"  # the library that forwards to glibc
PASSED = ("robust", "inheriting", "protecting", "shared")
CONDITIONS = ("condition_variable", "condition_variable_any")
_PREFIX = "liblockyard-run-"
# Signals that the terminal sends to no process by itself.
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)
_SIGNALLED = 128  # what a shell adds to the number of a signal
_MEANWHILE_EVERY_S = 0.05
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
            f"{lock} cannot replace a pthread mutex: there is no such lock, or it needs more than "
            "8 bytes, or its initial state is not all zero bytes; choose from "
            + ", ".join([*swappable(), CONTROL])
        )
    return _loadable(path)


def recorder() -> Path:
    """Returns the library that profiles and guards."""
    path = folder() / "liblockyard-profile.so"
    if not path.is_file():
        raise MissingCapabilityError(
            f"there is no {path.name} in {path.parent}, so no locks can be recorded; reinstall "
            "lockyard, or correct LOCKYARD_PRELOAD"
        )
    return _loadable(path)


def _loadable(path: Path) -> Path:
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
    chosen: int = 0  # mutexes that --only has swapped
    passed: Counter[str] = field(default_factory=Counter)  # mutexes that stayed glibc's, by kind

    def add(self, line: dict[str, Any]) -> None:
        self.processes.add(line["pid"])
        self.refused |= line["event"] == "refused"
        self.chosen += line.get("chosen", 0)
        self.passed.update({kind: line[kind] for kind in PASSED if line.get(kind)})


class Launch:
    """A program with a lock in place of its mutexes, or with another library, ready to start."""

    def __init__(
        self,
        command: Sequence[str],
        lock: str | None,
        settings: Mapping[str, str],
        other_library: Path | None = None,
    ) -> None:
        """Prepares the program as it is if `lock` and `other_library` are None."""
        if not command:
            raise UsageError("no program was given, so there is nothing to run; add -- PROGRAM")
        self.command = tuple(command)
        self._library = library(lock) if lock is not None else other_library
        program = located(command[0], os.environ)
        self._environment = dict(os.environ)
        if self._library is not None:
            first = needed_first(program, self._library, os.environ)
            inherited = os.environ.get("LD_PRELOAD", "").split()
            self._environment["LD_PRELOAD"] = " ".join([*first, str(self._library), *inherited])
            self._environment.update(settings)

    def start(
        self,
        reports: IO[bytes],
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> subprocess.Popen[bytes]:
        # A name of a file in memory, so that a full disk loses nothing.
        name = f"/proc/{os.getpid()}/fd/{reports.fileno()}"
        environment = self._environment | {"LOCKYARD_PRELOAD_REPORT": name}
        try:
            return subprocess.Popen(
                self.command, env=environment, stdin=stdin, stdout=stdout, stderr=stderr
            )
        except OSError as error:
            raise NotExecutableError(
                f"{self.command[0]} cannot be executed ({error.strerror}), so nothing was run; "
                "name an executable file"
            ) from None

    def check(self, reported: Reported) -> None:
        """Raises an error if the library was not loaded, or refused."""
        if self._library is None:
            return
        if reported.refused:
            raise MissingCapabilityError(
                f"{self.command[0]} runs with a glibc of unknown layout, so its locks were left "
                "alone; the library's message on standard error has the known versions"
            )
        if not reported.processes:
            raise LockyardError(
                f"the library was not loaded into {self.command[0]}, so its locks were left alone; "
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


def run_as_one(
    launch: Launch,
    reports: IO[bytes],
    meanwhile: Callable[[], None] | None = None,
    stdout: Stream = None,
) -> int:
    """Runs the program as if it were this process: signals reach it. Calls `meanwhile` now and
    then. Returns the program's status, negative after a signal."""
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
        process = launch.start(reports, stdout=stdout)
        for each in early:
            process.send_signal(each)
        return _waited(process, meanwhile)
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _waited(process: subprocess.Popen[bytes], meanwhile: Callable[[], None] | None) -> int:
    while meanwhile is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=_MEANWHILE_EVERY_S)
        meanwhile()
    return process.wait()


def end_as(status: int) -> int:
    """Ends this process as the program ended: returns its status, or ends by its signal, without a
    second core file."""
    if status >= 0:
        return status
    number = signal.Signals(-status)
    sys.stdout.flush()
    sys.stderr.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return _SIGNALLED + number


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
