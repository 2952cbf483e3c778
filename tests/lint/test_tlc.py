# SPDX-License-Identifier: Apache-2.0
"""The output of TLC is parsed correctly, and only the expected outcome passes."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import tlc
from tlc import Expected, Outcome, TlcError

PASSED = """\
<Fast line 113, col 1 to line 113, col 7 of module resilient_lock>: 3:9
<Stick line 388, col 1 to line 388, col 8 of module resilient_lock>: 0:0
Model checking completed. No error has been found.
574 states generated, 296 distinct states found, 0 states left on queue.
The depth of the complete state graph search is 25.
"""
CFG = "\\* expect: passed\n\\* distinct: 296\n"
NAMES = sorted(str(p.relative_to(tlc.SPEC).with_suffix("")) for p in tlc.SPEC.rglob("*.cfg"))


def test_a_search_that_passes_is_read_with_its_numbers() -> None:
    outcome = tlc.outcome_of(PASSED, CFG)
    assert outcome == Outcome("passed", 574, 296, 25, frozenset({"Stick"}))
    assert tlc.differences(tlc.expected_of("x", CFG), outcome) == []


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
    outcome = tlc.outcome_of(output, "PROPERTY EveryWaitEnds\n")
    assert outcome.verdict == verdict
    assert tlc.differences(Expected("passed", 296, None), outcome) == ["expected: passed"]


def test_other_states_and_other_idle_actions_are_differences() -> None:
    outcome = tlc.outcome_of(PASSED, CFG)
    wrong = tlc.differences(Expected("passed", 297, frozenset()), outcome)
    assert wrong == ["expected: 297 distinct states", "actions never taken: Stick"]


@pytest.mark.parametrize("head", ["", "\\* expect: passed\n", "\\* expect: fine\n"])
def test_a_configuration_that_expects_nothing_is_refused(head: str) -> None:
    with pytest.raises(TlcError):
        tlc.expected_of("x", head)


@pytest.mark.parametrize("name", NAMES)
def test_the_table_tells_what_the_configuration_expects(name: str) -> None:
    expected = tlc.expected_of(name, (tlc.SPEC / f"{name}.cfg").read_text(encoding="utf-8"))
    table = (tlc.SPEC / "README.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{name}` \|.*$", table, re.MULTILINE)
    assert row is not None
    cells = [cell.strip(" `") for cell in row[0].strip("|").split("|")]
    assert cells[-2].replace("`", "") == expected.verdict
    assert expected.distinct is None or cells[2].replace(",", "") == str(expected.distinct)


def test_each_fault_of_the_specification_is_seeded() -> None:
    text = (tlc.SPEC / "resilient_lock.tla").read_text(encoding="utf-8")
    listed = re.search(r"^Faults == \{(.*?)\}", text, re.MULTILINE | re.DOTALL)
    assert listed is not None
    faults = set(re.findall(r'"(\w+)"', listed[1])) - {"none"}
    injected = {
        found
        for name in NAMES
        for found in re.findall(r'Fault = "(\w+)"', (tlc.SPEC / f"{name}.cfg").read_text("utf-8"))
    }
    assert injected - {"none"} == faults
