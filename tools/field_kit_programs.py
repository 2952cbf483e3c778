# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian, each with the figure by which field_kit_costs.py compares it with itself."""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PATIENCE_S = 120
Environment = dict[str, str]


@dataclass(frozen=True)
class Program:
    """A program with threads and locks. `prepare` returns what runs it once in an environment and
    gives back its throughput. `target` is the least ratio to the program alone."""

    name: str
    package: str
    files: tuple[str, ...]  # what has to be installed
    prepare: Callable[[Path], Callable[[Environment], float]]
    target: float = 0.97

    @property
    def missing(self) -> list[str]:
        return [file for file in self.files if not (shutil.which(file) or Path(file).exists())]


def _output(command: list[str], environment: Environment | None = None) -> str:
    shown = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    return shown.stdout + shown.stderr


def _per_second(*command: str) -> Callable[[Path], Callable[[Environment], float]]:
    """Runs a fixed amount of work: {data} is a file that can be compressed."""

    def prepare(folder: Path) -> Callable[[Environment], float]:
        data = folder / "data"
        if not data.exists():
            random_ = random.Random(1)  # noqa: S311
            words = [random_.randbytes(random_.randint(2, 12)) for _ in range(2000)]
            data.write_bytes(b"".join(random_.choices(words, k=800_000)))
        filled = [each.format(data=data, folder=folder) for each in command]

        def once(environment: Environment) -> float:
            (folder / "data.7z").unlink(missing_ok=True)
            begin = time.perf_counter()
            subprocess.run(
                filled, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                check=True, timeout=PATIENCE_S,
            )  # fmt: skip
            return 1 / (time.perf_counter() - begin)

        return once

    return prepare


def found(pattern: str, text: str) -> float:
    """Returns the number that the pattern finds last. Raises ValueError if it finds none."""
    if not (all_found := re.findall(pattern, text)):
        raise ValueError(f"no {pattern!r} in the output: {text[-500:]}")
    return float(all_found[-1])


def rocksdb(folder: Path) -> list[str]:
    """Returns the command that reads from a database which it has filled before, through one cache
    shard, and so through one mutex."""
    database = f"--db={folder / 'rocks'}"
    _output(
        ["db_bench", "--benchmarks=fillseq", "--num=300000", "--compression_type=none", database]
    )
    return [
        "db_bench", database, "--use_existing_db=1", "--benchmarks=readrandom", "--num=300000",
        "--threads=4", "--duration=1", "--cache_size=200000000", "--cache_numshardbits=0",
        "--histogram",
    ]  # fmt: skip


def _rocksdb(folder: Path) -> Callable[[Environment], float]:
    command = rocksdb(folder)
    return lambda environment: found(
        r"readrandom .* ([0-9]+) ops/sec", _output(command, environment)
    )


def _redis(folder: Path) -> Callable[[Environment], float]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    server = [
        "redis-server", "--port", port, "--save", "", "--io-threads", "4",
        "--io-threads-do-reads", "yes", "--dir", str(folder),
    ]  # fmt: skip
    client = [
        "redis-benchmark", "-p", port, "-t", "set", "-n", "100000", "-P", "8", "-c", "16", "-q",
    ]  # fmt: skip

    def once(environment: Environment) -> float:
        with subprocess.Popen(server, env=environment, stdout=subprocess.DEVNULL) as running:
            try:
                for _ in range(200):
                    with socket.socket() as probe:
                        if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                            break
                    time.sleep(0.02)
                return found(r"SET: ([0-9.]+) requests per second", _output(client))
            finally:
                running.terminate()

    return once


def _stress_ng(_: Path) -> Callable[[Environment], float]:
    command = [
        "stress-ng", "--mutex", "1", "--mutex-procs", "4", "-t", "1", "--metrics-brief",
    ]  # fmt: skip
    return lambda environment: found(r"\bmutex +([0-9]+) +[0-9.]+", _output(command, environment))


def _sqlite(folder: Path) -> Callable[[Environment], float]:
    """The program of docs/field_kit.md: four threads whose databases share one mutex."""
    text = (Path(__file__).parents[1] / "docs/field_kit.md").read_text()
    (source := folder / "four.c").write_text(text.split("<<'END'\n")[1].split("\nEND\n")[0])
    _output(["cc", "-O2", str(source), "-o", str(folder / "four"), "-lsqlite3", "-pthread"])
    return lambda environment: found(
        r"([0-9]+) queries/s", _output([str(folder / "four"), "4"], environment)
    )


PROGRAMS = (
    Program("xz", "xz-utils", ("xz",),
            _per_second("xz", "-T4", "-1", "--block-size=1MiB", "-c", "{data}")),
    Program("zstd", "zstd", ("zstd",), _per_second("zstd", "-T4", "-12", "-c", "{data}")),
    Program("pigz", "pigz", ("pigz",), _per_second("pigz", "-p4", "-n", "-c", "{data}")),
    Program("7z", "p7zip-full", ("7z",),
            _per_second("7z", "a", "-mmt=4", "-mx=3", "{folder}/data.7z", "{data}")),
    Program("RocksDB, one cache shard", "rocksdb-tools", ("db_bench",), _rocksdb),
    Program("Redis, 4 threads", "redis", ("redis-server", "redis-benchmark"), _redis),
    Program("stress-ng --mutex, which only locks", "stress-ng", ("stress-ng",), _stress_ng, 0.92),
    Program("SQLite, which mostly locks", "libsqlite3-dev", ("/usr/include/sqlite3.h", "cc"),
            _sqlite, 0.92),
)  # fmt: skip


def shares(
    environments: Mapping[str, Environment], figure: Callable[[Environment], float], blocks: int
) -> dict[str, dict[int, float]]:
    """Runs each way once in each block, in turning order."""
    names = list(environments)
    result: dict[str, dict[int, float]] = {name: {} for name in names}
    for block in range(blocks):
        for name in names if block % 2 else reversed(names):
            result[name][block] = figure(dict(environments[name]))
    return result


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors"
