# SPDX-License-Identifier: Apache-2.0
"""Checks the advice in five cases against measuring all of their locks.

    python tools/advice_check.py --lockyard .venv/bin/lockyard --for 20s

For each case: the advised lock, the order that a separate measurement finds by the same rate or
percentile, and the advised lock's figure over the best one's, paired by block, with its 95 %
interval. Exit status 4 if an advised lock is shown to be worse than the best one by more than a
tenth."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.advise.choice import Tails
from lockyard.advise.evidence import RUNS as FEWEST_RUNS
from lockyard.report.summary import CellSummary
from lockyard.stats import Ratio, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

LOCKS = "mutex,futex_mutex,std::mutex,fair_mutex,ticket_spinlock,ttas_spinlock"
WORSE = 0.1
RUNS = 12


@dataclass(frozen=True)
class Case:
    hold: str
    gap: str
    threads: int
    is_tail: bool = False

    @property
    def options(self) -> list[str]:
        lengths = ["--hold", self.hold, "--gap", self.gap]
        return [*lengths, "--threads", str(self.threads), "--locks", LOCKS]

    def __str__(self) -> str:
        return f"{self.hold}/{self.gap} × {self.threads}{', tail' if self.is_tail else ''}"


CASES = [
    Case("0", "0", 2),
    Case("300ns", "5us", 4),
    Case("20us", "100us", 4, is_tail=True),
    Case("1us", "10us", 2),
    Case("100ns", "1us", 8, is_tail=True),
]

Figures = dict[str, dict[int, float]]  # by lock and block


def figures(records: Iterable[dict[str, Any]], tail_share: float | None = None) -> Figures:
    """Returns operations per second, or this percentile of the waits of each run. A lock without
    the percentile in enough runs is left out."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        if record.get("lock") and record["status"] == "ok":
            runs.setdefault(record["lock"], []).append(record)
    cells = [CellSummary("", lock, 0, {}, each) for lock, each in runs.items()]
    if tail_share is None:
        return {cell.lock: cell.by_block("operations_per_s") for cell in cells}
    found = Tails.at(tail_share, cells).by_block
    return {lock: dict(each) for lock, each in found.items() if len(each) >= FEWEST_RUNS}


def ordered(of: Figures, *, is_tail: bool) -> list[str]:
    """Returns the locks by their medians, the best one first."""
    return sorted(of, key=lambda lock: statistics.median(of[lock].values()), reverse=not is_tail)


def is_worse(ratio: Ratio | None, *, is_tail: bool) -> bool:
    """Tells whether the interval of advised over best shows more than a tenth of loss."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return False
    return ratio.low > 1 + WORSE if is_tail else ratio.high < 1 - WORSE


def shown(ratio: Ratio | None) -> str:
    if ratio is None:
        return "the best itself"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.median:.2f} of the best (too few blocks)"
    return f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}] of the best"


def check(case: Case, program: str, length: str) -> bool:
    """Prints a case; returns whether the advised lock may be the best one."""
    ask = [program, "advise", *case.options, "--for", length, "--json"]
    advice = json.loads(_output([*ask, "--tail"] if case.is_tail else ask))["advice"][0]
    study = "wait" if case.is_tail else "throughput"
    measuring = [program, "measure", study, *case.options, "--runs", str(RUNS), "--json"]
    lines = _output([*measuring, "--for", length]).splitlines()
    share = advice["tail_share"] if case.is_tail else None
    found = figures(map(json.loads, lines), share)
    order = ordered(found, is_tail=case.is_tail)
    advised = advice["lock"]
    if advised not in found:
        if share is None:
            print(f"{case}: the runs of {advised} failed, so nothing was checked; ask again")
            return False
        print(
            f"{case}: too few waits of {advised} for the percentile {share} in {FEWEST_RUNS} of "
            f"{RUNS} runs, so nothing was checked; give a longer --for than {length}"
        )
        return False
    ratio = None if advised == order[0] else paired_ratio(found[advised], found[order[0]])
    fails = is_worse(ratio, is_tail=case.is_tail)
    by = f" by p{100 * share:g}" if share else ""
    print(
        f"{case}: advised {advised}{by} (runner-up {advice['runner_up']}); measured "
        f"order {', '.join(order[:3])}; {shown(ratio)}{'; WORSE' if fails else ''} "
        f"(load {os.getloadavg()[0]:.0f})",
        flush=True,
    )
    return not fails


def _output(words: list[str]) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--for", dest="length", default="20s", help="of each measurement")
    parser.add_argument("--lockyard", default="lockyard", help="the command")
    chosen = parser.parse_args()
    program = chosen.lockyard
    program = str(Path(program).resolve()) if "/" in program else program
    right = [check(case, program, chosen.length) for case in CASES]
    return 0 if all(right) else 4


if __name__ == "__main__":
    sys.exit(main())
