# SPDX-License-Identifier: Apache-2.0
"""The build that `--load build` runs next to a measurement: this project's headers, compiled.

A process of its own session runs the compilers, as many at a time as requested, over and over. It
ends them all when its standard input ends: when lockyard closes it, or when lockyard dies. If this
process is killed instead, the kernel kills the compilers, which asked for that.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
from typing import IO, TYPE_CHECKING, cast

from lockyard.errors import MissingCapabilityError
from lockyard.harness import harness_path
from lockyard.user_locks import cache
from lockyard.user_locks.toolchain import Recipe, compiler

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from lockyard.measure.cell import Cell

Commands = list[list[str]]
FAMILIES = ("event", "park", "queue", "resilient", "spin")
PR_SET_PDEATHSIG = 1
# No compiler of these sources takes longer; the kernel ends one that does.
COMPILER_S = 120
START_LIMIT_S = 20.0
END_LIMIT_S = 10.0
STARTED = b"started\n"


@contextlib.contextmanager
def build_commands(cells: Collection[Cell]) -> Iterator[Commands]:
    """Yields the commands, with a folder for what they write; none if no cell wants a build."""
    if not any(cell.conditions.load_kind for cell in cells):
        yield []
        return
    recipe = Recipe.read(harness_path())
    using = compiler(recipe.compiler)
    includes = [word for path in recipe.includes for word in ("-I", str(path))]
    options = [*recipe.flags, *_ending_with_their_parent(using.version), *includes]
    with cache.workplace() as folder:
        yield [
            [using.path, *options, "-c", str(source), "-o", str(source.with_suffix(".o"))]
            for source in _sources(recipe.includes[1] / "lockyard", folder)
        ]


def _sources(headers: Path, folder: Path) -> Iterator[Path]:
    """Writes a source for each lock's header: what a program that uses the library compiles."""
    for header in sorted(headers.glob("*/*.hpp")):
        if header.parent.name in FAMILIES:
            source = folder / f"{header.stem}.cpp"
            source.write_text(
                f"#include <lockyard/{header.parent.name}/{header.name}>\n"
                "#include <map>\n#include <regex>\n#include <string>\n"
                f'std::regex of_{header.stem}{{"[a-z]+"}};\n'
                f"std::map<std::string, int> names_of_{header.stem};\n"
            )
            yield source


def _ending_with_their_parent(version: str) -> list[str]:
    """Makes the processes that GCC starts end with it; Clang compiles in one process."""
    if "clang" in version or shutil.which("setpriv") is None:
        return []
    return ["-wrapper", "setpriv,--pdeathsig,KILL"]


@contextlib.contextmanager
def running_build(commands: Commands, at_once: int, nice: int) -> Iterator[int]:
    """Keeps a build running; yields its process when its first compilers have started.
    Raises MissingCapabilityError if it ended before the block did."""
    builder = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, str(at_once), str(nice)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    said, told = cast("IO[bytes]", builder.stdout), cast("IO[bytes]", builder.stdin)
    try:
        with contextlib.suppress(BrokenPipeError):
            told.write(json.dumps(commands).encode() + b"\n")
            told.flush()
        ready, _, _ = select.select([said], [], [], START_LIMIT_S)
        if not ready or said.readline() != STARTED:
            raise MissingCapabilityError(
                f"a build of {at_once} compilers with nice {nice} cannot be started "
                f"({commands[0][0]}), so nothing was measured; correct or unset CXX, ask for a "
                "nice value that is not below our own, or use --load N"
            )
        yield builder.pid
        if builder.poll() is not None:
            raise MissingCapabilityError(
                "the build ended before the run did, so the run's figures mean nothing; measure "
                "again, and find out why compilers fail here (memory, disk, limits)"
            )
    finally:
        with contextlib.suppress(BrokenPipeError):
            told.close()
        said.close()
        _end(builder)


def _end(builder: subprocess.Popen[bytes]) -> None:
    """Ends the builder and its group, in which all compilers are."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        builder.wait(END_LIMIT_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(builder.pid, signal.SIGKILL)
    builder.wait()


def _limit_compiler() -> None:
    """Called in each compiler before it starts."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CPU, (COMPILER_S, COMPILER_S))


def _build_forever(commands: Sequence[Sequence[str]], at_once: int) -> None:
    """Returns when standard input has ended, or a compiler has failed."""
    sources = itertools.cycle(commands)
    running: list[subprocess.Popen[bytes]] = []
    said_so = False
    while not select.select([sys.stdin], [], [], 0)[0]:
        while len(running) < at_once:
            running.append(
                subprocess.Popen(
                    next(sources),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    preexec_fn=_limit_compiler,  # noqa: PLW1509 - this process has one thread
                )
            )
        if not said_so:
            os.write(sys.stdout.fileno(), STARTED)
            said_so = True
        select.select([sys.stdin], [], [], 0.01)
        if any(each.poll() not in (None, 0) for each in running):
            return
        running = [each for each in running if each.poll() is None]


def main() -> None:
    for sent_by_terminals_and_managers in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sent_by_terminals_and_managers, signal.SIG_IGN)
    at_once, nice = int(sys.argv[1]), int(sys.argv[2])
    with open(0, "rb", buffering=0, closefd=False) as told:
        commands = json.loads(told.readline())
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
        _build_forever(commands, at_once)
    except OSError:
        return
    finally:
        os.killpg(0, signal.SIGKILL)  # this process and all compilers


if __name__ == "__main__":
    main()
