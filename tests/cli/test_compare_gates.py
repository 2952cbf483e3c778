# SPDX-License-Identifier: Apache-2.0
"""The grammar of --fail-if, and the errors for texts that it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_files import a_file, a_histogram, rates
from fake_records import CATALOG, a_record

from lockyard.compare.comparison import Comparison, Outcome, compare
from lockyard.compare.gates import parse
from lockyard.compare.pairing import Chosen
from lockyard.compare.reading import read_two
from lockyard.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

WAITS = a_histogram([(0.5, 100.0), (0.99, 1000.0), (1.0, 5000.0)])


def judged(
    tmp_path: Path, a: list[dict[str, Any]], b: list[dict[str, Any]], *texts: str
) -> Comparison:
    asked = parse(texts, CATALOG)
    paths = a_file(tmp_path / "a.jsonl", a), a_file(tmp_path / "b.jsonl", b)
    return compare(*read_two(paths, asked, CATALOG), Chosen(), asked)


def waits(scale: float = 1.0, **histograms: Any) -> list[dict[str, Any]]:
    """Nine blocks of the study wait, with a histogram of waits and others."""
    of_all = {"wait": {**WAITS, "scale": scale}, **histograms}
    record = a_record("wait", values={"wait_max_ns": 5000.0 * scale, "overlap": 1.0})
    return [{**record, "block": block, "histograms": of_all} for block in range(9)]


@pytest.mark.parametrize(
    ("text", "study", "figure", "limit", "upwards"),
    [
        ("wait.p99 > +5%", "wait", "p99", 1.05, True),
        ("wait.wait.p99.9>+12.5 %", "wait", "wait.p99.9", 1.125, True),
        ("p99 > +5%", None, "p99", 1.05, True),
        (" rate  < -10% ", None, "rate", 0.9, False),
        ("write_wait.p99 > +0%", None, "write_wait.p99", 1.0, True),
        ("writer's p99 > +5%", None, "writer's p99", 1.05, True),
    ],
)
def test_a_gate_is_a_figure_and_a_change(
    text: str, study: str | None, figure: str, limit: float, upwards: bool
) -> None:
    (gate,) = parse([text], CATALOG)
    assert (gate.study, gate.figure, gate.upwards) == (study, figure, upwards)
    assert gate.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("wait.p99", "it has no '>' or '<'"),
        ("", "it has no '>' or '<'"),
        ("> +5%", "it names no figure before '>'"),
        ("wait.p99 >= +5%", "it compares with '>='; only '>' and '<' exist"),
        ("wait.p99 > 5%", "its limit '5%' is not a change in percent with a sign"),
        ("wait.p99 > +5", "its limit '\\+5' is not a change in percent"),
        ("wait.p99 > +5us", "its limit '\\+5us' is not a change .* no other unit exists"),
        ("wait.p99 > +5% or so", "its limit '\\+5% or so' is not a change"),
        ("wait.p99 >", "its limit '' is not a change"),
        ("rate < -100%", "a figure cannot fall by 100 %"),
    ],
)
def test_a_malformed_gate_is_refused_with_its_cause_and_an_example(text: str, cause: str) -> None:
    with pytest.raises(UsageError, match=cause) as refused:
        parse([text], CATALOG)
    assert "as in 'wait.p99 > +5%'" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "wait.p9999 > +5%",
            "no cell in both files has a figure 'p9999'; did you mean p99.9\\? wait has",
        ),
        ("wait.throughput > +5%", "wait.p50 \\(any percentile\\)"),
        ("speed < -5%", "wait has .*, overlap, wait_max_ns"),
        ("noise.p99 > +5%", "have no study noise in common, only wait"),
        ("wait.p99.9999 > +5%", "no cell in both files has a figure"),
        ("wait.complete > +5%", "no cell in both files has a figure"),
    ],
)
def test_a_gate_that_could_never_fail_is_refused_with_what_there_is(
    tmp_path: Path, text: str, cause: str
) -> None:
    with pytest.raises(UsageError, match=cause):
        judged(tmp_path, waits(), waits(), text)


def test_of_many_figures_the_nearest_are_named_and_the_others_where_they_are_listed(
    tmp_path: Path,
) -> None:
    many = {f"some_figure_of_number_{number}_ns": 1.0 for number in range(100)}
    records = [{**a_record("wait", values=many), "block": block} for block in range(3)]
    with pytest.raises(UsageError) as refused:
        judged(tmp_path, records, records, "wait.some_figure_of_number_77_n > +5%")
    told = str(refused.value)
    assert "did you mean some_figure_of_number_77_ns or some_figure_of_number_" in told
    assert "and more (docs/studies lists them); nothing was compared" in told
    assert len(told) < 800


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("wait.p99 > +5%", Outcome.FAILED),
        ("wait.p50 > +5%", Outcome.FAILED),
        ("wait.wait.p50 > +5%", Outcome.FAILED),
        ("longest > +5%", Outcome.FAILED),
        ("wait.wait_max_ns > +5%", Outcome.FAILED),
        ("wait.p99 > +15%", Outcome.PASSED),
        ("wait.p99 < -5%", Outcome.PASSED),
        ("wait.p99 < +15%", Outcome.FAILED),
        ("overlap > +5%", Outcome.PASSED),
    ],
)
def test_a_gate_fails_where_a_change_beyond_its_limit_is_shown(
    tmp_path: Path, text: str, outcome: Outcome
) -> None:
    found = judged(tmp_path, waits(), waits(1.1), text)
    assert [test.outcome for test in found.judged] == [outcome]


def test_a_bare_percentile_needs_a_histogram_of_the_study_or_only_one(tmp_path: Path) -> None:
    two = [{**run, "histograms": {"x": WAITS, "y": WAITS}} for run in waits()]
    with pytest.raises(UsageError, match=r"x\.p50 \(any percentile\), y\.p50"):
        judged(tmp_path, two, two, "wait.p50 > +5%")
    assert len(judged(tmp_path, two, two, "wait.y.p50 > +5%").judged) == 1
    one = [{**run, "histograms": {"x": WAITS}} for run in waits()]
    assert len(judged(tmp_path, one, one, "wait.p50 > +5%").judged) == 1


def test_a_gate_without_a_study_is_of_all_that_have_its_figure(tmp_path: Path) -> None:
    both = [*waits(), *rates(*[10.0] * 9)]
    found = judged(tmp_path, both, both, "operations_per_s < -5%", "longest > +5%")
    assert {(test.pair.a.study, test.figure.name) for test in found.judged} == {
        ("throughput", "operations_per_s"),
        ("wait", "longest"),
    }


def test_gates_are_corrected_among_themselves_and_not_for_the_tables(tmp_path: Path) -> None:
    """The tables have ten figures, for which six blocks are too few."""
    a = [r for i in range(8) for r in rates(*[10.0] * 6, lock=f"lock{i}", nice=i)]
    b = [r for i in range(8) for r in rates(*[5.0] * 6, lock=f"lock{i}", nice=i)]
    a += waits()
    b += waits(1.1)
    found = judged(tmp_path, a, b, "longest > +5%")
    assert [test.outcome for test in found.judged] == [Outcome.FAILED]
    assert (found.judged[0].together, found.tests[0].together) == (1, 10)


def test_too_few_blocks_decide_nothing(tmp_path: Path) -> None:
    found = judged(tmp_path, rates(*[10.0] * 4), rates(*[1.0] * 4), "rate < -5%")
    assert [test.outcome for test in found.judged] == [Outcome.UNDECIDED]
    found = judged(tmp_path, rates(*[10.0] * 5), rates(*[1.0] * 5), "rate < -5%")
    assert [test.outcome for test in found.judged] == [Outcome.FAILED]
