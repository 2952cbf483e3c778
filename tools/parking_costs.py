#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what long queues, shared buckets and descheduled notifiers cost locks that park.

Each block is a process; the blocks of a comparison alternate. Prints medians, and the median ratio
of neighbouring blocks with its 95 % interval (sign test). A block that fails, or takes over 30 s,
counts as 0; what fails in the first two blocks is not tried again. Figures for docs/decisions/0025.

    tools/parking_costs.py queues
    tools/parking_costs.py sharing --threads 4 16 128 --headers 3343a4b
    sudo tools/parking_costs.py held-up
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pair_cost import ROOT, headers_of

from lockyard.stats import Ratio, ratio_of

BLOCK_S = 40
RUNS_HELD_UP = 5


@dataclass(frozen=True)
class Comparison:
    what: str
    ours: str
    other: str


@dataclass(frozen=True)
class Table:
    title: str
    threads: list[int]
    comparisons: list[Comparison]


TABLES = {
    "queues": Table(
        "pairs/s: ours, std",
        [0, 1000, 4000, 10000],
        [
            Comparison("on a condition, 4 contend", "condition", "std_condition"),
            Comparison("on a condition, 4 notify", "notify", "std_notify"),
            Comparison("threads, mutex", "mutex", "std_mutex"),
            Comparison("threads, byte_mutex", "byte_mutex", "std_mutex"),
            Comparison("threads, shared_mutex", "shared_mutex", "std_shared_mutex"),
        ],
    ),
    "together": Table(
        "notify_all after the unlock, in a second of processor time: ours, std",
        [16],
        [Comparison("waiters", "together", "std_together")],
    ),
    "sharing": Table(
        "pairs/s of 64 mutexes: in one bucket, in 64",
        [4, 16, 128],
        [Comparison("threads, 64 mutexes", "one_bucket", "many_buckets")],
    ),
    "guards": Table(
        "pairs/s: bucket lock as shipped, another",
        [16, 1000],
        [
            Comparison(f"{what}, {guard}", ours, f"{ours}_{guard}")
            for guard in ("adaptive", "pi")
            for what, ours in (
                ("threads, mutex", "mutex"),
                ("threads, byte_mutex", "byte_mutex"),
                ("on a condition, 4 notify", "notify"),
            )
        ],
    ),
}
HELD_UP = {
    "mutex and condition_variable_any in one bucket": "held_up",
    "the same, adaptive mutex as bucket lock": "held_up_adaptive",
    "the same, pi_mutex as bucket lock": "held_up_pi",
    "std::mutex and std::condition_variable_any": "held_up_std",
}


def compiled(include: Path, binary: Path) -> Path:
    flags = ["-std=c++20", "-O2", "-DNDEBUG", f"-I{include}", f"-I{ROOT}/harness", "-pthread"]
    source = str(ROOT / "tools/parking_costs.cpp")
    subprocess.run(["c++", *flags, source, "-o", str(binary)], check=True, timeout=300)
    return binary


def run_block(binary: Path, block: str, threads: int) -> list[float]:
    words = [str(binary), block, str(threads)]
    shown = subprocess.run(words, capture_output=True, text=True, timeout=BLOCK_S, check=False)
    if shown.returncode != 0:
        print(f"  {block} with {threads} threads failed; it counts as 0", file=sys.stderr)
        return [0.0, 0.0]
    return [float(word) for word in shown.stdout.split()]


def compare(binary: Path, pair: Comparison, threads: int, blocks: int) -> list[list[float]]:
    """Returns the rates of both, block by block; the first of a block alternates too."""
    rows: list[list[float]] = []
    for block in range(blocks):
        in_turn = [pair.ours, pair.other] if block % 2 == 0 else [pair.other, pair.ours]
        hopeless = [pair.other] if len(rows) > 1 and not any(other for _, other in rows) else []
        rates = dict.fromkeys(hopeless, 0.0)
        for name in in_turn:
            if name not in hopeless:
                rates[name] = run_block(binary, name, threads)[0]
        rows.append([rates[pair.ours], rates[pair.other]])
    return rows


def to_text(ratio: Ratio | None) -> str:
    if ratio is None or ratio.low is None or ratio.high is None:
        return "too few blocks"
    return f"{ratio.median:6.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def print_table(binary: Path, table: Table, chosen: argparse.Namespace) -> list[list[object]]:
    record: list[list[object]] = []
    print(table.title)
    for threads in chosen.threads or table.threads:
        for pair in table.comparisons:
            if threads == 0 and pair.ours != "condition":
                continue
            rates = compare(binary, pair, threads, chosen.blocks)
            medians = [statistics.median(column) for column in zip(*rates, strict=True)]
            ratio = ratio_of([ours / other for ours, other in rates if other])
            named = f"{threads} {pair.what}"
            print(
                f"{named:44} {medians[0]:12.0f} {medians[1]:12.0f}   {to_text(ratio)}", flush=True
            )
            record += [[threads, pair.ours, pair.other, *both] for both in rates]
    return record


def print_held_up(binary: Path) -> list[list[object]]:
    record: list[list[object]] = []
    print("unlock by a FIFO-20 thread, us: median p99.9, longest of each run")
    for what, block in HELD_UP.items():
        runs = [run_block(binary, block, 0) for _ in range(RUNS_HELD_UP)]
        longest = " ".join(f"{each[1]:.0f}" for each in runs)
        print(
            f"{what:48} {statistics.median(each[0] for each in runs):8.1f}   {longest}", flush=True
        )
        record += [[0, block, "", *each] for each in runs]
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("table", choices=[*TABLES, "held-up"])
    parser.add_argument("--threads", type=int, nargs="*", help="numbers of threads to measure")
    parser.add_argument("--blocks", type=int, default=11)
    parser.add_argument("--headers", metavar="COMMIT", help="measure the headers of this commit")
    parser.add_argument("-o", "--output", type=Path, help="write every block as CSV")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        include = headers_of(chosen.headers, place) if chosen.headers else ROOT / "include"
        binary = compiled(include, place / "parking-costs")
        if chosen.table == "held-up":
            record = print_held_up(binary)
        else:
            record = print_table(binary, TABLES[chosen.table], chosen)
    if chosen.output:
        with chosen.output.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["threads", "first", "second", "value_of_first", "value_of_second"])
            writer.writerows(record)


if __name__ == "__main__":
    main()
