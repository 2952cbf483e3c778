# SPDX-License-Identifier: Apache-2.0
"""The clock of measurements: how well the cores agree on it, and why it may not be tsc."""

from __future__ import annotations

from typing import Any

import pytest
from fake_machine import CLOCK
from measured_records import RECORDS

from lockyard.errors import UsageError
from lockyard.machine import environment
from lockyard.measure.session import check_same_clock
from lockyard.report.clock import clock_line, refusal, why_refused

READS = {"tsc_read_ns": 15.5, "monotonic_raw_read_ns": 23.2}
# As measured on a machine whose cores others wanted all the time.
BUSY = {
    "source": "monotonic_raw",
    "tsc_refused": "too_wide",
    "skew_ns": -3.16e6,
    "skew_uncertainty_ns": 7.84e6,
    "skew_pairs_wide": 1,
    "skew_attempts": 32,
    "skew_limit_ns": 500.0,
}


def a_clock(**changes: Any) -> dict[str, Any]:
    return {**CLOCK, **READS, "tsc_refused": None, **changes}


def test_the_line_of_the_tsc_says_how_far_its_cores_may_be_apart() -> None:
    assert clock_line(a_clock()) == (
        "clock: tsc, a read costs 15.5 ns (tsc) or 23.2 ns (monotonic_raw); "
        "cores at most 2.00 ns ± 100 ns apart"
    )


def test_a_bound_that_is_too_wide_is_a_reason_and_no_figure_of_the_clock_in_use() -> None:
    line = clock_line(a_clock(**BUSY))
    assert line == (
        "clock: monotonic_raw, a read costs 15.5 ns (tsc) or 23.2 ns (monotonic_raw); the "
        "time-stamp counter is not used: two cores' counters are only known to agree within "
        "11.0 ms, after 32 attempts, and idle needs 500 ns"
    )


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"tsc_invariant": False}, "not_invariant", "its rate changes, or it stops in deep sleep"),
        ({"skew_pairs": 1, "skew_pairs_wanted": 3}, "not_compared", "only 1 of 3 pairs of cores"),
        ({"skew_pairs_apart": 1, "skew_ns": -900.0}, "apart", "are 900 ns ± 100 ns apart"),
    ],
)
def test_every_refusal_has_its_words(changes: dict[str, Any], kind: str, said: str) -> None:
    clock = a_clock(source="monotonic_raw", tsc_refused=kind, **changes)
    assert said in why_refused(clock)
    older = {**clock, "tsc_refused": None}  # the other fields determine the kind
    assert refusal(older) == kind


def test_an_older_record_may_not_say_why() -> None:
    assert why_refused(a_clock(source="monotonic_raw")) == "the record gives no reason"
    assert why_refused(a_clock()) == ""


def test_a_measurement_does_not_continue_with_another_clock() -> None:
    check_same_clock({"clock": a_clock()}, {"clock": a_clock()})
    with pytest.raises(UsageError, match=r"timed by tsc, .* now monotonic_raw .*within 11.0 ms"):
        check_same_clock({"clock": a_clock()}, {"clock": a_clock(**BUSY)})
    with pytest.raises(UsageError, match=r"timed by monotonic_raw, but the clock is now tsc, so"):
        check_same_clock({"clock": a_clock(**BUSY)}, {"clock": a_clock()})


def test_the_harness_uses_the_tsc_only_within_its_limit() -> None:
    record = environment.collect()
    RECORDS.validate(record)
    clock = record["clock"]
    assert (clock["source"] == "tsc") == (clock["tsc_refused"] is None)
    if clock["source"] == "tsc":
        assert abs(clock["skew_ns"]) + clock["skew_uncertainty_ns"] <= clock["skew_limit_ns"]
        assert clock["skew_pairs_wide"] == clock["skew_pairs_apart"] == 0
