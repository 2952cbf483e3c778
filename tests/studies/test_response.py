# SPDX-License-Identifier: Apache-2.0
"""The study response: arrivals by a schedule, and both times of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_study
from measured_records import runs_of, total

from lockyard.catalog import Parameter
from lockyard.errors import UsageError
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.measure.work import Work
from lockyard.records.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

PARAMETERS = (
    Parameter("load_percent", "%", "", 0, 200, (50,)),
    Parameter("rate_per_s", "/s", "", 0, 1e7, (0,)),
)
RESPONSE = [a_study("response", takes="hold", scheduled=True, parameters=PARAMETERS)]
HISTOGRAMS = ("wait", "response", "completion", "lateness")


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    return runs_of(lockyard("measure", "response", *arguments, "--json"))


def mean_ns(run: dict[str, Any], name: str) -> float:
    found = Histogram()
    found.add(run["histograms"][name])
    return sum(value * count for value, count in found.counts.items()) / found.total


def test_its_cells_are_scheduled_and_others_are_not() -> None:
    studies = [*RESPONSE, a_study("wait")]
    cells = plan_cells(studies, CATALOG.locks[:1], Request([2]))
    assert [cell.asked["arrival"] for cell in cells] == ["poisson", "closed"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request([2], work=[Work(5, 5)]), "--gap: threads of the study response"),
        (Request([2], parameters={"load_percent": ("0", "50")}), "arrivals that never come"),
    ],
)
def test_refuses_what_would_not_be_done(request_: Request, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_cells(RESPONSE, CATALOG.locks, request_)


def test_every_arrival_has_both_times_or_is_unserved(lockyard: Callable[..., Outcome]) -> None:
    runs = measured(
        lockyard,
        *("--locks", "futex_mutex,null_lock", "--threads", "3", "--hold", "1us"),
        *("--set", "load_percent=30,80", "--runs", "2"),
    )
    assert len(runs) == 8
    for run in runs:
        values = run["values"]
        assert values["arrivals"] == values["operations"] + values["unserved"]
        for name in ("wait", "response", "completion"):
            assert total(run["histograms"][name]) == values["operations"]
        assert total(run["histograms"]["lateness"]) <= values["operations"]
        load = run["conditions"]["parameters"]["load_percent"] / 100
        assert values["scheduled_per_s"] == pytest.approx(load * values["capacity_per_s"])
        assert mean_ns(run, "wait") <= mean_ns(run, "response") <= mean_ns(run, "completion")
        assert values["wait_max_ns"] <= values["completion_max_ns"]
        assert values["response_max_ns"] <= values["completion_max_ns"]
        exact = True if run["lock"] == "futex_mutex" else None
        assert run["checks"] == {"refused_while_held": exact, "counter": exact}


def test_a_rate_needs_no_capacity_and_the_schedule_does_not_wait(
    lockyard: Callable[..., Outcome],
) -> None:
    """How many are due follows from rate, seed and time alone; a lock that is ten times as slow
    has as many."""
    found = {}
    for hold in ("1us", "10us"):
        (run,) = measured(
            lockyard,
            *("--locks", "futex_mutex", "--threads", "2", "--hold", hold, "--seed", "5"),
            *("--set", "load_percent=0", "--set", "rate_per_s=2000"),
            *("--for", "1s", "--runs", "1"),
        )
        assert run["values"]["capacity_per_s"] is None
        assert run["values"]["scheduled_per_s"] == 2000
        found[hold] = run["values"]["arrivals"]
    # 2000 a second for nine tenths of the run, with six deviations to either side.
    assert found["1us"] == pytest.approx(2000 * 0.9, abs=6 * 2000**0.5 + 50)
    assert found["10us"] == pytest.approx(found["1us"], rel=0.02)


def test_a_stall_counts_for_all_that_come_meanwhile(lockyard: Callable[..., Outcome]) -> None:
    """One thread never waits for its lock, however long it holds it; what is due meanwhile does."""
    (run,) = measured(
        lockyard,
        *("--locks", "futex_mutex", "--threads", "1", "--hold", "100us"),
        *("--lengths", "bimodal", "--set", "load_percent=80", "--for", "1s", "--runs", "1"),
    )
    assert mean_ns(run, "response") > 10 * mean_ns(run, "wait")


def test_overload_leaves_arrivals_unserved_and_the_run_ends(
    lockyard: Callable[..., Outcome],
) -> None:
    """Asks for a rate that no machine serves, since a capacity measured next to other work is
    low."""
    (run,) = measured(
        lockyard,
        *("--locks", "futex_mutex", "--threads", "1", "--hold", "100us"),
        *("--set", "load_percent=0", "--set", "rate_per_s=1000000"),
        *("--for", "500ms", "--runs", "1"),
    )
    assert run["values"]["unserved_share"] > 0.5
    assert run["checks"]["counter"] is True


def test_loops_are_arrivals_of_each_thread(lockyard: Callable[..., Outcome]) -> None:
    (run,) = measured(
        lockyard,
        *("--locks", "futex_mutex", "--threads", "2", "--loops", "50", "--runs", "1"),
        *("--set", "rate_per_s=10000", "--set", "load_percent=0", "--for", "20s"),
    )
    assert run["values"]["operations_per_thread"] == [50, 50]


def test_its_table_has_both_times_side_by_side(lockyard: Callable[..., Outcome]) -> None:
    found = lockyard(
        *("measure", "response", "--locks", "futex_mutex", "--threads", "2", "--hold", "1us"),
        *("--for", "300ms", "--runs", "2"),
    )
    assert found.returncode == 0, found.stderr
    # The table is folded to the width of the output.
    heads = [line.split() for line in found.stdout.splitlines()]
    pairs = [words for words in heads if words[:1] in (["wait"], ["response"])]
    assert sum(words.count("wait") for words in pairs) == 4
    assert sum(words.count("response") for words in pairs) >= 4  # and in titles
    assert sum(words.count("p99.9") for words in heads) == 2
    assert sum(words.count("p50") for words in heads) == 2
    assert "unserved" in found.stdout
    assert "load 50 %" in " ".join(found.stdout.split())


def test_a_lock_that_does_not_exclude_is_caught(lockyard: Callable[..., Outcome]) -> None:
    found = lockyard(
        *("measure", "response", "--locks", "broken_lock", "--threads", "2"),
        *("--for", "100ms", "--runs", "2"),
    )
    assert found.returncode == 4
    assert "BROKEN" in found.stdout


def test_a_schedule_without_arrivals_is_refused(lockyard: Callable[..., Outcome]) -> None:
    refused = lockyard(
        *("measure", "response", "--locks", "futex_mutex"),
        *("--set", "load_percent=0", "--set", "rate_per_s=0"),
    )
    assert refused.returncode == 2
    assert "arrivals that never come" in refused.stderr
