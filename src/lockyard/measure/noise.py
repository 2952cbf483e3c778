# SPDX-License-Identifier: Apache-2.0
"""Adds the study noise, which watches the machine itself while locks are measured."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from lockyard.measure.cell import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.catalog import Catalog
    from lockyard.machine.conditions import Conditions

# The machine's noise is watched for this share of the time, within these limits in seconds.
NOISE_STUDY = "noise"
NOISE_SHARE = 0.05
NOISE_S = (0.1, 8.0)
SHORTEST_NOISE_S = 0.02  # the length of a run


def with_noise(
    cells: Sequence[Cell],
    catalog: Catalog,
    conditions: Conditions,
    measured_s: float | None = None,
) -> list[Cell]:
    """Returns the cells and one that watches the machine in every block, if there is none yet. It
    has the cells' values of settings that apply to the whole machine. `measured_s` is the time for
    all cells, if that is less than the sum of their times."""
    if not cells or any(cell.study == NOISE_STUDY for cell in cells):
        return list(cells)
    conditions = replace(conditions, autogroup=cells[0].conditions.autogroup)
    least_s, most_s = NOISE_S
    whole_s = measured_s or sum(cell.budget_s for cell in cells)
    budget_s = min(max(NOISE_SHARE * whole_s, least_s), most_s)
    blocks = max(cell.runs for cell in cells)
    runs = max(1, min(blocks, int(budget_s / SHORTEST_NOISE_S)))
    noise = Cell(
        study=catalog.select_studies([NOISE_STUDY])[0].name,
        lock=None,
        threads=len(os.sched_getaffinity(0)),
        pinning="none",
        conditions=conditions,
        loops=None,
        run_s=budget_s / runs,
        runs=runs,
        budget_s=budget_s,
        as_published=False,
    )
    return [noise, *cells]
