# SPDX-License-Identifier: Apache-2.0
"""The output of TLC is parsed correctly, and only the expected outcome passes."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import tlc
from tlc import Configuration, Outcome, TlcError

PASSED = """\
<Fast line 113, col 1 to line 113, col 7 of module resilient_lock>: 3:9
<Stick line 388, col 1 to line 388, col 8 of module resilient_lock>: 0:0
Model checking completed. No error has been found.
574 states generated, 296 distinct states found, 0 states left on queue.
The depth of the complete state graph search is 25.
"""
SAFE = Configuration(threads=3, attempts=1, nodes=1, expect="passed", distinct=296)
LIVE = replace(SAFE, specification="FairSpec", property="EveryWaitEnds")
CONFIGURATIONS = tlc.configurations()


def test_a_search_that_passes_is_read_with_its_numbers() -> None:
    outcome = tlc.outcome_of(PASSED, SAFE)
    assert outcome == Outcome("passed", 574, 296, 25, frozenset({"Stick"}))
    assert tlc.differences(SAFE, outcome) == []


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ("Error: Deadlock reached.\n", "deadlock"),
        ("Error: Invariant NoOrphan is violated.\n", "invariant NoOrphan"),
        ("Error: Temporal properties were violated.\n", "property EveryWaitEnds"),
        ("574 states generated, 296 distinct states found\nStopped after 1 s.\n", "no verdict"),
        ("", "no verdict"),
    ],
)
def test_every_other_end_differs_from_passed(output: str, verdict: str) -> None:
    outcome = tlc.outcome_of(output, LIVE)
    assert outcome.verdict == verdict
    assert tlc.differences(LIVE, outcome) == ["expected: passed"]


def test_other_states_and_other_idle_actions_are_differences() -> None:
    outcome = tlc.outcome_of(PASSED, SAFE)
    wrong = tlc.differences(replace(SAFE, distinct=297, never_taken=()), outcome)
    assert wrong == ["expected: 297 distinct states", "actions never taken: Stick"]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"expect": "fine"}, "expect must match"),
        ({"distinct": None}, "distinct goes with"),
        ({"expect": "deadlock"}, "distinct goes with"),
        ({"colour": "red"}, "no such key: colour"),
    ],
)
def test_a_configuration_that_expects_nothing_is_refused(
    changes: dict[str, object], complaint: str
) -> None:
    given = {"threads": 3, "attempts": 1, "nodes": 1, "expect": "passed", "distinct": 296}
    assert tlc.configuration_of("x", dict(given)) == SAFE
    with pytest.raises(TlcError, match=f"x: {complaint}"):
        tlc.configuration_of("x", {**given, **changes})
    with pytest.raises(TlcError, match="threads"):
        tlc.configuration_of("x", {key: each for key, each in given.items() if key != "threads"})


def test_tlc_reads_the_threads_the_claims_and_no_symmetry_next_to_a_property() -> None:
    safe, live = SAFE.text().splitlines(), LIVE.text().splitlines()
    assert "  Threads = {t1, t2, t3}" in safe
    assert "SYMMETRY Symmetry" in safe
    assert set(live) - set(safe) == {"SPECIFICATION FairSpec", "PROPERTY EveryWaitEnds"}
    assert set(safe) - set(live) == {"SPECIFICATION Spec", "SYMMETRY Symmetry"}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_table_tells_what_the_configuration_expects(name: str) -> None:
    expected = CONFIGURATIONS[name]
    table = (tlc.SPEC / "README.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{name}` \|.*$", table, re.MULTILINE)
    assert row is not None
    cells = [cell.strip(" `") for cell in row[0].strip("|").split("|")]
    assert cells[-2].replace("`", "") == expected.expect
    assert expected.distinct is None or cells[2].replace(",", "") == str(expected.distinct)


def test_each_fault_of_the_specification_is_seeded() -> None:
    text = (tlc.SPEC / "resilient_lock.tla").read_text(encoding="utf-8")
    listed = re.search(r"^Faults == \{(.*?)\}", text, re.MULTILINE | re.DOTALL)
    assert listed is not None
    faults = set(re.findall(r'"(\w+)"', listed[1])) - {"none"}
    assert {each.fault for each in CONFIGURATIONS.values()} - {"none"} == faults
