# SPDX-License-Identifier: Apache-2.0
"""Checks the advice in five cases against measuring all of their locks.

    python tools/advice_check.py --lockyard .venv/bin/lockyard --for 20s

For each case: the advised lock, the order that a separate measurement finds, and the advised lock's
figure over the best one's, paired by block, with its 95 % interval. Exit status 4 if an advised
lock is shown to be worse than the best one by more than a tenth."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.advise.choice import TAILS
from lockyard.advise.evidence import RUNS as FEWEST_RUNS
from lockyard.records.histogram import percentile_of
from lockyard.stats import Ratio, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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


def figures(records: Iterable[dict[str, Any]], *, is_tail: bool) -> Figures:
    """Returns what the case asks for: operations per second, or the percentile of the waits that
    advice would compare: the highest one for which enough runs of each lock have enough waits."""
    runs = [each for each in records if each.get("lock") and each["status"] == "ok"]
    if not is_tail:
        return _by_lock(runs, lambda run: run["values"]["operations_per_s"])
    locks = {run["lock"] for run in runs}
    for share in TAILS:
        found = _by_lock(runs, partial(_percentile, share))
        if found.keys() == locks and all(len(each) >= FEWEST_RUNS for each in found.values()):
            break
    return found


def _percentile(share: float, run: dict[str, Any]) -> float | None:
    return percentile_of(run["histograms"]["wait"], share)


def _by_lock(
    runs: Iterable[dict[str, Any]], figure: Callable[[dict[str, Any]], float | None]
) -> Figures:
    found: Figures = {}
    for run in runs:
        value = figure(run)
        if value is not None:
            found.setdefault(run["lock"], {})[run["block"]] = value
    return found


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
    found = figures(map(json.loads, lines), is_tail=case.is_tail)
    order = ordered(found, is_tail=case.is_tail)
    advised = advice["lock"]
    if advised not in found:
        print(
            f"{case}: too few waits for a percentile of {TAILS[-1]:.0%} in each of {RUNS} runs, so "
            f"nothing was checked; give a longer --for than {length}"
        )
        return False
    ratio = None if advised == order[0] else paired_ratio(found[advised], found[order[0]])
    fails = is_worse(ratio, is_tail=case.is_tail)
    print(
        f"{case}: advised {advised} (runner-up {advice['runner_up']}); measured "
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
