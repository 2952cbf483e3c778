# SPDX-License-Identifier: Apache-2.0
"""The page of `compare`: the answer, each ratio with its interval, environments, every table."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from lockyard.compare import text
from lockyard.compare.comparison import Verdict
from lockyard.compare.pairing import called, key_of
from lockyard.page import distributions
from lockyard.page.model import Advice, Axis, Chart, Missing, Page, Remark, Section, Series, short
from lockyard.page.model import Table as PageTable
from lockyard.page.rich_tables import converted
from lockyard.report.console import PIPE_WIDTH
from lockyard.report.naming import Naming, counted
from lockyard.report.units import duration, ratio_and_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.compare.comparison import Comparison, Finding
    from lockyard.compare.environment_diff import EnvironmentDifference
    from lockyard.compare.measurement import Measurement
    from lockyard.compare.pairing import Pair
    from lockyard.page.model import Block
    from lockyard.records.histogram import Histogram

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
        Section("Distributions of A and B", list(_distributions(a, b, found, naming)), OF_BOTH),
        Section("Environments", list(_environments(a, b, environment))),
        Section("Tables", list(_tables(found, naming))),
    ]
    runs = [counted(each.runs, "run") for each in (a, b)]
    files = f"A: {a.path} ({runs[0]}) · B: {b.path} ({runs[1]})"
    return Page("What changed from A to B", files, sections, marked=SIDES)


LEAD = (
    "Each row is a figure of one cell: the median ratio over paired blocks, with its 95 % "
    "interval. A filled marker is a difference that is shown after correction for all comparisons "
    "together."
)


SIDES = ("A", "B")
# The distributions of each study, and what their charts are called.
SHOWN_OF = {"wait": "Waiting", "idle": "Free but wanted", "noise": "The machine's own gaps"}
DISTRIBUTIONS = {
    **{each.study: each.histograms for each in (distributions.WAIT, distributions.IDLE)},
    "noise": ("gap", "gap"),
}
OF_BOTH = (
    "All runs of a cell together, A and B in one chart. Read a line at 99.9 %: of a thousand "
    "times, the longest lasts at least as long. Where the machine's own gaps differ, the tails of "
    "the locks may differ for that reason alone."
)


def _distributions(
    a: Measurement, b: Measurement, found: Comparison, naming: Naming
) -> Iterator[Block]:
    tests = sorted(found.tests, key=lambda each: -each.pair.a.threads)
    pairs = {(key_of(each.pair.a), key_of(each.pair.b)): each.pair for each in tests}
    for study, title in SHOWN_OF.items():
        charts = {}
        for (of_a, of_b), pair in pairs.items():
            sides = a.distributions.get(of_a), b.distributions.get(of_b)
            if pair.a.study == study and all(sides):
                name = _cell_name(pair, naming)
                charts[name] = _both(f"{title} · {name}", sides)
        yield from distributions.together("lock and conditions", charts)
    if not (a.distributions and b.distributions):
        yield Missing("distributions of both files", "lockyard measure wait idle --out FILE")


def _both(title: str, sides: Sequence[Histogram | None]) -> Chart:
    lines = [
        line
        for name, histogram in zip(SIDES, sides, strict=True)
        if histogram and (line := distributions.percentile_line(name, histogram))
    ]
    longest = ", ".join(f"{duration(line.y[-1])} in {line.name}" for line in lines)
    return Chart(
        "lines",
        title,
        f"Times by percentile in A and B. The longest is {longest}.",
        Axis("share of the times that are shorter", "nines", zero=True),
        Axis("time", "ns", log=True),
        lines,
        data={"plain": True},
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


def _cell_name(pair: Pair, naming: Naming) -> str:
    what = f"{pair.lock} × {pair.a.threads}" if pair.lock else counted(pair.a.threads, "processor")
    return " · ".join([what, *naming.differences(pair.a)])


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
