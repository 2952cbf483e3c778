# SPDX-License-Identifier: Apache-2.0
"""A user's program, started with a library of the field kit in it. Its standard streams, its exit
status and its signals stay its own."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from lockyard.errors import LockyardError, MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)
OF_THE_TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # which sends them to the program, too
NOT_FOUND, NOT_EXECUTABLE = 127, 126  # the shells' statuses
_POLL_S = 0.05


class ProgramNotStartedError(LockyardError):
    """The program is not there, or is none. The status is the one that a shell returns."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def preload_library(name: str) -> Path:
    """Returns the library liblockyard-NAME.so of this installation, or the one in the folder that
    LOCKYARD_PRELOAD names."""
    chosen = os.environ.get("LOCKYARD_PRELOAD")
    folder = Path(chosen) if chosen else Path(__file__).parent.parent / "lib" / "preload"
    path = (folder / f"liblockyard-{name}.so").absolute()
    if not path.is_file():
        raise MissingCapabilityError(
            f"there is no {path.name} in {folder}, so programs cannot be looked into; "
            + ("correct or unset LOCKYARD_PRELOAD" if chosen else "reinstall lockyard")
        )
    return path


def found_program(name: str) -> Path:
    """Returns the file that the name stands for, as a shell finds it."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    given = Path(name)
    if "/" in name and given.exists():
        why = "is a folder" if given.is_dir() else "is not executable"
        raise ProgramNotStartedError(
            f"{name} {why}, so it was not started; name an executable file, or use 'chmod +x'",
            NOT_EXECUTABLE,
        )
    raise ProgramNotStartedError(
        f"{name}: there is no such program, so nothing was started; check the name and PATH",
        NOT_FOUND,
    )


def check_preloadable(path: Path) -> None:
    """Raises MissingCapabilityError for a program into which the loader would load no library: it
    would leave the library out without a word."""
    why = _why_not(path)
    if why is not None:
        raise MissingCapabilityError(
            f"{path} {why}, so no library can be loaded into it and its locks stay unseen; use "
            "'lockyard hang PID', which needs no library"
        )


def _why_not(path: Path) -> str | None:
    mode = path.stat().st_mode
    if mode & (stat.S_ISUID | stat.S_ISGID) and os.geteuid() != 0:
        return "has the set-user-id or set-group-id bit"
    try:
        with path.open("rb") as file:
            begin = file.read(2)
            if begin == b"#!":
                words = file.readline().split()
                interpreter = Path(os.fsdecode(words[0])) if words else None
                return _why_not(interpreter) if interpreter and interpreter.is_file() else None
            file.seek(0)
            elf = ELFFile(file)
            interpreters = [each.data() for each in elf.iter_segments("PT_INTERP")]
    except (OSError, ELFError):
        return None  # the kernel will say what is wrong
    if not interpreters:
        return "is a static program"
    if b"musl" in interpreters[0]:
        return "uses musl, whose loader refuses a library that needs glibc"
    return None


def run(
    command: Sequence[str],
    library: Path,
    variables: Mapping[str, str],
    meanwhile: Callable[[int], None] | None = None,
) -> int:
    """Runs the program to its end. Returns its exit status, or minus the number of the signal that
    ended it. Calls `meanwhile` with its process id now and then."""
    path = found_program(command[0])
    check_preloadable(path)
    preload = ":".join(filter(None, (str(library), os.environ.get("LD_PRELOAD"))))
    environment = {**os.environ, **variables, "LD_PRELOAD": preload}
    started: list[subprocess.Popen[bytes]] = []

    def forward(number: int, _: FrameType | None) -> None:
        for each in started:
            each.send_signal(number)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    # A handler, because a program inherits what is ignored.
    before |= {number: signal.signal(number, lambda *_: None) for number in OF_THE_TERMINAL}
    try:
        try:
            started.append(subprocess.Popen(command, executable=path, env=environment))
        except OSError as error:
            raise ProgramNotStartedError(
                f"{path} cannot be started ({error.strerror}); name a program that runs here",
                NOT_EXECUTABLE,
            ) from error
        return _waited(started[0], meanwhile)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _waited(process: subprocess.Popen[bytes], meanwhile: Callable[[int], None] | None) -> int:
    if meanwhile is None:
        return process.wait()
    while True:
        try:
            return process.wait(timeout=_POLL_S)
        except subprocess.TimeoutExpired:
            meanwhile(process.pid)


def end_as(status: int) -> int:
    """Ends this command as the program has ended: returns its status, or dies by its signal."""
    if status >= 0:
        return status
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # there is one of the program already
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
    return 128 - status  # a signal that does not end this process
