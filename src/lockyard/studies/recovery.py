# SPDX-License-Identifier: Apache-2.0
"""The tables of the study recovery: a row for each lock in each scenario."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lockyard.report.columns import RATE, RUNS, Column, Compared
from lockyard.report.naming import Naming
from lockyard.report.tables import RATIO_IMPORTANCE, fitting, ratio_text
from lockyard.report.units import MISSING, duration, rate
from lockyard.studies import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Group
    from rich.table import Table

    from lockyard.report.reference import Against
    from lockyard.report.summary import CellSummary
    from lockyard.studies import Setting

P50 = Compared("p50", lambda cell: cell.percentile_by_block("recovery", 0.5))

WITHOUT_TROUBLE = ("ordered", "gated")
# The limits that the locks are built to keep; docs/studies/recovery.md gives the reasons.
CYCLE = "p50 < 2 ms, p99 < 6 ms"
DEAD = "p99 < 4 ms"
TARGETS = {
    "aa": "p99 < 10 µs",
    "abba": CYCLE,
    "cycle3": CYCLE,
    "cycle4": CYCLE,
    "cycle8": CYCLE,
    "stuck64": "max < 1.05 s",
    "dead_waited": DEAD,
    "dead_found": DEAD,
}


def recovery_tables(cells: Sequence[CellSummary], to: Setting) -> Iterable[Table | Group]:
    """Yields, for each set of conditions, a table of recoveries and one of ordinary traffic."""
    naming = Naming.of(cells)
    places = {
        each.name: place
        for parameter in to.catalog.parameters
        for place, each in enumerate(parameter.choices)
    }
    found: dict[tuple[str, bool], list[CellSummary]] = {}
    for cell in cells:
        setting = "".join(f" · {each}" for each in naming.conditions(cell, besides=("workload",)))
        found.setdefault((setting, cell.workload not in WITHOUT_TROUBLE), []).append(cell)
    for (setting, is_fault), group in found.items():
        locks = list(dict.fromkeys(cell.lock for cell in group))
        group.sort(key=lambda cell: (locks.index(cell.lock), places.get(cell.workload, 0)))
        what = "from the fault to the error" if is_fault else "traffic without faults"
        columns = [*(FAULT if is_fault else TRAFFIC)]
        columns += _compared(group, P50 if is_fault else RATE, to.against)
        yield fitting(f"recovery: {what}{setting}", columns, group, to.console, "lock")


def _compared(
    cells: Sequence[CellSummary], compared: Compared, against: Against | None
) -> Iterable[Column]:
    """Yields the column of ratios to the reference in the same scenario."""
    if against is None:
        return

    def text(against: Against, cell: CellSummary) -> str:
        same = [each for each in cells if _situation(each) == _situation(cell)]
        reference = against.among(same, compared)
        return ratio_text(compared, reference, cell) if reference else MISSING

    title = f"{compared.title} / {against.name}\n[95 % interval]"
    yield Column(title, partial(text, against), RATIO_IMPORTANCE)


def _situation(cell: CellSummary) -> tuple[str, int]:
    return cell.workload, cell.threads


def _percentile(cell: CellSummary, share: float) -> str:
    return duration(cell.histogram("recovery").percentile(share))


def _sum(cell: CellSummary, key: str) -> str:
    values = cell.values(key)
    return f"{sum(values):.0f}" if values else MISSING


def _victims(cell: CellSummary) -> str:
    victims, rounds = cell.values("victims"), cell.values("operations")
    return f"{sum(victims) / sum(rounds):.4g}" if victims and sum(rounds) else MISSING


SCENARIO = Column("scenario", lambda cell: cell.workload)
FAULT = (
    SCENARIO,
    RUNS,
    Column("rounds", lambda cell: _sum(cell, "operations"), 7),
    Column("p50", lambda cell: _percentile(cell, 0.5)),
    Column("p99", lambda cell: _percentile(cell, 0.99), 8),
    Column("max", lambda cell: duration(cell.maximum("recovery_max_ns"))),
    Column("target", lambda cell: TARGETS.get(cell.workload, MISSING), 4),
    Column("victims\nper round", _victims, 6),
    Column("innocents\nharmed", lambda cell: _sum(cell, "innocents_harmed"), 7),
    Column("wrong\nanswers", lambda cell: _sum(cell, "wrong_answers"), 8),
)
TRAFFIC = (
    SCENARIO,
    Column("threads", lambda cell: str(cell.threads)),
    RUNS,
    Column("acquisitions", lambda cell: _sum(cell, "operations")),
    Column("rate", lambda cell: rate(cell.median("operations_per_s")), 5),
    Column("false\npositives", lambda cell: _sum(cell, "false_positives")),
)
SHOWN = Shown(tables=recovery_tables, compared=(P50,))
