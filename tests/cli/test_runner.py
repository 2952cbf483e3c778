# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lockyard.machine import environment
from lockyard.machine.conditions import Conditions
from lockyard.measure.cell import Cell
from lockyard.measure.plan import order_of_block, plan_cells
from lockyard.measure.request import Request
from lockyard.measure.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockyard.catalog import Catalog


@pytest.fixture(scope="module")
def surroundings() -> dict[str, Any]:
    return environment.collect()


def cell(lock: str = "futex_mutex", **changes: Any) -> Cell:
    values: dict[str, Any] = {
        "study": "wait",
        "lock": lock,
        "threads": 2,
        "pinning": "none",
        "conditions": Conditions(),
        "loops": None,
        "run_s": 0.02,
        "runs": 3,
        "budget_s": 30.0,
        "as_published": False,
    }
    return Cell(**(values | changes))


def test_gives_every_cell_its_runs_block_by_block(surroundings: dict[str, Any]) -> None:
    cells = [cell("futex_mutex"), cell("ticket_spinlock"), cell("std::mutex", runs=1)]
    runs = list(Runner(cells, seed=1, environment=surroundings).records())
    got = {(run["lock"], run["block"]) for run in runs}
    assert len(runs) == len(got) == 7
    assert {block for lock, block in got if lock == "std::mutex"} == {0}


def test_ends_a_cell_that_overruns_and_leaves_the_others(
    surroundings: dict[str, Any],
    fake_harness: Callable[[str], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck = "case $job in *ticket_spinlock*) exec sleep 1000;; esac"
    for name, value in fake_harness(stuck).items():
        monkeypatch.setenv(name, value)
    cells = [cell("futex_mutex"), cell("ticket_spinlock")]
    runner = Runner(cells, seed=1, environment=surroundings, grace_s=5.0)
    runs = list(runner.records())
    overrun = [run for run in runs if run["lock"] == "ticket_spinlock"]
    assert [run["status"] for run in overrun] == ["overrun"]
    others = [run["status"] for run in runs if run["lock"] == "futex_mutex"]
    assert others == ["ok", "ok", "ok"]


def test_starts_no_run_that_its_budget_does_not_hold(surroundings: dict[str, Any]) -> None:
    short = cell(runs=1000, budget_s=0.2)
    runs = list(Runner([short], seed=1, environment=surroundings).records())
    assert 1 <= len(runs) <= 10
    assert all(run["conditions"]["duration_s"] == short.run_s for run in runs)


def test_cuts_a_published_run_short_that_outlasts_its_budget(
    surroundings: dict[str, Any],
) -> None:
    endless = cell(loops=10**12, budget_s=0.2, run_s=0.0)
    (run,) = Runner([endless], seed=1, environment=surroundings).records()
    assert run["status"] == "ok"
    assert not run["values"]["complete"]
    assert all(value is True for value in run["checks"].values())


def test_order_of_a_block_is_a_permutation_that_the_seed_determines() -> None:
    cells = [cell(f"lock{number}") for number in range(20)]
    assert order_of_block(cells, 1, 0) == order_of_block(cells, 1, 0)
    assert order_of_block(cells, 1, 0) != order_of_block(cells, 1, 1)
    assert set(order_of_block(cells, 1, 0)) == set(cells)


def test_plan_measures_a_single_threaded_study_once() -> None:
    from lockyard.harness import catalog

    known: Catalog = catalog()
    studies = known.select_studies(["wait", "uncontended"])
    cells = plan_cells(studies, known.select_locks(["futex_mutex"]), Request([1, 4, 4]))
    assert [(each.study, each.threads) for each in cells] == [
        ("wait", 1),
        ("wait", 4),
        ("uncontended", 1),
    ]


def test_plan_takes_the_published_numbers_from_the_study() -> None:
    from lockyard.harness import catalog

    known: Catalog = catalog()
    locks = known.select_locks(["std::mutex"])
    wait, idle = plan_cells(
        known.select_studies(["wait", "idle"]), locks, Request([16], as_published=True)
    )
    assert (wait.loops, wait.runs) == (16384, 100)
    assert (idle.loops, idle.runs) == (16384, 1000)
