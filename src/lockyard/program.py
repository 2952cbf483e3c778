# SPDX-License-Identifier: Apache-2.0
"""The harness and the checker as programs: their location, and a process that answers jobs."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, cast

import msgspec

from lockyard.errors import LockyardError, MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Sequence

Job = dict[str, Any]
Answer = dict[str, Any]

STDERR_KEPT = 2000


def program_path(name: str, variable: str, consequence: str) -> Path:
    """Returns the program of this installation, or the one that the environment variable names."""
    chosen = os.environ.get(variable)
    path = Path(chosen) if chosen else Path(__file__).parent / "bin" / f"lockyard-{name}"
    if not path.is_file() or not os.access(path, os.X_OK):
        raise MissingCapabilityError(
            f"there is no {name} at {path}, so {consequence}; "
            + (f"correct or unset {variable}" if chosen else "reinstall lockyard")
        )
    return path


class ProgramDiedError(LockyardError):
    """The process ended instead of answering; the message quotes its standard error."""

    def __init__(self, name: str, status: int, stderr: str) -> None:
        self.program_status = status
        how = f"signal {-status}" if status < 0 else f"status {status}"
        super().__init__(f"the {name} ended with {how}: {stderr.strip() or 'no message'}")


class ProgramOverrunError(LockyardError):
    """The process did not answer by its deadline and was stopped."""


class Program:
    """A process in its own session, so that Ctrl-C reaches only lockyard."""

    def __init__(self, name: str, path: Path, arguments: Sequence[str] = ()) -> None:
        self._name = name
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            [path, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,
        )
        self._pending = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, job: Job | msgspec.Struct) -> None:
        try:
            stdin = cast("IO[bytes]", self._process.stdin)
            stdin.write(msgspec.json.encode(job) + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._death() from None

    def receive(self, timeout_s: float) -> Answer:
        """Returns the next answer. Raises ProgramDiedError or ProgramOverrunError."""
        line = self._read_line(time.monotonic() + timeout_s, timeout_s)
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise ProgramDiedError(self._name, 0, f"it wrote no record but: {line[:80]!r}")
        return answer

    def close(self) -> None:
        """Ends the process, and the run in progress if there is one."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                cast("IO[bytes]", pipe).close()
        self._stderr.close()

    def _read_line(self, deadline: float, timeout_s: float) -> bytes:
        stdout = cast("IO[bytes]", self._process.stdout).fileno()
        while b"\n" not in self._pending:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([stdout], [], [], remaining)[0]:
                raise ProgramOverrunError(
                    f"no answer within {timeout_s:.1f} s, so the run was stopped. {self._errors()}"
                )
            chunk = os.read(stdout, 1 << 20)
            if not chunk:
                raise self._death()
            self._pending += chunk
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def _death(self) -> ProgramDiedError:
        return ProgramDiedError(self._name, self._process.wait(), self._errors())

    def _errors(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()[-STDERR_KEPT:].decode(errors="replace")
