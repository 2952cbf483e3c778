# SPDX-License-Identifier: Apache-2.0
"""Runs several compilers at a time; if this process ends early, they end too."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from lockyard.errors import MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BETWEEN_LOOKS_S = 0.01


@dataclass(frozen=True)
class Done:
    succeeded: bool
    said: str  # on both outputs


class CompilerOverrunError(Exception):
    """A compiler did not end in time and was stopped."""


def run_all(commands: Sequence[Sequence[str]], limit_s: float) -> list[Done]:
    """Runs the commands, as many at a time as this process has processors; keeps their order."""
    at_once = len(os.sched_getaffinity(0))
    deadline = time.monotonic() + limit_s
    running: dict[int, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}
    done: dict[int, Done] = {}
    try:
        while len(done) < len(commands):
            begun = len(done) + len(running)
            if begun < len(commands) and len(running) < at_once:
                with _uninterrupted():
                    running[begun] = _start(commands[begun])
                continue
            for number, (process, output) in list(running.items()):
                if process.poll() is not None:
                    del running[number]
                    done[number] = _ended(process, output)
            if time.monotonic() > deadline:
                raise CompilerOverrunError
            time.sleep(BETWEEN_LOOKS_S)
    finally:
        for process, output in running.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            output.close()
    return [done[number] for number in range(len(commands))]


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays signals with handlers until the end: by then a new process is known, and is ended like
    the others. A signal mask would be inherited instead."""
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda came_now, _: came.append(came_now))
        for number in (signal.SIGINT, signal.SIGTERM)
        if callable(signal.getsignal(number))
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for each in came:
            signal.raise_signal(each)


def _start(command: Sequence[str]) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Starts a command in its own session, so that the driver and its children end together."""
    output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C"},  # its messages are searched for English words
        )
    except OSError as error:
        output.close()
        raise MissingCapabilityError(
            f"the compiler {command[0]} does not start ({error.strerror}), so nothing was "
            "measured; correct or unset CXX"
        ) from None
    return process, output


def _ended(process: subprocess.Popen[bytes], output: IO[bytes]) -> Done:
    output.seek(0)
    said = output.read().decode(errors="replace")
    output.close()
    if process.returncode < 0 and not said:
        said = f"the compiler was ended by signal {-process.returncode}"
    return Done(process.returncode == 0, said.rstrip())
