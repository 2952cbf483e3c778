# SPDX-License-Identifier: Apache-2.0
"""What went wrong, before anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.verdict.setting import Sentence, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.summary import CellSummary

KINDS = {
    "crashed": "crashed while it was measured: do not use it before the reason is found",
    "overrun": "did not end by its deadline and was stopped: it may have hung, so its longest "
    "stall is not known",
}


def troubles(cells: Sequence[CellSummary], setting: Setting) -> Iterable[Sentence]:
    all_broken = [cell for cell in cells if not cell.checks_hold]
    for checks, of_recovery in (("mutual exclusion", False), ("recovery", True)):
        broken = [cell for cell in all_broken if cell.of_recovery is of_recovery]
        if broken:
            yield Sentence(
                f"BROKEN: {_locks(broken)} failed the checks of {checks}: do not use it, and read "
                "none of its figures.",
                setting.names(broken),
            )
    for kind, meaning in KINDS.items():
        found = [cell for cell in cells if cell.trouble.startswith(f"{kind}:")]
        if found:
            yield Sentence(f"{_locks(found)} {meaning}.", setting.names(found))


def _locks(cells: Iterable[CellSummary]) -> str:
    return ", ".join(dict.fromkeys(cell.lock or cell.study for cell in cells))
