# SPDX-License-Identifier: Apache-2.0
"""Sentences about broken locks, crashes and hangs, which come first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.naming import counted
from lockyard.report.verdict.setting import Sentence, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.summary import CellSummary

KINDS = {
    "crashed": ("Do not use {locks} until the cause is found", "crashed while it was measured"),
    "overrun": (
        "Do not rely on the figures of {locks}",
        "missed its deadline and was stopped, so its longest stall is unknown",
    ),
}


def failures(cells: Sequence[CellSummary], setting: Setting) -> Iterable[Sentence]:
    all_broken = [cell for cell in cells if not cell.checks_hold]
    for checks, of_recovery in (("mutual exclusion", False), ("recovery", True)):
        broken = [cell for cell in all_broken if (cell.study == "recovery") is of_recovery]
        if broken:
            yield Sentence(
                f"Do not use {_locks(broken)}: BROKEN, failed the checks of {checks}.",
                setting.names(broken),
                ("its figures mean nothing",),
            )
    for kind, (advice, reason) in KINDS.items():
        found = [cell for cell in cells if cell.failure.startswith(f"{kind}:")]
        if found:
            yield Sentence(f"{advice.format(locks=_locks(found))}: {reason}.", setting.names(found))
    slowed = [cell for cell in cells if _throttled(cell)]
    if slowed:
        runs = sum(map(_throttled, slowed))
        yield Sentence(
            "Cool the machine and measure again: its processors slowed down in "
            f"{counted(runs, 'run')}.",
            setting.names(slowed),
            ("the processors throttled because of their temperature",),
        )


def _throttled(cell: CellSummary) -> int:
    """Returns the number of runs in which a processor throttled, where the machine tells."""
    return sum(bool((run.get("processors") or {}).get("throttled")) for run in cell.runs)


def _locks(cells: Iterable[CellSummary]) -> str:
    return ", ".join(dict.fromkeys(cell.lock or cell.study for cell in cells))
