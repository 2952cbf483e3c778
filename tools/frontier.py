#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares sleeping locks in 18 cells, and shows fairness against throughput as one curve.

    tools/frontier.py measure --out DIR         # 8 minutes; only what DIR lacks
    tools/frontier.py show DIR                  # Markdown
    tools/frontier.py draw DIR docs/figures/frontier.svg
    tools/frontier.py publish DIR               # table and figure of docs/locks/fair_mutex.md

The cells are 2, 4 and 16 threads with six lengths of hold and gap. Each ratio of throughput is to
the lock of another library that is the fastest in the cell, paired by block; a lock's figure is the
geometric mean over the cells. The longest waits are compared with 16 threads, tails in all cells,
and the division of work among 16 threads over one second. `draw` needs the extra `lockyard[test]`,
for Chromium."""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lockyard.records import read_records
from lockyard.records.histogram import percentile_of
from lockyard.report.units import MISSING, ratio_and_interval
from lockyard.stats import Ratio, mean_ratio, paired_ratio, ratio_of

PEERS = ("std::mutex", "pthread_mutex[adaptive]", "absl::Mutex", "nsync_mu", "parking_lot::Mutex")
OURS = ("mutex", "byte_mutex", "fair_mutex", "fair_mutex[strict]", "fair_mutex[barging]")
REFERENCE = "std::mutex"
LENGTHS = (("0", "0"), ("0", "40ns"), ("40ns", "200ns"), ("200ns", "200ns"),
           ("200ns", "2us"), ("2us", "2us"))  # fmt: skip
THREADS = (2, 4, 16)
MOST = max(THREADS)
TAIL = 0.999
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")  # ours in blue, peers in grey
RUNS = 12


@dataclass(frozen=True)
class Part:
    """What one call of `lockyard measure` measures: all locks at one pair of lengths."""

    study: str
    hold: str
    gap: str
    threads: tuple[int, ...]
    run_ms: int

    @property
    def file(self) -> str:
        return f"{self.study}.{self.hold}.{self.gap}.{self.run_ms}ms.jsonl"

    def found_in(self, folder: Path) -> Path:
        """Returns the file, or the compressed one where only that is there."""
        plain = folder / self.file
        packed = folder / f"{self.file}.gz"
        return packed if packed.exists() and not plain.exists() else plain

    def options(self, locks: tuple[str, ...], runs: int) -> list[str]:
        lengths = ["--hold", self.hold, "--gap", self.gap, "--for", f"{runs * self.run_ms}ms"]
        threads = ",".join(map(str, self.threads))
        return [
            *(self.study, *lengths, "--threads", threads),
            *("--locks", ",".join(locks), "--runs", str(runs)),
        ]


RATES = [Part("throughput", hold, gap, THREADS, 40) for hold, gap in LENGTHS]
WAITS = [Part("wait", hold, gap, THREADS, 100) for hold, gap in LENGTHS]
SHARES = Part("throughput", "200ns", "200ns", (MOST,), 1000)
PARTS = [*RATES, *WAITS, SHARES]

Cell = tuple[str, int]  # lengths of hold and gap, and threads


class Measured:
    """Values by cell, lock and block."""

    def __init__(self, folder: Path, parts: list[Part]) -> None:
        self._runs: dict[Cell, dict[str, dict[int, dict[str, Any]]]] = {}
        for part in parts:
            runs = read_records(part.found_in(folder)).runs
            for run in sorted(runs, key=lambda run: run["conditions"]["threads"]):
                if run["status"] != "ok":
                    continue
                cell = f"{part.hold}/{part.gap}", run["conditions"]["threads"]
                locks = self._runs.setdefault(cell, {})
                locks.setdefault(run["lock"], {})[run["block"]] = run

    @cached_property
    def cells(self) -> list[Cell]:
        return list(self._runs)

    @cached_property
    def locks(self) -> list[str]:
        found = {lock for locks in self._runs.values() for lock in locks}
        return [lock for lock in (*OURS, *PEERS) if lock in found]

    def values(self, cell: Cell, lock: str, key: str) -> dict[int, float]:
        runs = self._runs[cell].get(lock, {})
        return {b: run["values"][key] for b, run in runs.items() if run["values"].get(key)}

    def shares(self, lock: str) -> list[float]:
        """Returns the most acquisitions of a thread divided by the fewest, for each run; infinite
        if a thread had none."""
        key = "operations_most_to_fewest"
        runs = [run for cell in self.cells for run in self._runs[cell].get(lock, {}).values()]
        found = [run["values"][key] for run in runs if key in run["values"]]
        return [math.inf if share is None else share for share in found]

    def tails(self, cell: Cell, lock: str) -> dict[int, float]:
        runs = self._runs[cell].get(lock, {})
        found = {b: percentile_of(run["histograms"]["wait"], TAIL) for b, run in runs.items()}
        return {block: value for block, value in found.items() if value is not None}


def best(values: dict[str, dict[int, float]], *, is_time: bool) -> str | None:
    """Returns the peer with the best median."""
    medians = {lock: statistics.median(of.values()) for lock, of in values.items() if of}
    peers = [lock for lock in PEERS if lock in medians]
    return (min if is_time else max)(peers, key=medians.__getitem__, default=None)


@dataclass(frozen=True)
class Throughput:
    """A lock's throughput as a share of the best peer's of each cell."""

    mean: Ratio | None
    by_cell: dict[Cell, float]

    @property
    def worst(self) -> float:
        return min(self.by_cell.values())


def throughput(of: Measured, lock: str) -> Throughput:
    pairs, by_cell = [], {}
    for cell in of.cells:
        rates = {each: of.values(cell, each, "operations_per_s") for each in of.locks}
        peer = best(rates, is_time=False)
        ratio = paired_ratio(rates[lock], rates[peer]) if peer else None
        if peer and ratio:
            pairs.append((rates[lock], rates[peer]))
            by_cell[cell] = ratio.median
    return Throughput(mean_ratio(pairs), by_cell)


def longest_wait(of: Measured, lock: str) -> Ratio | None:
    """Returns the longest wait with the most threads / the longest wait of the reference."""
    return mean_ratio(
        [
            (of.values(cell, lock, "wait_max_ns"), of.values(cell, REFERENCE, "wait_max_ns"))
            for cell in of.cells
            if cell[1] == MOST
        ]
    )


def cells_with_good_tails(of: Measured, lock: str) -> tuple[int, int]:
    """Returns the number of cells in which the lock's tail is not above the best peer's, and the
    number of cells with enough waits."""
    good = known = 0
    for cell in of.cells:
        tails = {each: of.tails(cell, each) for each in of.locks}
        peer = best(tails, is_time=True)
        if peer is None or not tails[lock]:
            continue
        known += 1
        good += statistics.median(tails[lock].values()) <= statistics.median(tails[peer].values())
    return good, known


def most_to_fewest(of: Measured, lock: str) -> Ratio | None:
    """Returns the most acquisitions of a thread divided by the fewest, not a ratio of locks."""
    return ratio_of(of.shares(lock))


def digits(of: Ratio | None) -> str:
    return MISSING if of is None else ratio_and_interval(of)


def markdown(rows: list[list[str]]) -> str:
    """Returns a table whose first row is its head."""
    head, *others = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *others))


@dataclass(frozen=True)
class Row:
    lock: str
    throughput: Throughput
    longest: Ratio | None
    most_to_fewest: Ratio | None
    good_tails: tuple[int, int]

    @property
    def figures(self) -> list[str]:
        good, known = self.good_tails
        return [
            *(f"`{self.lock}`", digits(self.throughput.mean), f"{self.throughput.worst:.2f}"),
            *(digits(self.longest), digits(self.most_to_fewest), f"{good} of {known}"),
        ]


def rows_of(folder: Path) -> list[Row]:
    rates, waits, shares = (Measured(folder, parts) for parts in (RATES, WAITS, [SHARES]))
    return [
        Row(lock, throughput(rates, lock), longest_wait(waits, lock),
            most_to_fewest(shares, lock), cells_with_good_tails(waits, lock))
        for lock in rates.locks
    ]  # fmt: skip


def summary(rows: list[Row]) -> str:
    head = [
        *("lock", "throughput / the best peer's, mean", "in the worst cell"),
        *(f"longest wait / `{REFERENCE}`'s, {MOST} threads", "most / fewest acquisitions in 1 s"),
        "cells with p99.9 ≤ the best peer's",
    ]
    return markdown([head, *(row.figures for row in rows)])


def cells_table(rows: list[Row]) -> str:
    head = ["hold/gap, threads", *(f"`{row.lock}`" for row in rows)]
    lines = []
    for cell in rows[0].throughput.by_cell:
        shown = [row.throughput.by_cell.get(cell) for row in rows]
        figures = [MISSING if value is None else f"{value:.2f}" for value in shown]
        lines.append([f"{cell[0]}, {cell[1]}", *figures])
    return markdown([head, *lines])


def drawing(rows: list[Row]) -> str:
    """Returns the curve as SVG: to the right more throughput, upwards shorter longest waits."""
    from playwright.sync_api import sync_playwright
    from plotly import graph_objects

    figure = graph_objects.Figure(layout={
        "template": "plotly_white", "width": 760, "height": 440,
        "margin": {"l": 70, "r": 30, "t": 20, "b": 60},
        "xaxis": {"title": "throughput / the best peer's, mean of the cells",
                  "rangemode": "tozero"},
        "yaxis": {"title": f"longest wait / {REFERENCE}'s, {MOST} threads", "type": "log",
                  "autorange": "reversed", "dtick": "D2"},
    })  # fmt: skip
    for row in rows:
        rate, wait = row.throughput.mean, row.longest
        if rate is None or wait is None:
            continue
        group = OURS if row.lock in OURS else PEERS
        marker = {"size": 11, "symbol": SYMBOLS[group.index(row.lock)],
                  "color": "#1f5fa8" if group is OURS else "#8a8a8a"}  # fmt: skip
        figure.add_scatter(x=[rate.median], y=[wait.median], mode="markers", name=row.lock,
                           marker=marker, error_x=_bars(rate), error_y=_bars(wait))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "page.html"
        figure.write_html(page_file, include_plotlyjs=True)
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("LOCKYARD_CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox"],
        )
        page = browser.new_page(offline=True)
        page.goto(page_file.as_uri())
        data = page.evaluate(
            "Plotly.toImage(document.querySelector('.plotly-graph-div'), {format: 'svg'})"
            ".then(url => decodeURIComponent(url.slice(url.indexOf(',') + 1)))"
        )
        browser.close()
    return str(data)


def _bars(of: Ratio) -> dict[str, Any]:
    if of.low is None or of.high is None:
        return {}
    return {"type": "data", "array": [of.high - of.median], "arrayminus": [of.median - of.low],
            "thickness": 1, "width": 3, "symmetric": False}  # fmt: skip


def published(page: str, table: str) -> str:
    """Returns the page with its table replaced."""
    head = table.partition("\n")[0]
    before, found, after = page.partition(head)
    if not found:
        sys.exit(f"the page lacks the table's head, so nothing is replaced; restore: {head}")
    return before + table + "\n\n" + after.partition("\n\n")[2]


def write_drawing(rows: list[Row], svg: Path) -> None:
    sys.path.append(str(Path(__file__).parent / "manual"))
    from first_screen import shortened

    svg.write_text(shortened(drawing(rows)) + "\n", encoding="utf-8")


def measure(program: str, out: Path, runs: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(PARTS, 1):
        if (out / part.file).exists():
            continue
        print(f"{number} of {len(PARTS)}: {part.file}", file=sys.stderr, flush=True)
        unfinished = out / f"{part.file}.part"
        unfinished.unlink(missing_ok=True)
        asked = part.options((*OURS, *PEERS), runs)
        subprocess.run([program, "measure", *asked, "--out", unfinished],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        unfinished.rename(out / part.file)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    measuring = steps.add_parser("measure", help="measure what the folder does not have")
    measuring.add_argument("--out", type=Path, required=True, metavar="DIR")
    measuring.add_argument("--runs", type=int, default=RUNS, help="of each lock in each cell")
    measuring.add_argument("--lockyard", default="lockyard", help="the command")
    showing = steps.add_parser("show", help="print both tables")
    showing.add_argument("dir", type=Path, metavar="DIR")
    showing.add_argument("--cells", action="store_true", help="the throughput of each cell, too")
    drawn = steps.add_parser("draw", help="write the curve as SVG")
    drawn.add_argument("dir", type=Path, metavar="DIR")
    drawn.add_argument("svg", type=Path, metavar="FILE")
    publishing = steps.add_parser("publish", help="write the table and the figure of the manual")
    publishing.add_argument("dir", type=Path, metavar="DIR")
    chosen = parser.parse_args()
    if chosen.step == "measure":
        measure(chosen.lockyard, chosen.out, chosen.runs)
        return 0
    if missing := [part.file for part in PARTS if not part.found_in(chosen.dir).exists()]:
        remedy = f"measure them with: {sys.argv[0]} measure --out {chosen.dir}"
        sys.exit(f"{chosen.dir} lacks {', '.join(missing)}, so nothing is shown; {remedy}")
    rows = rows_of(chosen.dir)
    if chosen.step == "draw":
        write_drawing(rows, chosen.svg)
        return 0
    if chosen.step == "publish":
        docs = Path(__file__).parents[1] / "docs"
        page = docs / "locks/fair_mutex.md"
        page.write_text(published(page.read_text("utf-8"), summary(rows)), encoding="utf-8")
        write_drawing(rows, docs / "figures/frontier.svg")
        return 0
    print(summary(rows))
    if chosen.cells:
        print(f"\n{cells_table(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
