# SPDX-License-Identifier: Apache-2.0
"""The study of readers: which locks, how many writers, and what a record of it holds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_count, a_lock, a_study
from measured_records import runs_of, total

from lockyard import harness
from lockyard.errors import UsageError
from lockyard.measure.parameters import check_names
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

READERS = a_study(
    "readers",
    measures="shared_locks",
    parameters=(a_count("writers", 0, 4095, 0, 1, below_threads=True),),
)
WAIT = CATALOG.select_studies(["wait"])
SHARED = (replace(a_lock("shared_mutex"), shared=True),)
PEERS = {
    *("std::shared_mutex", "pthread_rwlock[readers]", "pthread_rwlock[writers]", "absl::Mutex"),
    *("tbb::rw_mutex", "tbb::spin_rw_mutex", "parking_lot::RwLock"),
}


def planned(request: Request, *others: Any) -> list[tuple[Any, ...]]:
    cells = plan_cells([READERS, *others], CATALOG.locks[:1], request)
    return [
        (cell.study, cell.lock, cell.threads, dict(cell.parameters).get("writers"))
        for cell in cells
    ]


def test_has_locks_that_can_be_shared_and_no_writer_or_one_that_leaves_a_reader() -> None:
    assert planned(Request([1, 2], shared=SHARED), *WAIT) == [
        ("readers", "shared_mutex", 1, 0),
        ("readers", "shared_mutex", 2, 0),
        ("readers", "shared_mutex", 2, 1),
        ("wait", "ticket_spinlock", 1, None),
        ("wait", "ticket_spinlock", 2, None),
    ]
    given = Request([9], shared=SHARED, parameters={"writers": ["1", "8"]})
    assert [writers for *_, writers in planned(given)] == [1, 8]


def test_refuses_requests_that_measure_nothing() -> None:
    with pytest.raises(UsageError, match="--writers: applies only to the study readers: add it"):
        check_names(["writers"], WAIT, [*WAIT, READERS])
    with pytest.raises(
        UsageError,
        match="--writers 2: with --threads 2, none of the threads would be left for the others",
    ):
        planned(Request([2], shared=SHARED, parameters={"writers": ["0", "2"]}))
    with pytest.raises(UsageError, match="and --locks names none"):
        planned(Request([2]))


def test_finds_ours_and_the_systems_and_with_peers_all() -> None:
    catalog = harness.catalog()
    system = [lock.name for lock in catalog.select_shared(["all"])]
    assert system == [
        *("shared_mutex", "std::shared_mutex", "pthread_rwlock[readers]"),
        "pthread_rwlock[writers]",
    ]
    assert {lock.name for lock in catalog.select_shared(["peers"])} == PEERS
    assert not catalog.select_shared(["futex_mutex", "seeds"])


def test_lists_what_can_be_shared_among_the_peers(lockyard: Callable[..., Outcome]) -> None:
    listed = json.loads(lockyard("list", "--peers", "--json").stdout)["peers"]
    assert {peer["name"] for peer in listed} >= PEERS


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    return runs_of(lockyard("measure", "readers", *arguments, "--runs", "1", "--json"))


def test_every_lock_keeps_its_writer_and_its_readers_apart(
    lockyard: Callable[..., Outcome],
) -> None:
    runs = measured(lockyard, "--peers", "--threads", "3", "--writers", "1", "--for", "60ms")
    assert {run["lock"] for run in runs} == {"shared_mutex", *PEERS}
    missing = harness.catalog().missing_locks & set(PEERS)
    assert {run["lock"] for run in runs if run["status"] == "unavailable"} == missing
    for run in (run for run in runs if run["lock"] not in missing):
        values = run["values"]
        assert set(run["checks"].values()) == {True}, run["lock"]
        assert run["conditions"]["parameters"]["writers"] == 1
        assert values["reads"] + values["writes"] == values["operations"]
        assert values["operations_per_thread"][0] == values["writes"] > 0
        assert total(run["histograms"]["write_wait"]) == values["writes"]
        assert 0 < total(run["histograms"]["read_wait"]) <= values["reads"]
        assert values["pair_ns"] > 0


def test_without_a_writer_there_is_no_wait_of_one(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--locks", "shared_mutex", "--threads", "2", "--writers", "0", "--loops", "640")
    (run,) = measured(lockyard, *arguments)
    values = run["values"]
    assert (values["reads"], values["writes"]) == (1280, 0)
    assert values["write_wait_max_ns"] is values["write_wait_mean_ns"] is None
    assert not run["histograms"]["write_wait"]["counts"]
    assert total(run["histograms"]["read_wait"]) == 20  # one in 64
    assert not run["stalls"]


def test_a_lock_that_admits_everybody_is_caught(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--locks", "broken_lock", "--threads", "2", "--writers", "1", "--for", "60ms")
    found = lockyard("measure", "readers", *arguments, "--runs", "1", "--json")
    (run,) = [json.loads(line) for line in found.stdout.splitlines() if '"broken_lock"' in line][1:]
    assert run["checks"]["refused_while_held"] is False
    assert run["checks"]["refused_while_read"] is False


def test_shows_a_row_for_each_lock_with_ratios(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--for", "60ms", "--runs", "1", "--against", "std::shared_mutex")
    wide = {"COLUMNS": "250"}
    shown = lockyard("measure", "readers", "--threads", "2", *arguments, extra=wide)
    assert shown.returncode == 0, shown.stderr
    for words in ("readers: reads per second", "shared_mutex", "writers 0", "writers 1"):
        assert words in shown.stdout, words
    for words in ("reads / std::shared_mutex", "mean / std::shared_mutex", "the reference"):
        assert words in shown.stdout, words
