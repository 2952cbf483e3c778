# SPDX-License-Identifier: Apache-2.0
"""The tables and lines of a report about the machine itself, from fake runs."""

from __future__ import annotations

from typing import Any

import pytest
from fake_records import MS, a_core, a_record, noise_record, own_tables_of, shown, summed_up

from lockyard.studies.costs import COST_NAMES
from lockyard.studies.noise import noise_lines

EACH_NS = {f"{name}_ns": 100.0 + n for n, name in enumerate(COST_NAMES)}


def costs_record(block: int = 0, pairs: list[Any] | None = None, **values: Any) -> dict[str, Any]:
    found = {**EACH_NS, "line_round_trips": pairs or [], **values}
    return a_record("costs", None, block=block, values=found)


def noise_said(*records: dict[str, Any]) -> list[str]:
    return list(noise_lines(summed_up(*records)))


def costs_shown(*records: dict[str, Any]) -> str:
    return shown(*own_tables_of(summed_up(*records)))


def test_the_noise_of_all_runs_is_one_line() -> None:
    first = noise_record(a_core(0, lost_ns=30 * MS, longest_ns=4 * MS), a_core(1))
    second = noise_record(
        a_core(0, lost_ns=10 * MS, longest_ns=2 * MS, steal_ns=20 * MS),
        a_core(1, lost_ns=1 * MS, longest_ns=1 * MS),
        block=1,
    )
    assert noise_said(first, second) == [
        "noise: 2.00 s watched without a lock: "
        "cpu0 2.0 % lost, longest 4.00 ms, steal 1.0 %; "
        "cpu1 0.1 % lost, longest 1.00 ms, steal 0.0 %"
    ]


def test_steal_is_unavailable_or_of_the_time_in_which_it_is_known() -> None:
    unknown = noise_record(a_core(0, steal_ns=None))
    assert "steal unavailable (the kernel does not report it)" in noise_said(unknown)[0]
    known = noise_record(a_core(0, steal_ns=100 * MS), block=1)
    assert "steal 10.0 %" in noise_said(unknown, known)[0]


def test_no_noise_is_no_line() -> None:
    assert noise_said(a_record()) == []
    assert noise_said({**noise_record(), "status": "crashed", "reason": "x", "values": {}}) == []


def test_lines_of_several_conditions_say_which() -> None:
    plain = noise_record(a_core(0))
    loaded = noise_record(a_core(0), cell=1, load=4)
    first, second = noise_said(plain, loaded)
    assert first.startswith("noise (load 0): 1.00 s watched")
    assert second.startswith("noise (load 4): 1.00 s watched")
    (only,) = noise_said(noise_record(a_core(0), policy="fifo", priority=2))
    assert only.startswith("noise (policy fifo · priority 2): ")


def test_the_table_of_noise_counts_gaps_by_the_second() -> None:
    core = a_core(3, gaps=10, lost_ns=25 * MS, longest_ns=5 * MS, run_delay_ns=500 * MS)
    table = costs_shown(noise_record(core, a_core(12, run_delay_ns=None)))
    assert "noise · 2 processors: gaps over 1 µs" in table
    assert "cpu3 1.00 s 10 2.5 % 5.00 ms 0.0 % 50.0 %" in table
    assert "cpu12 1.00 s 0 0.0 % 0 0.0 % unavailable" in table
    assert "unavailable: cpu12 behind other threads: the kernel does not report it" in table
    assert table.index("cpu3") < table.index("cpu12")


# The watcher of one core got it when the time asked was almost over, and waited again before it
# read how long it had waited.
STARVED = {
    "watched_ns": 23.0,
    "gaps": 0,
    "lost_ns": 0.0,
    "longest_ns": 0.0,
    "run_delay_ns": 24 * MS,
}


def test_a_watcher_that_hardly_ran_has_no_shares() -> None:
    starved = noise_record(a_core(0), a_core(1, **STARVED), duration_s=1.0)
    (line,) = noise_said(starved)
    assert line == (
        "noise: 1.00 s watched without a lock: cpu0 0.0 % lost, longest 0, steal 0.0 %; "
        "cpu1 unavailable (watched 23.0 ns of the 1.00 s requested)"
    )
    table = " ".join(costs_shown(starved).split())  # its caption is as wide as the table
    assert "cpu0 1.00 s 0 0.0 % 0 0.0 % 0.0 %" in table
    assert "cpu1 23.0 ns – – – unavailable unavailable" in table
    assert "cpu1 lost: watched 23.0 ns of the 1.00 s requested" in table
    assert "cpu1 behind other threads: counted over 23.0 ns of the 1.00 s requested" in table


def test_processors_with_the_same_reason_share_it_and_only_the_first_are_named() -> None:
    cores = [a_core(cpu, steal_ns=None) for cpu in range(6)]
    table = " ".join(costs_shown(noise_record(*cores)).split())
    assert "unavailable: cpu0, cpu1, cpu2, cpu3 and 2 more steal: the kernel does" in table


def test_a_machine_that_no_watcher_saw_is_unavailable() -> None:
    (line,) = noise_said(noise_record(a_core(0, **STARVED), duration_s=1.0))
    assert line == "noise: cpu0 unavailable (watched 23.0 ns of the 1.00 s requested)"
    (line,) = noise_said(noise_record(a_core(0, **{**STARVED, "watched_ns": 0.0})))
    assert line == "noise: cpu0 unavailable (watched no time)"


def test_waiting_behind_others_is_of_the_time_over_which_it_was_counted() -> None:
    starved = a_core(0, **STARVED, run_delay_period_ns=25 * MS)
    table = costs_shown(noise_record(starved, duration_s=0.02))
    assert "cpu0 23.0 ns – – – unavailable 96.0 %" in table
    counted_longer = a_core(0, run_delay_ns=750 * MS, run_delay_period_ns=1500 * MS)
    assert "1.00 s 0 0.0 % 0 0.0 % 50.0 %" in costs_shown(noise_record(counted_longer))


def test_a_share_of_more_than_everything_is_no_share() -> None:
    """Records of older versions do not say over which time the kernel counted."""
    table = " ".join(costs_shown(noise_record(a_core(0, **STARVED))).split())
    assert "104" not in table
    assert "behind other threads: 24.0 ms were counted in 23.0 ns, which is impossible" in table
    stolen = " ".join(costs_shown(noise_record(a_core(0, steal_ns=1020 * MS))).split())
    assert "steal: 1.02 s were counted in 1.00 s, which is impossible" in stolen


def test_clocks_that_differ_a_little_make_no_more_than_everything() -> None:
    assert "0.0 % 100.0 %" in costs_shown(noise_record(a_core(0, run_delay_ns=1001 * MS)))


def test_steal_over_few_ticks_is_unavailable() -> None:
    briefly = {"watched_ns": 20 * MS, "steal_ns": 10 * MS, "steal_period_ns": 30 * MS}
    (line,) = noise_said(noise_record(a_core(0, **briefly), duration_s=0.02))
    assert "steal unavailable (ticks of 10.0 ms are too coarse for 30.0 ms)" in line
    runs = [noise_record(a_core(0, **briefly), block=n, duration_s=0.02) for n in range(4)]
    assert "steal 33.3 %" in noise_said(*runs)[0]


@pytest.mark.parametrize(("watched_ms", "is_shown"), [(499, False), (500, True)])
def test_half_of_the_time_asked_is_enough(watched_ms: float, is_shown: bool) -> None:
    core = a_core(0, watched_ns=watched_ms * MS)
    (line,) = noise_said(noise_record(core, duration_s=1.0))
    assert ("0.0 % lost" in line) == is_shown


def test_every_cost_has_its_line_in_order() -> None:
    table = costs_shown(costs_record())
    places = [table.index(f"{words} {100 + n} ns") for n, words in enumerate(COST_NAMES.values())]
    assert places == sorted(places)
    assert "medians of 1 run" in table


def test_a_cost_is_the_median_of_the_runs_with_its_interval() -> None:
    runs = [costs_record(block, pause_ns=float(block + 1)) for block in range(9)]
    assert "pause 5.00 ns 2.00 ns to 8.00 ns" in costs_shown(*runs)
    few = costs_shown(*runs[:5])
    assert "pause 3.00 ns too few runs" in few
    assert "medians of 5 runs" in few


def test_says_what_a_missing_cost_would_need() -> None:
    table = costs_shown(costs_record(wake_other_core_ns=None, context_switch_ns=None))
    assert "wake-up until running, other core – needs a second processor" in table
    assert "context switch, by yield – never observed" in table


def test_shows_how_far_pairs_of_processors_are_apart() -> None:
    def pairs(near: float, far: float) -> list[dict[str, Any]]:
        return [{"cpus": [0, 1], "ns": near}, {"cpus": [0, 2], "ns": far}]

    runs = [costs_record(n, pairs(near, 90.0)) for n, near in enumerate((40.0, 50.0, 99.0))]
    table = " ".join(costs_shown(*runs).split())
    assert "cache lines between pairs of cores: 50.0 to 90.0 ns" in table
    single = costs_shown(costs_record(pairs=pairs(40, 0)[:1]))
    assert "between pairs" not in single


def test_tables_of_the_machine_are_of_the_machine_and_of_what_was_measured() -> None:
    crashed = {**costs_record(), "status": "crashed", "reason": "signal 9", "values": {}}
    assert costs_shown(crashed, a_record()) == ""
