# SPDX-License-Identifier: Apache-2.0
"""Records of runs that never were, with what the report reads of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from lockyard.catalog import Catalog, Choice, Lock, Parameter, Study
from lockyard.machine.conditions import Conditions
from lockyard.measure.work import Work
from lockyard.report.summary import CellSummary, summarise
from lockyard.studies import Setting, own_tables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from lockyard.report.reference import Against

MS = 1e6


def a_lock(name: str) -> Lock:
    return Lock(name, "", "ours", "spin", "spin", "none", 4, False, False, False, False, True, "")


def a_study(name: str, **changes: Any) -> Study:
    numbers = {"default_run_s": 0.1, "default_budget_s": 1.0}
    published = {"published_loops": 0, "published_runs": 0}
    return Study(name, "", **{**numbers, **published, **changes})


def a_count(name: str, least: float, most: float, *defaults: float, **changes: Any) -> Parameter:
    return Parameter(name, "", "", least, most, defaults, "count", **changes)


def workloads(*choices: str | Choice) -> Parameter:
    """A parameter that is a choice; a name stands for one with the study's defaults."""
    made = (
        each
        if isinstance(each, Choice)
        else Choice(each, group="", threads=0, default_run_s=0.1, default_budget_s=1.0)
        for each in choices
    )
    return Parameter("workload", "", "", 0, 0, (), "choice", tuple(made))


CATALOG = Catalog(
    "0",
    (a_lock("ticket_spinlock"), a_lock("futex_mutex")),
    (),
    (
        a_study("costs", measures="machine", takes="none"),
        a_study("noise", measures="machine", takes="none"),
        a_study("wait"),
    ),
)


def a_record(
    study: str = "wait",
    lock: str | None = "futex_mutex",
    block: int = 0,
    cell: int = 0,
    values: dict[str, Any] | None = None,
    **conditions: Any,
) -> dict[str, Any]:
    known: dict[str, Any] = {"threads": 2, "pinning": "none", "as_published": False}
    known |= {**Conditions().to_json(), **Work().to_json(), "parameters": {}}
    return {
        "study": study,
        "lock": lock,
        "conditions": {**known, **conditions},
        "block": block,
        "cell": cell,
        "status": "ok",
        "reason": None,
        "values": {"complete": True, **(values or {})},
        "histograms": {},
        "checks": {},
    }


def a_core(cpu: int, **changes: Any) -> dict[str, Any]:
    """A second on which nothing was lost."""
    still = {"watched_ns": 1000 * MS, "gaps": 0, "lost_ns": 0.0, "longest_ns": 0.0}
    return {"cpu": cpu, **still, "steal_ns": 0.0, "run_delay_ns": 0.0, **changes}


def noise_record(*cores: dict[str, Any], **others: Any) -> dict[str, Any]:
    return a_record("noise", None, values={"cores": list(cores)}, **others)


def summed_up(*records: dict[str, Any]) -> list[CellSummary]:
    return summarise(records, CATALOG)


def own_tables_of(
    cells: list[CellSummary],
    console: Console | None = None,
    against: Against | None = None,
    catalog: Catalog = CATALOG,
) -> Iterable[RenderableType]:
    """The tables of the studies that have their own kind, on a machine with two processors."""
    return own_tables(cells, Setting(catalog, against, console or Console(width=300), 2))


def shown(*tables: RenderableType) -> str:
    """What a person sees of it in a wide terminal, with single blanks."""
    console = Console(width=300, color_system=None)
    with console.capture() as capture:
        for table in tables:
            console.print(table)
    return "\n".join(" ".join(line.split()) for line in capture.get().splitlines())
