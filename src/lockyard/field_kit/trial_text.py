# SPDX-License-Identifier: Apache-2.0
"""A trial as text and as a document: advice first, then a row for each lock and metric."""

from __future__ import annotations

import os
import statistics
from typing import TYPE_CHECKING

from lockyard.field_kit.preload import CONTROL
from lockyard.field_kit.trial import ALONE, RUN_TIME, SWITCHES, Metric, Trial, gains

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockyard.stats import Ratio

_WORDS = {True: "gains", False: "loses", None: "no difference shown"}
_NAME_COLUMNS = 40


def lines(trial: Trial) -> Iterator[str]:
    yield from _verdicts(trial)
    for metric in trial.metrics:
        better = "lower" if metric.is_lower_better else "higher"
        yield ""
        yield f"{short(metric.name)} ({better} is better)"
        yield f"  {'':20} {'median':>10}   {'of the program alone':28}"
        for lock in (ALONE, *trial.wanted.locks):
            yield f"  {_label(lock):20} {_row(trial, metric, lock)}".rstrip()
    yield ""
    before, after = trial.load
    yield (
        f"{trial.wanted.rounds} rounds in random order (seed {trial.wanted.seed}); "
        f"intervals of 95 %; load {before:.1f} before and {after:.1f} after, "
        f"on {len(os.sched_getaffinity(0))} processors."
    )


def _verdicts(trial: Trial) -> Iterator[str]:
    """Yields a line for each difference that is shown, or says that there is none."""
    shown = False
    for metric in trial.metrics:
        if metric.name == SWITCHES:
            continue
        for lock in trial.wanted.locks:
            ratio = trial.ratio(metric.name, lock)
            if ratio is None or (gain := gains(metric, ratio)) is None:
                continue
            shown = True
            figure = f"{short(metric.name)} {interval(ratio)} of the program alone"
            if lock == CONTROL:
                yield f"The control differs: {figure}, so a lock need not cause such a difference"
            else:
                yield f"{lock} {_WORDS[gain]}: {figure}"
    if not shown:
        yield "No difference shown: no lock certainly gains or loses."


def _row(trial: Trial, metric: Metric, lock: str) -> str:
    median = statistics.median(trial.figures[metric.name, lock].values())
    text = f"{_figure(median, metric):>10}"
    if lock == ALONE:
        return text
    ratio = trial.ratio(metric.name, lock)
    if ratio is None:
        return f"{text}   the program alone has 0"
    return f"{text}   {interval(ratio):28} {_WORDS[gains(metric, ratio)]}"


def interval(ratio: Ratio) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{ratio.median:.3g}"
    return f"{ratio.median:.3g} [{ratio.low:.3g}, {ratio.high:.3g}]"


def _figure(value: float, metric: Metric) -> str:
    return f"{value:.3g} s" if metric.name == RUN_TIME else f"{value:.6g}"


def _label(lock: str) -> str:
    return f"{CONTROL} (control)" if lock == CONTROL else lock


def short(name: str) -> str:
    return name if len(name) <= _NAME_COLUMNS else name[: _NAME_COLUMNS - 3] + "..."
