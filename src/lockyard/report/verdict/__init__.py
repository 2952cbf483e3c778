# SPDX-License-Identifier: Apache-2.0
"""The verdict: sentences that a reader in a hurry can act on, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.verdict.failures import failures
from lockyard.report.verdict.frames import missed_frames
from lockyard.report.verdict.machine import Machine
from lockyard.report.verdict.published import against_published
from lockyard.report.verdict.setting import Sentence, Setting
from lockyard.report.verdict.stalls import worst_stalls
from lockyard.report.verdict.throughput import most_let_through
from lockyard.report.verdict.uncontended import cheapest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.catalog import Catalog
    from lockyard.report.reference import Against
    from lockyard.report.summary import CellSummary

__all__ = ["Sentence", "verdict"]


def verdict(
    cells: Sequence[CellSummary],
    catalog: Catalog,
    processors: int | None,
    against: Against | None = None,
) -> list[Sentence]:
    """Returns the sentences, which may be none; a broken cell appears only as broken."""
    setting = Setting.of(cells, catalog, processors)
    machine = Machine.of(cells)
    sound = [cell for cell in cells if setting.is_sound(cell)]
    stalls = worst_stalls(sound, setting, machine)
    return [
        *failures(cells, setting),
        *missed_frames(sound, setting),
        *stalls,
        *machine.sentences(stalls_shown=bool(stalls)),
        *against_published(sound, setting),
        *most_let_through(sound, setting, against),
        *cheapest(sound, setting),
    ]
