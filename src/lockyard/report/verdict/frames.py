# SPDX-License-Identifier: Apache-2.0
"""Sentences about missed deadlines, in frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.naming import counted
from lockyard.report.units import duration
from lockyard.report.verdict.setting import (
    ENOUGH_RUNS,
    Sentence,
    Setting,
    groups,
    shown_longer,
)
from lockyard.studies.frames import FAULTS, minutes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.summary import CellSummary

STUDY = "frames"
AT_MOST = 2
# The verdict advises against a lock with which so many times as many frames are late.
CLEARLY = 2.0


def missed_frames(cells: Iterable[CellSummary], setting: Setting) -> list[Sentence]:
    """Returns a sentence for each rate and load, those with the most missed frames first."""
    measured = [cell for cell in cells if cell.study == STUDY and minutes_of(cell)]
    found = sorted(groups(measured), key=lambda group: max(map(_missed, group)), reverse=True)
    return [_sentence(group, setting) for group in found[:AT_MOST]]


def _missed(cell: CellSummary) -> float:
    """Returns the missed frames of a minute."""
    return sum(cell.values("missed")) / minutes_of(cell)


def _sentence(group: Sequence[CellSummary], setting: Setting) -> Sentence:
    best, *_, worst = sorted([group[0], *group], key=_missed)
    rate = f"{worst.parameters.get('rate_hz', 0):g} frames a second"
    around = setting.circumstances(worst)[:1]  # the names have the other conditions
    minutes = f"{minutes_of(worst):.2g} minutes each"
    if _missed(worst) == 0:
        text = f"No frame was late, at {rate}, with any of {counted(len(group), 'lock')}."
        return Sentence(text, setting.names(group), (*around, minutes))
    late = f"{_count(_missed(worst))} frames a minute late"
    runs = min(len(worst.runs), len(best.runs))
    reasons = [*around, minutes, _faults(worst), f"longest overrun {_overrun(worst)}"]
    if best is worst or len(group) == 1:
        return Sentence(f"{worst.lock}: {late}, at {rate}.", setting.names([worst]), tuple(reasons))
    least = _count(_missed(best)) if _missed(best) else "none"
    if shown_longer(worst, best, "missed", CLEARLY):
        text = f"Do not use {worst.lock} for frames: with it {late}, with {best.lock} {least}."
    elif shown_longer(worst, best, "missed"):
        text = (
            f"{best.lock} is better for frames: with it {least} a minute late, with {worst.lock} "
            f"{_count(_missed(worst))}."
        )
    elif runs < ENOUGH_RUNS:
        text = (
            f"Measure at least {ENOUGH_RUNS} runs: {late} with {worst.lock}, {least} with "
            f"{best.lock}."
        )
        reasons.append(f"{counted(runs, 'run')} cannot show a difference")
    else:
        text = f"No lock stands out for frames: {late} with {worst.lock}, {least} with {best.lock}."
        reasons.append("paired by block, no difference is shown")
    return Sentence(text, setting.names([worst, best]), (rate, *reasons))


def _count(missed: float) -> str:
    return f"{missed:,.0f}" if missed >= 10 else f"{missed:.2g}"


def _faults(cell: CellSummary) -> str:
    """Tells late locks from late wake-ups."""
    counts = {words: sum(cell.values(key)) for key, words in FAULTS.items()}
    named = [f"{words} {count:.0f}" for words, count in counts.items() if count]
    return f"late because of: {', '.join(named)}"


def _overrun(cell: CellSummary) -> str:
    return duration(cell.maximum("overrun_max_ns"))
