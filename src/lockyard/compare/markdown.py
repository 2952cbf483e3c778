# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown, for a comment on a pull request: the answer, then tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.compare.comparison import Outcome, Verdict
from lockyard.compare.pairing import called
from lockyard.compare.text import answer_lines, comparison_lines, p_value
from lockyard.report.naming import Naming, counted
from lockyard.report.units import ratio_and_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lockyard.compare.comparison import Comparison, Finding
    from lockyard.compare.environment_diff import EnvironmentDifference
    from lockyard.compare.measurement import Measurement

# A sign that tells outcomes apart without colour, and without reading.
SIGNS = {
    Outcome.FAILED: "❌",
    Outcome.UNDECIDED: "❔",
    Outcome.PASSED: "✅",
    Verdict.WORSE: "🔴",
    Verdict.BETTER: "🟢",
}
# A comment on GitHub has at most 65,536 characters; so many rows stay below that.
MOST_ROWS = 150


def print_markdown(
    a: Measurement,
    b: Measurement,
    found: Comparison,
    environment: Sequence[EnvironmentDifference],
    notes: Sequence[str],
) -> None:
    print("\n".join(_lines(a, b, found, environment, notes)))  # noqa: T201


def _lines(
    a: Measurement,
    b: Measurement,
    found: Comparison,
    environment: Sequence[EnvironmentDifference],
    notes: Sequence[str],
) -> Iterator[str]:
    naming = Naming.of(cell for measuring in (a, b) for cell in measuring.cells)
    yield f"### lockyard: {_headline(found)}"
    yield ""
    yield from (_listed(line) for line in answer_lines(found))
    if found.judged or found.unjudged:
        yield ""
        yield from _gates(found, naming)
    different = [test for test in found.tests if test.is_shown]
    if different:
        yield ""
        yield from _table(different[:MOST_ROWS], naming)
    others = [test for test in found.tests if not test.is_shown]
    if others:
        yield ""
        number = counted(len(others), "figure")
        yield f"<details><summary>{number} without a difference shown</summary>"
        yield ""
        yield from _table(others[: MOST_ROWS - len(different)], naming)
        yield ""
        yield "</details>"
    left_out = max(0, len(found.tests) - MOST_ROWS)
    if left_out:
        yield f"{left_out} more are in the output of `lockyard compare`."
    yield ""
    yield "<details><summary>How it was measured</summary>"
    yield ""
    yield from (f"- {_escaped(line)}" for line in comparison_lines(a, b, found, environment, notes))
    yield ""
    yield "</details>"


def _headline(found: Comparison) -> str:
    failed = [test for test in found.judged if test.outcome is Outcome.FAILED]
    undecided = [test for test in found.judged if test.outcome is Outcome.UNDECIDED]
    if failed:
        return f"{SIGNS[Outcome.FAILED]} {counted(len(failed), 'gate')} failed"
    if undecided or found.unjudged:
        return f"{SIGNS[Outcome.UNDECIDED]} the gates are undecided"
    if found.judged:
        return f"{SIGNS[Outcome.PASSED]} the gates passed"
    different = counted(len(found.different), "difference")
    return f"{different} shown in {counted(len(found.tests), 'figure')}"


def _listed(line: str) -> str:
    return _escaped(line) if line.startswith("- ") else f"- {_escaped(line)}"


def _gates(found: Comparison, naming: Naming) -> Iterator[str]:
    yield from _head("gate", "lock", "setting", "B / A [95 %]", "outcome")
    for test in found.judged:
        gate = f"`{test.gate.text}`" if test.gate else ""
        yield _row(gate, *_place(test, naming), _ratio(test), _signed(test.outcome))
    for each in found.unjudged:
        yield _row(
            f"`{each.gate.text}`",
            called(each.cell),
            each.reason,
            "",
            _signed(Outcome.UNDECIDED),
        )


def _table(tests: Iterable[Finding], naming: Naming) -> Iterator[str]:
    yield from _head("lock", "setting", "figure", "A", "B", "B / A [95 %]", "p", "")
    for test in tests:
        figure = test.figure
        values = (figure.text(test.a), figure.text(test.b))
        yield _row(
            *_place(test, naming),
            figure.name,
            *values,
            _ratio(test),
            p_value(test),
            _signed(test.verdict),
        )


def _place(test: Finding, naming: Naming) -> tuple[str, str]:
    cell = test.pair.a
    return test.pair.lock, f"{cell.study} · {naming.setting(cell)}"


def _ratio(test: Finding) -> str:
    return ratio_and_interval(test.ratio)


def _signed(what: Verdict | Outcome) -> str:
    return f"{SIGNS.get(what, '')} {what}".strip()


def _head(*titles: str) -> Iterator[str]:
    yield _row(*titles)
    yield _row(*("---" for _ in titles))


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    """Returns the text as Markdown shows it; a bar would end a cell, a line break the table."""
    return text.replace("|", "\\|").replace("\n", " ")
