# SPDX-License-Identifier: Apache-2.0
"""Parameters of studies: what the command line says of them, what is planned, and what is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_record, a_study, summed_up

from lockyard.catalog import Catalog, Choice, Parameter
from lockyard.errors import UsageError
from lockyard.measure.parameters import combinations, parsed
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.measure.work import NONE, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

SHARE = Parameter("share_percent", "%", "time with the lock", 0, 100, (0, 50))
RATE = Parameter("rate_per_s", "/s", "acquisitions", 1, 1e6, (15_000,))
CONTENTION = a_study("contention", parameters=(SHARE, RATE), takes="none")
INTERVAL = a_study(
    "frequency", parameters=(SHARE, Parameter("interval_ns", "ns", "", 10, 31e3, (100,)))
)
WAIT = CATALOG.select_studies(["wait"])


def planned(*studies: Any, given: tuple[str, ...] = (), **request: Any) -> list[dict[str, Any]]:
    request_ = Request([2], parameters=parsed(given), **request)
    return [dict(cell.parameters) for cell in plan_cells(studies, CATALOG.locks[:1], request_)]


def test_reads_each_value_of_each_name_once() -> None:
    assert parsed(["share_percent=0, 50,0,2.5", "rate_per_s = 1e5"]) == {
        "share_percent": ("0", "50", "2.5"),
        "rate_per_s": ("1e5",),
    }
    assert parsed([]) == {}


def test_a_choice_with_a_default_is_left_out_where_it_has_that_value() -> None:
    choices = tuple(Choice(name, "", 0, 0.2, 2) for name in ("padded", "next-to-data"))
    layout = Parameter("layout", "", "", 0, 0, (0,), type="choice", choices=choices)
    study = a_study("throughput", parameters=(layout,), takes="none")
    assert layout.default == "padded"
    assert planned(study) == planned(study, given=("layout=padded",)) == [{}]
    assert planned(study, given=("layout=next-to-data,padded",)) == [{}, {"layout": "next-to-data"}]


def test_each_of_several_choices_has_its_named_or_usual_value() -> None:
    def choice(name: str, *names: str, usual: tuple[int, ...] = ()) -> Parameter:
        choices = tuple(Choice(each, "", 0, 0.2, 2) for each in names)
        return Parameter(name, "", "", 0, 0, usual, type="choice", choices=choices)

    both = (choice("workload", "lock1", "open1"), choice("calls", "modelled", "kernel", usual=(0,)))
    study = a_study("scale", parameters=both, takes="none")
    assert planned(study) == [{"workload": "lock1"}, {"workload": "open1"}]
    assert planned(study, given=("calls=kernel", "workload=open1")) == [
        {"workload": "open1", "calls": "kernel"}
    ]


@pytest.mark.parametrize(
    "text",
    [
        "share_percent",
        "share_percent=",
        "=5",
        "share_percent=5,",
    ],
)
def test_refuses_what_is_no_value_of_a_name(text: str) -> None:
    with pytest.raises(UsageError, match=f"--set {text}: not NAME=VALUE"):
        parsed([text])


@pytest.mark.parametrize("text", ["nan", "inf", "1_0", "5%", "abc"])
def test_refuses_what_is_no_number(text: str) -> None:
    with pytest.raises(UsageError, match=f"--share-percent {text}: .* a number without its unit"):
        planned(CONTENTION, given=(f"share_percent={text}",))


def test_refuses_a_name_that_has_values_already() -> None:
    with pytest.raises(UsageError, match="share_percent already has values"):
        parsed(["share_percent=1", "share_percent=2"])


def test_cells_are_the_product_of_all_values() -> None:
    assert planned(CONTENTION, given=("rate_per_s=1000,2000", "share_percent=10,20")) == [
        {"share_percent": share, "rate_per_s": rate} for share in (10, 20) for rate in (1000, 2000)
    ]


def test_without_a_value_the_defaults_are_measured() -> None:
    assert planned(CONTENTION, given=("rate_per_s=9",)) == [
        {"share_percent": 0, "rate_per_s": 9},
        {"share_percent": 50, "rate_per_s": 9},
    ]
    assert combinations(WAIT[0], {}, threads=2) == [()]


def test_each_study_takes_its_own_parameters() -> None:
    given = ("share_percent=7", "interval_ns=10,20")
    assert planned(*WAIT, CONTENTION, INTERVAL, given=given) == [
        {},
        {"share_percent": 7, "rate_per_s": 15_000},
        {"share_percent": 7, "interval_ns": 10},
        {"share_percent": 7, "interval_ns": 20},
    ]


@pytest.mark.parametrize(
    ("studies", "given", "message"),
    [
        (WAIT, "abc=1", "wait has no parameters; drop it"),
        (
            [CONTENTION],
            "share=1",
            r"did you mean share_percent\? available: share_percent \(0 to 100 %",
        ),
        ([*WAIT, CONTENTION], "interval_ns=1", r"rate_per_s \(1 to 1000000 /s\)"),
        (
            [CONTENTION],
            "share_percent=50,100.5",
            "--share-percent 100.5: share_percent of study",
        ),
        ([CONTENTION], "share_percent=-1", r"from 0 to 100 % \(time with the lock\)"),
        (
            [CONTENTION, INTERVAL],
            "interval_ns=9.5",
            "of study 'frequency' must be a number without its unit, from 10 to 31000 ns",
        ),
    ],
)
def test_refuses_unknown_parameters_and_values_out_of_range(
    studies: list[Any], given: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        planned(*studies, given=(given,))


def test_a_study_with_lengths_of_its_own_takes_no_others() -> None:
    request = Request([2], work=[Work(200)])
    cells = plan_cells([*WAIT, CONTENTION], CATALOG.locks[:1], request)
    assert [cell.work for cell in cells] == [Work(200), NONE, NONE]
    with pytest.raises(UsageError, match="mean nothing to studies"):
        plan_cells([CONTENTION], CATALOG.locks, request)


def test_the_job_and_the_catalogue_have_them() -> None:
    cell, *_ = plan_cells([CONTENTION], CATALOG.locks, Request([2]))
    clock = {"source": "tsc", "ns_per_tick": 0.5}
    job = cell.job(0, 0.1, 1, {"clock": clock, "environment": "ab"})
    assert job.conditions.parameters == {"share_percent": 0, "rate_per_s": 15_000}
    assert Catalog("0", (), (), (CONTENTION, INTERVAL)).parameters[0] is SHARE


def test_records_that_know_no_parameters_have_none() -> None:
    record = a_record()
    del record["conditions"]["parameters"]
    (cell,) = summed_up(record)
    assert cell.parameters == {}


def test_a_study_that_takes_none_says_so(lockyard: Callable[..., Outcome]) -> None:
    refused = lockyard("measure", "wait", "--share-percent", "50")
    assert refused.returncode == 2
    assert "--share-percent: applies only to the studies contention and frequency" in refused.stderr
    malformed = lockyard("measure", "wait", "--set", "share_percent")
    assert malformed.returncode == 2
    assert "not NAME=VALUE" in malformed.stderr
