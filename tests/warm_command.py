# SPDX-License-Identifier: Apache-2.0
"""Runs the installed command in processes that begin with other projects' packages loaded: loading
these takes longer than most commands do. Every process loads the command's own modules by itself.

As a script: the process that loads the packages, and forks for each run.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGES = (
    *("concurrent.futures.process", "elftools.elf.elffile", "importlib.metadata", "msgspec"),
    *("numpy", "rich.markdown", "rich.progress", "rich.table", "rich.traceback"),
    "typer.rich_utils",
)
SIZE_BYTES = 8  # The length of a request comes first, as a number of this size.


class WarmCommand:
    """Starts runs one after the other. A thread may not share it with another thread."""

    def __init__(self, command: Path) -> None:
        self._command = str(command)
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
        self._answers = self._connection.makefile("r")

    def close(self) -> None:
        self._answers.close()
        self._connection.close()
        self._server.wait(10)

    def run(
        self, arguments: tuple[str, ...], environment: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        words = [self._command, *arguments]
        request = {"words": words, "environment": {**environment}, "folder": str(Path.cwd())}
        message = json.dumps(request).encode()
        readers = [_Reader(), _Reader()]
        handed = [0, *(each.their_end for each in readers)]
        socket.send_fds(self._connection, [len(message).to_bytes(SIZE_BYTES)], handed)
        for each in readers:
            each.begin()
        self._connection.sendall(message)
        process = int(self._answers.readline())
        killer = threading.Timer(timeout, os.kill, (process, signal.SIGKILL))
        killer.start()
        status = int(self._answers.readline())
        is_late = killer.finished.is_set()
        killer.cancel()
        if is_late:
            raise subprocess.TimeoutExpired(words, timeout)
        output, errors = (each.text(timeout) for each in readers)
        return subprocess.CompletedProcess(words, status, output, errors)


class _Reader:
    """Reads what a run writes, until all that hold the other end of the pipe have ended."""

    def __init__(self) -> None:
        self._own_end, self.their_end = os.pipe()
        self._text = ""
        self._thread = threading.Thread(target=self._read, daemon=True)

    def begin(self) -> None:
        os.close(self.their_end)
        self._thread.start()

    def text(self, timeout: float) -> str:
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise subprocess.TimeoutExpired("a process that the command has started", timeout)
        return self._text

    def _read(self) -> None:
        with os.fdopen(self._own_end) as file:
            self._text = file.read()


def _serve(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Returns in a new process for every request; ends when the tests do."""
    while True:
        size, files, _, _ = socket.recv_fds(connection, SIZE_BYTES, 3)
        if not size:
            sys.exit()
        request = json.loads(connection.recv(int.from_bytes(size), socket.MSG_WAITALL))
        process = os.fork()
        if process == 0:
            connection.close()
            return request, files
        for each in files:
            os.close(each)
        connection.sendall(b"%d\n" % process)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        connection.sendall(b"%d\n" % status)


def _become(request: dict[str, Any], files: list[int]) -> None:
    for target, each in enumerate(files):
        os.dup2(each, target)
        os.close(each)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = request["words"]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    for package in PACKAGES:
        import_module(package)
    gc.freeze()
    with suppress(KeyboardInterrupt):
        _become(*_serve(socket.socket(fileno=int(sys.argv[1]))))
