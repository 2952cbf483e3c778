#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the simulator's processor time and memory against its targets.

Each cell is simulated by a process of its own. The time is the process's user time, so other
programs disturb it little. The memory of a simulated thread is the growth of the peak from 2 to 192
threads, by their number.

    tools/simulation_speed.py
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

from lockyard.simulate import machines
from lockyard.simulate.request import Cell, Work
from lockyard.simulate.simulator import Abilities, abilities, simulator_path

SECOND_NS = 1e9
CURVE = (1, 2, 4, 8, 16, 24, 32, 48, 56, 64, 96, 128, 160, 192)


@dataclass(frozen=True)
class Spent:
    user_s: float
    peak_kib: int


def spent(cells: list[Cell]) -> Spent:
    """Simulates the cells in one new process."""
    with subprocess.Popen(
        [simulator_path()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        for each in cells:
            stdin.write(json.dumps(each.to_job()).encode() + b"\n")
            stdin.flush()
            reply = stdout.readline()
            if "result" not in json.loads(reply or "{}"):
                raise SystemExit(f"the simulator failed, so its speed is unknown: {reply[:500]!r}")
        # The peak in rusage would include the memory of this process, which forks.
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        peak_kib = int(status.partition("VmHWM:")[2].split()[0])
        stdin.close()
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
    return Spent(usage.ru_utime, peak_kib)


def scaling(of: Abilities, lock: str, threads: int, duration_ns: float) -> Cell:
    return Cell(
        study="scale",
        lock=lock,
        machine=machines.load("xeon8468", of),
        scheduler="eevdf",
        threads=threads,
        work=Work(pinned=True, duration_ns=duration_ns),
    )


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    of = abilities()
    queue = scaling(of, "mcs_spinlock", 192, SECOND_NS)
    queued = replace(queue, lock="queued_spinlock")
    ttas = Cell(
        study="throughput",
        lock="ttas_spinlock",
        machine=machines.load("ryzen1700", of),
        scheduler="eevdf",
        threads=16,
        work=Work(duration_ns=SECOND_NS),
    )
    curve = [scaling(of, "queued_spinlock", threads, Work.duration_ns) for threads in CURVE]
    few, many = (spent([replace(curve[0], threads=threads)]).peak_kib for threads in (2, 192))
    lines = [
        ("mcs_spinlock, 192 threads, 1 s", spent([queue]).user_s, 3.0, "s"),
        ("queued_spinlock, 192 threads, 1 s", spent([queued]).user_s, 3.0, "s"),
        ("ttas_spinlock, 16 threads, 1 s", spent([ttas]).user_s, 5.0, "s"),
        (f"scaling curve of {len(CURVE)} points", spent(curve).user_s, 1.0, "s"),
        ("memory of a simulated thread", (many - few) / 190, 10.0, "KiB"),
    ]
    for what, found, most, unit in lines:
        verdict = "met" if found <= most else "missed"
        print(f"{what:36} {found:7.2f} {unit}, at most {most:g}: {verdict}", flush=True)


if __name__ == "__main__":
    main()
