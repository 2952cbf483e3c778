# SPDX-License-Identifier: Apache-2.0
"""The page of `compare`: the answer, each ratio with its interval, environments, every table."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from lockyard.compare import text
from lockyard.compare.comparison import Verdict
from lockyard.compare.pairing import called
from lockyard.page.model import Advice, Axis, Chart, Missing, Page, Remark, Section, Series, short
from lockyard.page.model import Table as PageTable
from lockyard.page.rich_tables import converted
from lockyard.report.console import PIPE_WIDTH
from lockyard.report.naming import Naming, counted
from lockyard.report.units import ratio_and_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.compare.comparison import Comparison, Finding
    from lockyard.compare.environment_diff import EnvironmentDifference
    from lockyard.compare.measurement import Measurement
    from lockyard.page.model import Block

MOST_RATIOS = 40  # a chart shows the largest differences of a study; the tables show all
SHOWN = {
    "shown to be better": (Verdict.BETTER,),
    "shown to be worse": (Verdict.WORSE,),
    "shown to be more or less": (Verdict.MORE, Verdict.LESS),
    "no difference shown": (Verdict.NO_DIFFERENCE, Verdict.TOO_FEW_BLOCKS),
}


def page_of(
    a: Measurement,
    b: Measurement,
    found: Comparison,
    environment: Sequence[EnvironmentDifference],
    notes: Sequence[str],
) -> Page:
    naming = Naming.of(cell for measuring in (a, b) for cell in measuring.cells)
    first, *others = text.answer_lines(found)
    sections = [
        Section(
            "Advice", [Advice(f"{first[0].upper()}{first[1:]}."), *map(Remark, (*others, *notes))]
        ),
        Section("Ratios of B to A", list(_ratios(found, naming)), LEAD),
        Section("Environments", list(_environments(a, b, environment))),
        Section("Tables", list(_tables(found, naming))),
    ]
    runs = [counted(each.runs, "run") for each in (a, b)]
    files = f"A: {a.path} ({runs[0]}) · B: {b.path} ({runs[1]})"
    return Page("What changed from A to B", files, sections)


LEAD = (
    "Each row is a figure of one cell: the median ratio over paired blocks, with its 95 % "
    "interval. A filled marker is a difference that is shown after correction for all comparisons "
    "together."
)


def _ratios(found: Comparison, naming: Naming) -> Iterator[Block]:
    by_study: dict[str, list[Finding]] = {}
    for test in found.tests:
        if 0 < test.ratio.median < math.inf:
            by_study.setdefault(test.pair.a.study, []).append(test)
    for study, tests in by_study.items():
        tests.sort(key=lambda test: (not test.is_shown, -abs(math.log(test.ratio.median))))
        yield _chart(study, tests, naming)
    if not by_study:
        yield Missing("a figure that both files have", "lockyard compare A B")


def _chart(study: str, tests: list[Finding], naming: Naming) -> Chart:
    shown = tests[:MOST_RATIOS]
    names = {id(test): _name(test, naming) for test in shown}
    series = []
    for name, verdicts in SHOWN.items():
        some = [test for test in shown if test.verdict in verdicts]
        if some:
            series.append(
                Series(
                    name,
                    [short(test.ratio.median) for test in some],
                    [names[id(test)] for test in some],
                    role="published" if Verdict.NO_DIFFERENCE in verdicts else "measured",
                    low=[_bound(test.ratio.low) for test in some],
                    high=[_bound(test.ratio.high) for test in some],
                    notes=[f"{ratio_and_interval(test.ratio)}; {test.verdict}" for test in some],
                )
            )
    rest = len(tests) - len(shown)
    different = sum(test.is_shown for test in tests)
    return Chart(
        "dots",
        f"{study}: B / A",
        f"Ratios of {counted(len(tests), 'figure')} of {study}; a difference is shown in "
        f"{different}. The largest: {names[id(shown[0])]}, {ratio_and_interval(shown[0].ratio)}.",
        Axis("B / A", "times", log=True),
        Axis("cell and figure", names=list(names.values())),
        series,
        f"{rest} smaller differences are in the tables" if rest else "",
        data={"reference": 1, "verdicts": True},
        wide=True,
    )


def _name(test: Finding, naming: Naming) -> str:
    conditions = " · ".join(naming.differences(test.pair.a))
    threads = f"× {test.pair.a.threads}"
    return f"{test.pair.lock} {threads} {test.figure.name} {conditions}".rstrip()


def _bound(value: float | None) -> float | None:
    return short(value) if value is not None and 0 < value < math.inf else None


def _environments(
    a: Measurement, b: Measurement, found: Sequence[EnvironmentDifference]
) -> Iterator[Block]:
    if not (a.environment and b.environment):
        yield Missing("the environment of both files", "lockyard measure … --out FILE")
        return
    yield from map(Remark, text.environment_lines(found))
    if found:
        rows = [
            [each.key, json.dumps(each.a), json.dumps(each.b), str(each.weight)] for each in found
        ]
        yield PageTable("differences", ["setting", "A", "B", "weight"], rows)


def _tables(found: Comparison, naming: Naming) -> Iterator[Block]:
    if found.judged or found.unjudged:
        yield from converted([text.gates_table(found, naming, PIPE_WIDTH)])
    yield from converted(text.tables(found, naming, PIPE_WIDTH))
    reasons: dict[str, list[str]] = {}
    for each in found.apart:
        reasons.setdefault(each.reason, []).append(called(each.cell))
    rows = [[cell, reason] for reason, cells in reasons.items() for cell in dict.fromkeys(cells)]
    if rows:
        yield PageTable("not compared", ["cell", "reason"], rows)
