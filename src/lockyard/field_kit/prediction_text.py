# SPDX-License-Identifier: Apache-2.0
"""A prediction, with the measured figures if there are some, as text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lockyard.field_kit.profile_text import aligned, cut, duration
from lockyard.field_kit.trial import RUN_TIME
from lockyard.field_kit.trial_text import interval, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockyard.field_kit.prediction import Placed, Prediction
    from lockyard.field_kit.trial import Metric, Trial
    from lockyard.stats import Ratio

UNLIKE = 2.0  # From this factor between model and program on, the model is not the program.


def lines(found: Prediction) -> Iterator[str]:
    yield from (_verdict(found, lock) for lock in found.locks)
    yield ""
    head = ("lock", "threads", "hold", "gap", "wanted", "program", "glibc here", *found.locks)
    yield from aligned([head, *(_row(found, each) for each in found.placed)], left=1)
    yield ""
    for each in found.placed:
        if why := doubt(each):
            yield f"{cut(each.row.lock)}: {why}"
    for row in found.left_out:
        yield f"{cut(row.lock)}: too few samples, so the prediction leaves it out"
    processors = len(os.sched_getaffinity(0))
    yield (
        "hold and gap are means; wanted: threads that would hold the lock at once if none waited; "
        "program and glibc: acquisitions per second; locks: ratio to glibc. Load "
        f"{found.load:.1f} on {processors} processors."
    )


def _verdict(found: Prediction, lock: str) -> str:
    ratio = found.ratio(lock)
    if ratio is None or not ratio.shows_difference:
        return f"{lock}: no difference expected"
    kind = "more" if ratio.median > 1 else "less"
    doubtful = ", but this is doubtful" if any(map(doubt, found.placed)) else ""
    return f"{lock}: {kind} throughput expected, {interval(ratio)} of glibc's{doubtful}"


def _row(found: Prediction, of: Placed) -> tuple[str, ...]:
    ratios = [of.ratio(lock) for lock in found.locks]
    return (
        cut(of.row.lock), str(of.row.threads), duration(of.hold_ns), duration(of.gap_ns),
        f"{of.wanted:.2f}", _rate(of.program_per_s), _rate(of.model_per_s),
        *("" if ratio is None else interval(ratio) for ratio in ratios),
    )  # fmt: skip


def _rate(per_s: float) -> str:
    return f"{per_s / 1e6:.3g} M/s" if per_s >= 1e6 else f"{per_s / 1e3:.3g} k/s"


def doubt(of: Placed) -> str:
    if of.row.objects > 1:
        return f"{of.row.objects} locks have this name; the prediction treats them as one"
    factor = of.model_per_s / of.program_per_s if of.program_per_s else 0.0
    if not 1 / UNLIKE <= factor <= UNLIKE:
        return (
            f"glibc's mutex is acquired {factor:.2g} times as often here as in the program, so "
            "these lengths do not represent the program, and the prediction is doubtful"
        )
    return ""


def verified(found: Prediction, trial: Trial) -> Iterator[str]:
    """Yields the predicted figures next to the measured ones."""
    yield ""
    rows = [("lock", "figure", "predicted", "measured", "measured / predicted")]
    for metric in trial.metrics:
        for lock in trial.wanted.locks:
            measured = trial.ratio(metric.name, lock)
            wanted = expected(found, metric, lock)
            if measured is None or wanted is None:
                continue
            off = f"{measured.median / wanted.median:.2f}"
            rows.append((lock, short(metric.name), interval(wanted), interval(measured), off))
    yield from aligned(rows, left=2)
    yield ""
    before, after = trial.load
    yield (
        f"measured against the program alone, {trial.wanted.rounds} rounds in random order; load "
        f"{before:.1f} before and {after:.1f} after."
    )


def expected(found: Prediction, metric: Metric, lock: str) -> Ratio | None:
    """Returns the predicted ratio of a figure; run times are the inverse of throughputs."""
    if lock not in found.locks:
        return None
    ratio = found.ratio(lock)
    if ratio is None or not metric.is_lower_better:
        return ratio
    return ratio.inverse if metric.name == RUN_TIME else None
