# SPDX-License-Identifier: Apache-2.0
"""What the runs of a cell come to, from made-up records."""

from __future__ import annotations

from typing import Any

import pytest
from fake_records import a_record, summed_up


@pytest.mark.parametrize(
    "changed",
    [
        {"threads": 3},
        {"pinning": "spread"},
        {"pinning": [0]},
        {"as_published": True},
        {"policy": "batch"},
        {"priority": 1},
        {"nice": 1},
        {"slice_ns": 100_000},
        {"deadline": {"runtime_ns": 1, "deadline_ns": 2, "period_ns": 3}},
        {"load": 1},
        {"load_nice": 1},
        {"timer_slack_ns": 1},
        {"autogroup": True},
        {"quota_cpus": 1.5},
        {"rest_s": 0.1},
        {"hold_ns": 200},
        {"parameters": {"sleepers": 3}},
        {"parameters": {"writers": 1}},
        {"parameters": {"burst": 3}},
        {"parameters": {"share_percent": 50.0}},
        {"parameters": {"workload": "lock1"}},
        {"gap_ns": 200},
        {"lengths": "exponential"},
    ],
)
def test_runs_under_other_conditions_are_another_cell(changed: dict[str, Any]) -> None:
    cells = summed_up(a_record(), a_record(cell=1, **changed), a_record(block=1))
    assert [len(cell.runs) for cell in cells] == [2, 1]
    assert cells[1].conditions[next(iter(changed))] == next(iter(changed.values()))


@pytest.mark.parametrize("changed", [{"seed": 2}, {"duration_s": 9.0}])
def test_what_may_vary_between_runs_sets_no_cells_apart(changed: dict[str, Any]) -> None:
    (cell,) = summed_up(a_record(), a_record(block=1, **changed))
    assert len(cell.runs) == 2


def test_settings_come_as_planned_whatever_was_measured_first() -> None:
    """Blocks are in an order of chance, so the first record says nothing."""
    records = [
        a_record(lock="futex_mutex", cell=3, policy="batch"),
        a_record(lock="ticket_spinlock", cell=2, policy="batch"),
        a_record(lock="futex_mutex", cell=1, policy="other"),
        a_record(lock="ticket_spinlock", cell=0, policy="other"),
    ]
    assert [(cell.conditions["policy"], cell.lock) for cell in summed_up(*records)] == [
        ("other", "ticket_spinlock"),
        ("other", "futex_mutex"),
        ("batch", "ticket_spinlock"),
        ("batch", "futex_mutex"),
    ]


def test_settings_come_as_planned_in_every_study() -> None:
    records = [
        a_record("wait", cell=0),
        a_record("later", cell=3, policy="batch"),
        a_record("wait", cell=1, policy="batch"),
        a_record("later", cell=2),
    ]
    found = [(cell.study, cell.conditions["policy"]) for cell in summed_up(*records)]
    assert found == [("wait", "other"), ("wait", "batch"), ("later", "other"), ("later", "batch")]


def test_studies_come_in_the_order_of_the_catalogue_and_strangers_last() -> None:
    records = [
        a_record("later", "futex_mutex", cell=0),
        a_record("wait", "stranger", cell=1),
        a_record("wait", "futex_mutex", cell=2),
        a_record("noise", None, cell=3),
    ]
    found = [(cell.study, cell.lock) for cell in summed_up(*records)]
    assert found == [
        ("noise", ""),
        ("wait", "futex_mutex"),
        ("wait", "stranger"),
        ("later", "futex_mutex"),
    ]


@pytest.mark.parametrize("status", ["crashed", "overrun", "unavailable"])
def test_a_run_that_failed_joins_its_own_cell(status: str) -> None:
    failed = {
        **a_record(block=1, nice=3, pinning=[0, 1]),
        "status": status,
        "reason": "signal 11",
        "values": {},
    }
    first, second = summed_up(
        a_record(), a_record(cell=1, nice=3, pinning=[0, 1]), failed, a_record(block=1)
    )
    assert (len(first.runs), first.failure) == (2, "")
    assert (len(second.runs), second.failure) == (1, f"{status}: signal 11")


def test_runs_cut_short_count_only_where_there_is_no_other() -> None:
    short = [a_record(block=block, values={"complete": False}) for block in (2, 0)]
    (only_short,) = summed_up(*short)
    assert [run["block"] for run in only_short.runs] == [0, 2]
    (mixed,) = summed_up(*short, a_record(block=1))
    assert ([run["block"] for run in mixed.runs], mixed.cut_short) == ([1], 2)


def test_a_value_that_a_run_does_not_know_is_left_out() -> None:
    (cell,) = summed_up(
        a_record(block=0, values={"x_ns": 4.0}),
        a_record(block=1, values={"x_ns": None}),
        a_record(block=2),
        a_record(block=3, values={"x_ns": 2.0}),
    )
    assert cell.values("x_ns") == [4.0, 2.0]
    assert (cell.mean("x_ns"), cell.median("x_ns"), cell.maximum("x_ns")) == (3.0, 3.0, 4.0)
    assert cell.by_block("x_ns") == {0: 4.0, 3: 2.0}
    assert (cell.mean("y"), cell.median("y"), cell.maximum("y")) == (None, None, None)
