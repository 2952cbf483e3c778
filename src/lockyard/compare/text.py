# SPDX-License-Identifier: Apache-2.0
"""Prints a comparison: the answer, the files, their environments, the gates, the tables."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.compare.comparison import ERROR, Outcome, Verdict, blocks_needed
from lockyard.compare.environment_diff import Weight
from lockyard.compare.pairing import called
from lockyard.report.console import fitted, stdout_console, titled_table
from lockyard.report.naming import Naming, counted
from lockyard.report.units import ratio_and_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from lockyard.compare.comparison import Comparison, Finding
    from lockyard.compare.environment_diff import EnvironmentDifference
    from lockyard.compare.measurement import Measurement

STYLES = {
    Verdict.BETTER: "green",
    Verdict.WORSE: "red",
    Verdict.MORE: "yellow",
    Verdict.LESS: "yellow",
    Outcome.FAILED: "bold red",
    Outcome.UNDECIDED: "yellow",
}


@dataclass(frozen=True)
class Column:
    heading: str
    cell: Callable[[Finding], str]
    importance: int = 9  # on a narrow terminal, the least important columns are dropped first


# Lists show at most this many names.
NAMES_SHOWN = 6


def print_comparison(
    a: Measurement,
    b: Measurement,
    found: Comparison,
    environment: Sequence[EnvironmentDifference],
    notes: Sequence[str],
) -> None:
    console = stdout_console()
    naming = Naming.of(cell for measuring in (a, b) for cell in measuring.cells)
    for line in (*answer_lines(found), "", *comparison_lines(a, b, found, environment, notes)):
        console.print(line, markup=False, highlight=False, soft_wrap=not console.is_terminal)
    if found.judged or found.unjudged:
        console.print()
        console.print(gates_table(found, naming, console.width))
    for table in tables(found, naming, console.width):
        console.print()
        console.print(table)


def comparison_lines(
    a: Measurement,
    b: Measurement,
    found: Comparison,
    environment: Sequence[EnvironmentDifference],
    notes: Sequence[str],
) -> Iterator[str]:
    """Yields the lines that say what was compared, and under which conditions."""
    yield _file("A", a)
    yield _file("B", b)
    if a.environment and b.environment:
        yield from environment_lines(environment)
    yield from notes
    yield from _apart(found)


def answer_lines(found: Comparison) -> Iterator[str]:
    for outcome in Outcome:
        texts = [test.gate.text for test in found.judged if test.gate and test.outcome is outcome]
        if outcome is Outcome.UNDECIDED:
            texts += [each.gate.text for each in found.unjudged]
        for text in dict.fromkeys(texts):
            yield f"gate {text}: {outcome} in {counted(texts.count(text), 'cell')}"
    if not found.tests:
        yield "no figure was compared"
        return
    together = found.tests[0].together
    yield from _differences(found)
    yield (
        f"(of files that are alike, at most {ERROR * 100:.0f} in 100 show any difference; "
        '"no difference shown" does not mean that there is none)'
    )
    few = [test for test in found.tests if test.verdict is Verdict.TOO_FEW_BLOCKS]
    if few:
        yield (
            f"measure with more --runs, or compare fewer figures with --study: "
            f"{counted(len(few), 'figure')} cannot show a difference, since {together or 1} "
            f"tested together need at least {counted(blocks_needed(together, sides=2), 'block')}"
        )


def _differences(found: Comparison) -> Iterator[str]:
    """Yields the differences, the largest first."""
    different = sorted(found.different, key=lambda test: -abs(_size(test)))
    all_ = counted(len(found.tests), "figure")
    if not different:
        yield f"no difference shown in any of {all_}"
    elif len(different) == len(found.tests):
        yield f"a difference is shown in each of {all_}"
    else:
        rest = len(found.tests) - len(different)
        yield f"a difference is shown in {len(different)} of {all_}; none in the other {rest}"
    for test in different[:NAMES_SHOWN]:
        yield (
            f"- {called(test.pair.a)}: {test.figure.name} is {test.verdict}, "
            f"{ratio_and_interval(test.ratio)} times A"
        )
    if len(different) > NAMES_SHOWN:
        yield f"- {len(different) - NAMES_SHOWN} smaller differences are in the tables"


def _size(test: Finding) -> float:
    """Returns the size of a change by a factor, with its direction as the sign."""
    median = test.ratio.median
    return math.log(median) if 0 < median < math.inf else math.inf


def _file(name: str, of: Measurement) -> str:
    started = of.environment.get("started_unix_s")
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(started)) if started else "time unknown"
    runs = counted(of.runs, "run") + (f" in {counted(of.files, 'file')}" if of.files > 1 else "")
    return f"{name}: {of.path}, {runs}, {when}, seed {of.seed}"


def environment_lines(found: Sequence[EnvironmentDifference]) -> Iterator[str]:
    matter = [each for each in found if each.weight is not Weight.PASSING]
    if not matter:
        yield "environment: the same, except for what changes with every measurement"
    for each in matter:
        yield (
            f"environment: {each.key} is {json.dumps(each.a, ensure_ascii=False)} in A and "
            f"{json.dumps(each.b, ensure_ascii=False)} in B ({each.weight})"
        )
    for each in found:
        if each.key == "load_average":
            yield f"load average before: {_joined(each.a)} in A, {_joined(each.b)} in B"


def _joined(values: Sequence[float] | None) -> str:
    return "/".join(f"{value:.1f}" for value in values) if values else "unknown"


def _apart(found: Comparison) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for each in found.apart:
        by_reason.setdefault(each.reason, []).append(called(each.cell))
    for reason, cells in by_reason.items():
        names = list(dict.fromkeys(cells))
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        yield f"not compared, {reason}: {', '.join(names[:NAMES_SHOWN])}{more}"


def gates_table(found: Comparison, naming: Naming, width: int) -> Table:
    columns = (
        Column("gate", lambda test: test.gate.text if test.gate else ""),
        Column("cell", lambda test: called(test.pair.a)),
        Column("conditions", lambda test: _conditions(test, naming), 1),
        RATIO,
        P_VALUE,
        Column("", lambda test: test.outcome),
    )
    table = _fitting("gates", columns, found.judged, width)
    for each in found.unjudged:
        texts = {"gate": each.gate.text, "cell": called(each.cell), "": Outcome.UNDECIDED}
        table.add_row(*(Text(texts.get(str(column.header), "")) for column in table.columns))
    return table


def tables(found: Comparison, naming: Naming, width: int) -> Iterator[Table]:
    groups: dict[str, list[Finding]] = {}
    for test in found.tests:
        cell = test.pair.a
        study = f"{cell.study} as published" if cell.as_published else cell.study
        groups.setdefault(f"{study}: B against A · {naming.setting(cell)}", []).append(test)
    for title, tests in groups.items():
        yield _fitting(title, COLUMNS, tests, width)


def _conditions(test: Finding, naming: Naming) -> str:
    return " · ".join(naming.conditions(test.pair.a))


def _blocks(test: Finding) -> str:
    return f"{test.ratio.blocks}{'' if test.by_block else ', none shared'}"


def p_value(test: Finding) -> str:
    return f"{test.corrected_p:.2g}" if test.corrected_p >= 0.0001 else "< 0.0001"


RATIO = Column("B / A\n[95 % interval]", lambda test: ratio_and_interval(test.ratio))
P_VALUE = Column("p,\ncorrected", p_value, 2)
COLUMNS = (
    Column("lock", lambda test: test.pair.lock),
    Column("figure", lambda test: test.figure.name),
    Column("blocks", _blocks, 3),
    Column("A", lambda test: test.figure.text(test.a), 4),
    Column("B", lambda test: test.figure.text(test.b), 4),
    RATIO,
    P_VALUE,
    Column("", lambda test: test.verdict),
)


def _fitting(title: str, columns: Sequence[Column], tests: Sequence[Finding], width: int) -> Table:
    """Builds the table and drops the least important columns until it fits."""

    def table_of(some: Sequence[Column]) -> Table:
        table = titled_table(title)
        for column in some:
            table.add_column(Text(column.heading), no_wrap=True)
        for test in tests:
            style = STYLES.get(test.outcome if test.gate else test.verdict, "")
            *before, last = (Text(column.cell(test)) for column in some)
            table.add_row(*before, Text(last.plain, style=style))
        return table

    def least(some: Sequence[Column]) -> list[Column]:
        lowest = min(column.importance for column in some)
        return [each for each in some if each.importance == lowest < Column.importance]

    table, shown = fitted(columns, width, table_of, least)
    left_out = [column.heading.replace("\n", " ") for column in columns if column not in shown]
    if left_out:
        table.caption = f"too narrow for: {', '.join(left_out)}"
    return table
