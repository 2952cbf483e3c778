# SPDX-License-Identifier: Apache-2.0
"""The page of `report` and `measure`: the advice, the charts of each subject, every table."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rich.console import Console

from lockyard import harness
from lockyard.page import curves, distributions, machine, published, stalls
from lockyard.page.cells import Records
from lockyard.page.model import Advice, Missing, Page, Remark, Section
from lockyard.page.rich_tables import converted
from lockyard.report.console import PIPE_WIDTH
from lockyard.report.naming import Naming
from lockyard.report.reference import Against
from lockyard.report.summary import summarise
from lockyard.report.tables import tables
from lockyard.report.verdict import verdict
from lockyard.studies import Setting, own_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.measure.session import Measured
    from lockyard.page.model import Block, Table

MOST_CHOSEN = 7
# The locks that most readers look for first, after those that the advice names.
FIRST_LOCKS = ("std::mutex", "mutex", "futex_mutex", "ticket_spinlock", "queued_spinlock")


def page_of(
    measured: Measured, reference: str | None, simulated: Sequence[dict[str, Any]] = (),
    warnings: Sequence[str] = (),
) -> tuple[Page, list[str]]:  # fmt: skip
    """Returns the page of a measurement, and the order in which locks get their marks."""
    catalog = harness.catalog()
    cells = summarise(measured.runs, catalog)
    environment = measured.environment
    processors = len(environment["harness"]["topology"]["usable"]) if environment else None
    against = Against.of(reference, catalog)
    order = [*(lock.name for lock in catalog.measured), *catalog.ways]
    records = Records(cells, catalog, Naming.of(cells), against, processors, simulated)
    sentences = verdict(cells, catalog, processors, against)
    sections = [
        Section("Advice", list(_advice(sentences, records))),
        distributions.section(records, distributions.WAIT),
        distributions.section(records, distributions.IDLE),
        curves.contention(records),
        curves.wakeups(records),
        curves.scaling(records),
        stalls.section_of_records(measured.path),
        published.section(records),
        machine.section(records, environment, warnings),
        _tables(records),
    ]
    found = marked(sections, order)
    locks = [name for name in found if name not in catalog.ways]
    page = Page(
        "Locks on this machine" if environment else "Locks",
        _subtitle(environment, measured),
        sections,
        found,
        locks,
        _chosen(locks, " ".join(f"{each.text} {each.details}" for each in sentences)),
    )
    return page, order


def _subtitle(environment: dict[str, Any], measured: Measured) -> str:
    parts = [f"{len(measured.runs)} runs"]
    if measured.interrupted:
        parts.append("interrupted")
    if environment:
        topology = environment["harness"]["topology"]
        started = time.gmtime(environment.get("started_unix_s", 0))
        parts = [
            environment["cpu"]["model"],
            f"{topology['processors']} processors",
            f"Linux {environment['system']['kernel']}",
            time.strftime("%Y-%m-%d %H:%M UTC", started),
            *parts,
        ]
    if measured.path is not None:
        parts.append(str(measured.path.name))
    return " · ".join(parts)


def _advice(sentences: Sequence[Any], records: Records) -> Iterator[Block]:
    for each in sentences:
        yield Advice(each.text, each.details)
    if not sentences:
        yield Remark(
            "These records decide nothing: too few runs, or none of the studies that the advice is "
            "based on."
        )
        yield Missing("what advice needs", "lockyard report")
    broken = [cell for cell in records.cells if cell.failure and not cell.runs]
    for failure in dict.fromkeys(cell.failure for cell in broken):
        failed = (cell for cell in broken if cell.failure == failure)
        locks = dict.fromkeys(cell.lock or cell.study for cell in failed)
        yield Remark(f"{', '.join(locks)}: {failure}")


def _tables(records: Records) -> Section:
    console = Console(width=PIPE_WIDTH, emoji=False)
    setting = Setting(records.catalog, records.against, console, records.processors)
    found: list[Table | Remark] = converted(
        [
            *own_tables([cell for cell in records.cells if cell.of_machine], setting),
            *tables(records.cells, records.against, console),
            *own_tables([cell for cell in records.cells if not cell.of_machine], setting),
        ]
    )
    return Section(
        "Tables",
        found,
        "Every measured lock, also those that do badly. Press the name of a column to sort by it.",
    )


def marked(sections: Sequence[Section], order: Sequence[str]) -> list[str]:
    """Returns the locks that the charts mark, in the catalogue's order."""
    found = {
        series.mark: None
        for section in sections
        for chart in section.charts
        for series in chart.series
        if series.mark
    }
    places = {name: place for place, name in enumerate(order)}
    return sorted(found, key=lambda name: places.get(name, len(places)))


def _chosen(locks: Sequence[str], advice: str) -> list[str]:
    """Returns the locks that charts show first: few enough to tell apart."""
    if len(locks) <= MOST_CHOSEN:
        return list(locks)
    named = [lock for lock in locks if lock in advice]
    ranked = dict.fromkeys([*FIRST_LOCKS[:1], *named, *FIRST_LOCKS, *locks])
    return [lock for lock in ranked if lock in locks][:MOST_CHOSEN]
