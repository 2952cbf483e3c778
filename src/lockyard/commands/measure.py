# SPDX-License-Identifier: Apache-2.0
"""lockyard measure: chosen studies of chosen locks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard import harness, records, session
from lockyard.plan import Request, plan_cells

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.errors import ExitStatus


def run(  # noqa: PLR0913 - one parameter for each option
    studies: Sequence[str],
    locks: Sequence[str],
    request: Request,
    seed: int,
    out: Path | None,
    as_json: bool,
    against: str | None,
) -> ExitStatus:
    catalog = harness.catalog()
    chosen = catalog.select_locks(locks)
    reference = catalog.select_locks([against])[0].name if against else None
    if reference is not None and reference not in [lock.name for lock in chosen]:
        chosen += catalog.select_locks([reference])
    cells = plan_cells(catalog.select_studies(studies), chosen, request)
    path = out if out or as_json else records.default_path("measure")
    measured = session.measure(cells, seed, path, to_stdout=as_json, refuse_unavailable=True)
    if not as_json:
        from lockyard.report.text import print_measured

        print_measured(measured, reference)
    return measured.status
