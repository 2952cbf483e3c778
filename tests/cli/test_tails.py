# SPDX-License-Identifier: Apache-2.0
"""Tails with names: modes of three schedulers are found, and smooth tails have none."""

from __future__ import annotations

import gzip
import math
import random
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import a_record, summed_up

from lockyard.machine.procfs import KernelFiles
from lockyard.machine.tick import tick_hz, tickless
from lockyard.report.tails import Period, modes, names_of, periods, tail_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MS = 1e6
ENVIRONMENT: dict[str, Any] = {
    "harness": {"default_slice_ns": 2_800_000},
    "system": {"tick_hz": 250},
    "scheduler": {"sched_rt_runtime_us": "950000", "sched_rt_period_us": "1000000"},
}


def counted(values: Sequence[float]) -> dict[float, int]:
    """Counts values in buckets of 0.4 %, as records do."""
    found: dict[float, int] = {}
    for value in values:
        bucket = math.exp(round(math.log(value) / 0.008) * 0.008)
        found[bucket] = found.get(bucket, 0) + 1
    return found


def spread_around(middle: float, count: int, by: float = 0.02) -> list[float]:
    random.seed(7)
    return [middle * (1 + random.uniform(-by, by)) for _ in range(count)]


def exponential(mean: float, count: int) -> list[float]:
    random.seed(8)
    return [random.expovariate(1 / mean) for _ in range(count)]


def test_finds_the_modes_and_their_shares() -> None:
    tail = [*spread_around(2.8 * MS, 610), *spread_around(5.6 * MS, 200), *exponential(9 * MS, 220)]
    found = modes(counted(tail), MS)
    assert [round(mode.length_ns / MS, 1) for mode in found] == [2.8, 5.6]
    assert found[0].share == pytest.approx(0.61, abs=0.04)


def test_the_beginning_of_a_tail_is_not_a_mode() -> None:
    """Nothing is known of the lengths below, so a fall from there on is not a peak."""
    falling = [MS * (1 + each / 1000) for each in range(100) for _ in range(40)]
    falling += [MS * (1.1 + each / 1000) for each in range(3000) for _ in range(8)]
    assert modes(counted(falling), MS) == []


def test_names_at_most_three_modes() -> None:
    peaks = [*(spread_around(each * MS, 200) for each in (1.9, 4, 8, 16)), exponential(9 * MS, 50)]
    found = modes(counted([value for peak in peaks for value in peak]), MS)
    assert len(found) == 3


@pytest.mark.parametrize("mean_ms", [0.5, 2, 30])
def test_a_smooth_tail_has_no_mode(mean_ms: float) -> None:
    for count in (100, 1000, 20_000):
        assert modes(counted(exponential(mean_ms * MS, count)), MS) == []


def test_a_uniform_tail_and_a_short_one_have_no_mode() -> None:
    random.seed(9)
    uniform = [random.uniform(1, 20) * MS for _ in range(5000)]
    assert modes(counted(uniform), MS) == []
    assert modes(counted([2.8 * MS] * 20), MS) == []


@pytest.mark.parametrize(
    ("length_ms", "name"),
    [
        (2.8, ["one slice"]),
        (5.7, ["two slices"]),
        (4.05, ["one tick"]),
        (8.2, ["two ticks", "three slices"]),
        (51, ["one pause of the real-time throttle"]),
        (1000, ["one period of the real-time throttle"]),
        (3.3, []),
        (152, ["three pauses of the real-time throttle"]),
    ],
)
def test_names_small_multiples_of_known_periods(length_ms: float, name: list[str]) -> None:
    (cell,) = summed_up(a_record("wait", policy="fifo", priority=1))
    assert names_of(length_ms * MS, periods(ENVIRONMENT, cell)) == name


def test_no_large_multiple_is_a_name() -> None:
    assert names_of(50 * MS, [Period("slice", 2.8 * MS)]) == []


@pytest.mark.parametrize(
    ("conditions", "length_ns", "name"),
    [
        ({"slice_ns": 300_000}, 300e3, "one slice"),
        ({"quota_cpus": 1.5}, 100e6, "one quota period"),
        ({"policy": "rr", "priority": 1}, 100e6, "one round of rr"),
        (
            {
                "policy": "deadline",
                "deadline": {"runtime_ns": 1, "deadline_ns": 1, "period_ns": 7_000_000},
            },
            7e6,
            "one deadline period",
        ),
    ],
)
def test_conditions_have_periods_of_their_own(
    conditions: dict[str, Any], length_ns: float, name: str
) -> None:
    (cell,) = summed_up(a_record("wait", **conditions))
    assert name in names_of(length_ns, periods(ENVIRONMENT, cell))


def test_periods_of_other_conditions_are_left_out() -> None:
    (cell,) = summed_up(a_record("wait"))
    names = {each.name for each in periods(ENVIRONMENT, cell)}
    assert names == {"slice", "tick", "timer slack"}


def test_a_storm_of_yields_has_a_name_where_the_cost_is_known() -> None:
    (cell,) = summed_up(a_record("wait", threads=16))
    known = periods({**ENVIRONMENT, "yield_with_company_ns": 900.0}, cell)
    assert names_of(15 * 900.0, known) == ["one round of yields"]


def with_a_mode(block: int = 0, **conditions: Any) -> dict[str, Any]:
    """Returns a record with 61 of 100 waits of 5.5 ms."""
    record = a_record("wait", "ticket_spinlock", block, threads=16, **conditions)
    waits = [*spread_around(5.6 * MS, 61), *exponential(40 * MS, 39)]
    buckets: dict[int, int] = {}
    for value in waits:  # exact values below 256, so the unit is 1/20 ms
        buckets[round(value / MS * 4)] = buckets.get(round(value / MS * 4), 0) + 1
    record["histograms"]["wait"] = {
        "unit": "ns",
        "scale": MS / 4,
        "sub_bucket_bits": 7,
        "counts": [[index, count] for index, count in sorted(buckets.items())],
    }
    return record


def test_a_line_names_the_conditions_that_differ() -> None:
    records = with_a_mode(), with_a_mode(cell=1, policy="rr", priority=1)
    first, second = tail_lines(summed_up(*records), ENVIRONMENT)
    assert first.startswith("wait of ticket_spinlock × 16 (policy other): of waits")
    assert second.startswith("wait of ticket_spinlock × 16 (policy rr · priority 1): of waits")


def test_the_report_says_it_in_words() -> None:
    (line,) = tail_lines(summed_up(with_a_mode()), ENVIRONMENT)
    assert line.startswith("wait of ticket_spinlock × 16: of waits over 1.00 ms, 6")
    assert line.endswith("% are 5.50 ms = two slices")


@pytest.mark.parametrize(
    ("ended", "name"),
    [
        (54, "60 % are 5.50 ms = up to a tick (90 % ended at one)"),
        (12, "60 % are 5.50 ms, which no known period takes"),
        (None, "60 % are 5.50 ms, which no known period takes"),  # an older version's record
    ],
)
def test_a_mode_without_a_period_is_named_if_it_ended_at_ticks(
    ended: int | None, name: str
) -> None:
    record = with_a_mode(slice_ns=2_000_000)
    waits = record["histograms"]["wait"]
    waits["counts"] = [[22, 60], [50, 20], [400, 20]]
    if ended is not None:
        record["histograms"]["wait_to_tick"] = {**waits, "counts": [[22, ended], [400, 20]]}
    unknown = with_a_mode(block=1, slice_ns=2_000_000)  # a run that did not find the ticks
    unknown["histograms"]["wait"]["counts"] = [[22, 60], [50, 20], [400, 20]]
    (line,) = tail_lines(summed_up(record, unknown), ENVIRONMENT)
    assert f"of waits over 1.00 ms, {name}" in line


def test_reads_the_tick_of_the_kernel(tmp_path: Path) -> None:
    assert tick_hz(KernelFiles(tmp_path)) is None
    packed = tmp_path / "proc" / "config.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(b"CONFIG_HZ_250=y\nCONFIG_HZ=250\nCONFIG_NO_HZ_IDLE=y\n"))
    assert (tick_hz(KernelFiles(tmp_path)), tickless(KernelFiles(tmp_path))) == (250, "no_hz_idle")
