# SPDX-License-Identifier: Apache-2.0
"""The measuring program: where it is, what it knows, and a process of it that answers jobs."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any, Self, cast

from lockyard.catalog import Catalog
from lockyard.errors import LockyardError, MissingCapabilityError

Job = dict[str, Any]
Record = dict[str, Any]

BAD_JOB_STATUS = 2
STDERR_KEPT = 2000


def harness_path() -> Path:
    """The harness of this installation, or the one that LOCKYARD_HARNESS names."""
    chosen = os.environ.get("LOCKYARD_HARNESS")
    path = Path(chosen) if chosen else Path(__file__).parent / "bin" / "lockyard-harness"
    if not os.access(path, os.X_OK):
        raise MissingCapabilityError(
            f"there is no harness at {path}, so nothing can be measured; "
            + ("correct or unset LOCKYARD_HARNESS" if chosen else "install lockyard again")
        )
    return path


def exec_harness() -> None:
    """Entry point of the script lockyard-harness: becomes the harness."""
    path = str(harness_path())
    os.execv(path, [path, *sys.argv[1:]])  # noqa: S606 - it is this program's other half


def ask(option: str) -> Any:
    """What the harness answers to --catalog or --environment."""
    asked = subprocess.run(
        [harness_path(), option], capture_output=True, text=True, timeout=60, check=False
    )
    if asked.returncode != 0:
        raise MissingCapabilityError(f"the harness does not answer {option}: {asked.stderr}")
    return json.loads(asked.stdout)


def catalog() -> Catalog:
    return Catalog.from_json(ask("--catalog"))


class HarnessDiedError(LockyardError):
    """The process ended instead of answering; `stderr` is what it had to say."""

    def __init__(self, status: int, stderr: str) -> None:
        self.harness_status = status
        how = f"signal {-status}" if status < 0 else f"status {status}"
        super().__init__(f"the harness ended with {how}: {stderr.strip() or 'no message'}")


class HarnessOverrunError(LockyardError):
    """The process did not answer by its deadline, and was ended."""


class Harness:
    """A process of the harness, in a session of its own so that Ctrl-C reaches only this one."""

    def __init__(self) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            [harness_path()],
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

    def run(self, job: Job, timeout_s: float) -> Record:
        """The record of one job. Raises HarnessDiedError or HarnessOverrunError."""
        try:
            stdin = cast("IO[bytes]", self._process.stdin)
            stdin.write(json.dumps(job).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._death() from None
        line = self._read_line(time.monotonic() + timeout_s, timeout_s)
        try:
            record: Record = json.loads(line)
        except ValueError:
            raise HarnessDiedError(0, f"it wrote no record but: {line[:80]!r}") from None
        return record

    def close(self) -> None:
        """Ends the process and whatever run it has under way."""
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
                raise HarnessOverrunError(
                    f"no answer within {timeout_s:.1f} s; the run was ended. {self._errors()}"
                )
            chunk = os.read(stdout, 1 << 20)
            if not chunk:
                raise self._death()
            self._pending += chunk
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def _death(self) -> HarnessDiedError:
        return HarnessDiedError(self._process.wait(), self._errors())

    def _errors(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()[-STDERR_KEPT:].decode(errors="replace")
