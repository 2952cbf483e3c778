# SPDX-License-Identifier: Apache-2.0
"""The studies of the machine itself, at the harness: what a record holds and what has to be so."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fake_records import own_tables_of, shown, summed_up
from measured_records import RECORDS

from lockyard import harness
from lockyard.machine.conditions import Conditions
from lockyard.measure.cell import Cell
from lockyard.records.histogram import Histogram
from lockyard.studies.costs import COST_NAMES, NEED_TWO_PROCESSORS

CPUS = sorted(os.sched_getaffinity(0))
ACROSS = set(NEED_TWO_PROCESSORS)
# The middle of a bucket is that near to what was timed; the clocks differ by less.
ROUNDING = 0.01


def a_job(study: str, run_s: float, clock: dict[str, Any], **conditions: Any) -> dict[str, Any]:
    cell = Cell(
        study=study,
        lock=None,
        threads=len(CPUS),
        pinning="none",
        conditions=Conditions(**conditions),
        loops=None,
        run_s=run_s,
        runs=1,
        budget_s=run_s,
        as_published=False,
    )
    job = cell.job(0, run_s, 1, {"clock": clock, "environment": "ab"})
    found: dict[str, Any] = msgspec.to_builtins(job)
    return found


@pytest.fixture(scope="module")
def clock() -> dict[str, Any]:
    measured: dict[str, Any] = harness.ask("--environment")["clock"]
    return measured


def ran(job: dict[str, Any], cpus: list[int] | None = None) -> dict[str, Any]:
    """The record of a harness that may use these processors only."""
    answered = subprocess.run(
        [harness.harness_path()],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        preexec_fn=None if cpus is None else lambda: os.sched_setaffinity(0, cpus),
    )
    record: dict[str, Any] = {**json.loads(answered.stdout), "cell": 0, "spent_s": 0.0}
    assert record["status"] == "ok", record["reason"]
    return record


@pytest.fixture(scope="module")
def costs(clock: dict[str, Any]) -> dict[str, Any]:
    return ran(a_job("costs", 0.2, clock))


@pytest.fixture(scope="module")
def costs_of_one_cpu(clock: dict[str, Any]) -> dict[str, Any]:
    return ran(a_job("costs", 0.2, clock), CPUS[:1])


@pytest.fixture(scope="module")
def noise(clock: dict[str, Any]) -> dict[str, Any]:
    return ran(a_job("noise", 0.3, clock))


def costs_in(record: dict[str, Any]) -> dict[str, Any]:
    return {key[:-3]: value for key, value in record["values"].items() if key.endswith("_ns")}


@pytest.mark.parametrize("name", ["costs", "costs_of_one_cpu", "noise"])
def test_records_fit_the_schema(name: str, request: pytest.FixtureRequest) -> None:
    RECORDS.validate(request.getfixturevalue(name))


def test_the_report_and_the_harness_know_the_same_costs(costs: dict[str, Any]) -> None:
    assert costs_in(costs).keys() == COST_NAMES.keys()


def test_every_cost_is_the_median_of_its_timings(costs: dict[str, Any]) -> None:
    known = {name: ns for name, ns in costs_in(costs).items() if ns is not None}
    assert COST_NAMES.keys() - known.keys() == (set() if len(CPUS) > 1 else ACROSS)
    assert min(known.values()) > 0
    assert costs["histograms"].keys() == known.keys() - {"line_round_trip"}
    assert costs["values"]["operations"] == len(costs["histograms"])
    for name, document in costs["histograms"].items():
        merged = Histogram()
        merged.add(document)
        below = sum(count for value, count in merged.counts.items() if value < known[name])
        above = sum(count for value, count in merged.counts.items() if value > known[name])
        assert max(below, above) <= merged.total / 2 + 1, name


def test_what_needs_a_second_processor_is_missing_on_one(
    costs_of_one_cpu: dict[str, Any],
) -> None:
    missing = {name for name, ns in costs_in(costs_of_one_cpu).items() if ns is None}
    assert missing == ACROSS
    assert costs_of_one_cpu["values"]["line_round_trips"] == []
    table = shown(*own_tables_of(summed_up(costs_of_one_cpu)))
    assert table.count("needs a second processor") == len(ACROSS)
    for name in ACROSS:
        assert f"{COST_NAMES[name]} – needs a second processor" in table
    assert "between pairs of cores" not in table


@pytest.mark.parametrize(("name", "asked_ns"), [("sleep_50us", 50e3), ("sleep_1ms", 1e6)])
@pytest.mark.parametrize("slack", ["", "_fine"])
def test_no_sleep_is_shorter_than_asked(
    costs: dict[str, Any], name: str, asked_ns: float, slack: str
) -> None:
    timed = Histogram()
    timed.add(costs["histograms"][name + slack])
    assert min(timed.counts) >= asked_ns * (1 - ROUNDING)


def test_every_pair_of_processors_is_there_once(costs: dict[str, Any]) -> None:
    pairs = costs["values"]["line_round_trips"]
    assert [tuple(pair["cpus"]) for pair in pairs] == list(itertools.combinations(CPUS, 2))
    assert all(pair["ns"] > 0 for pair in pairs)
    if pairs:
        assert costs["values"]["line_round_trip_ns"] in [pair["ns"] for pair in pairs]


def test_watches_every_usable_processor_once(noise: dict[str, Any], clock: dict[str, Any]) -> None:
    assert [core["cpu"] for core in noise["values"]["cores"]] == CPUS
    last = CPUS[-1:]
    (alone,) = ran(a_job("noise", 0.05, clock), last)["values"]["cores"]
    assert alone["cpu"] == last[0]


def test_what_is_lost_adds_up(noise: dict[str, Any]) -> None:
    values = noise["values"]
    cores = values["cores"]
    for core in cores:
        assert core["watched_ns"] > 0
        assert 0 <= core["longest_ns"] <= core["lost_ns"] <= core["watched_ns"]
        assert core["lost_ns"] >= core["gaps"] * values["gap_threshold_ns"]
        # What the kernel counts is counted from before the first reading to after the last one.
        assert min(core["run_delay_period_ns"], core["steal_period_ns"]) > core["watched_ns"]
    assert values["longest_ns"] == max(core["longest_ns"] for core in cores)
    watched_ns = sum(core["watched_ns"] for core in cores)
    assert values["lost_share"] == pytest.approx(sum(c["lost_ns"] for c in cores) / watched_ns)
    gaps = Histogram()
    gaps.add(noise["histograms"]["gap"])
    assert gaps.total == sum(core["gaps"] for core in cores)
    lost_ns = sum(core["lost_ns"] for core in cores)
    assert sum(ns * n for ns, n in gaps.counts.items()) == pytest.approx(lost_ns, rel=ROUNDING)


def test_watchers_that_hardly_ran_lost_no_share(clock: dict[str, Any]) -> None:
    """Reading how long they waited takes them longer than the time asked."""
    asked_s = 1e-6
    values = ran(a_job("noise", asked_s, clock))["values"]
    watched_ns = sum(core["watched_ns"] for core in values["cores"])
    assert (values["lost_share"] is None) == (watched_ns < asked_s * 1e9 * len(CPUS) / 2)


def test_the_stalls_are_the_longest_gaps(noise: dict[str, Any]) -> None:
    values = noise["values"]
    lengths = [stall["length_ns"] for stall in noise["stalls"]]
    assert lengths == sorted(lengths, reverse=True)
    assert max(lengths, default=0) == values["longest_ns"]
    assert min(lengths, default=values["gap_threshold_ns"]) >= values["gap_threshold_ns"]
    for stall in noise["stalls"]:
        assert stall["length_ns"] <= values["cores"][stall["thread"]]["longest_ns"]
        assert stall["end_ns"] <= values["run_ns"]


def test_another_thread_keeps_the_watcher_waiting(clock: dict[str, Any]) -> None:
    """Where the kernel counts that."""
    values = ran(a_job("noise", 0.3, clock, load=1), CPUS[:1])["values"]
    (core,) = values["cores"]
    if core["run_delay_ns"] is not None:
        assert 0 < core["run_delay_ns"] <= core["run_delay_period_ns"] * (1 + ROUNDING)
    assert values["longest_ns"] == core["longest_ns"] > values["gap_threshold_ns"]


def fields_of(task: Path) -> list[str]:
    """Returns the fields after the name in a thread's stat: the state first, times 12th and
    13th."""
    return task.joinpath("stat").read_text().rsplit(")", 1)[1].split()


def wait_until_busy(process: int) -> Path:
    """Until every thread of the run has used more than it takes to get into its loop."""
    while True:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        if children:
            tasks = Path(f"/proc/{children[0]}/task")
            threads = [each for each in tasks.iterdir() if each.name != children[0]]
            used = [sum(map(int, fields_of(each)[11:13])) for each in threads]
            if len(used) == len(CPUS) and min(used) >= os.sysconf("SC_CLK_TCK") // 20:
                return tasks
        time.sleep(0.01)


def test_a_stop_of_the_whole_run_is_a_gap_of_every_processor(clock: dict[str, Any]) -> None:
    with subprocess.Popen(
        [harness.harness_path()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(a_job("noise", 2.0, clock)) + "\n")
        process.stdin.flush()
        tasks = wait_until_busy(process.pid)
        os.killpg(process.pid, signal.SIGSTOP)
        while any(fields_of(each)[0] != "T" for each in tasks.iterdir()):
            time.sleep(0.001)
        stopped_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        time.sleep(0.1)
        stop_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - stopped_ns
        os.killpg(process.pid, signal.SIGCONT)
        answered, _ = process.communicate(timeout=60)
    record = json.loads(answered)
    for core in record["values"]["cores"]:
        assert core["longest_ns"] >= stop_ns * (1 - ROUNDING)
    assert record["values"]["lost_share"] > 0
