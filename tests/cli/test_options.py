# SPDX-License-Identifier: Apache-2.0
"""Values of the command line."""

from __future__ import annotations

import pytest

from lockyard import options
from lockyard.errors import UsageError
from lockyard.machine.conditions import Deadline


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1ns", 1e-9),
        ("50us", 50e-6),
        ("50µs", 50e-6),
        ("2ms", 2e-3),
        (" 3s ", 3.0),
        ("1.5m", 90.0),
        (".5s", 0.5),
        ("007s", 7.0),
    ],
)
def test_reads_durations_with_their_units(text: str, seconds: float) -> None:
    assert options.duration_s("--for", text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        *("", "5", "s", "1 s", "1S", "1min", "1.s", "1e3ns", "1s2s"),
        *("0s", "0.0ms", "0.4ns", "-1s", "+1s", "infs", "nans", "9" * 400 + "s"),
    ],
)
def test_refuses_invalid_durations(text: str) -> None:
    with pytest.raises(UsageError, match=r"--for .*number with its unit"):
        options.duration_s("--for", text)


def test_reads_slices_once_each_and_within_what_the_kernel_grants() -> None:
    assert options.slices_ns("100us, 3ms,0.1ms,100ms") == [100_000, 3_000_000, 100_000_000]
    for text in ("99us", "101ms", "1ms,1s", "1ms,"):
        with pytest.raises(UsageError, match="--slice"):
            options.slices_ns(text)


def test_reads_deadlines_in_order() -> None:
    assert options.deadline("1ms/2ms/2ms") == Deadline(1_000_000, 2_000_000, 2_000_000)
    for text in ("2ms/1ms/3ms", "1ms/3ms/2ms", "1ms/2ms", "1ms/2ms/3ms/4ms", "1/2/3"):
        with pytest.raises(UsageError, match="--deadline"):
            options.deadline(text)


def test_reads_lists_of_threads_policies_and_names() -> None:
    assert options.threads("1, 4,16") == [1, 4, 16]
    assert options.policies("fifo, other,fifo") == ["fifo", "other"]
    assert options.names("--locks", " a ,,b") == ["a", "b"]
    for text in ("", "0", "1,,2", "4097", "-1", "1.5"):
        with pytest.raises(UsageError, match="--threads"):
            options.threads(text)
    assert options.threads("2,1,2") == [2, 1, 2]
    with pytest.raises(
        UsageError, match="--pools: no name was given, so nothing would be measured; give seeds"
    ):
        options.names("--pools", " , ")
    with pytest.raises(UsageError, match=r"--ways: no name was given.* 'lockyard list --json'"):
        options.ways(",")


def test_reads_places() -> None:
    assert options.pinning("spread") == "spread"
    assert options.pinning("3, 0,3") == (3, 0, 3)
    for text in ("", "tight", "1,", "-1", "1-3"):
        with pytest.raises(UsageError, match="--pin"):
            options.pinning(text)


def test_keeps_only_the_conditions_that_were_given() -> None:
    assert options.surroundings("", None, "", "", None, "") == {"load": 0}
    assert options.surroundings("2", -5, "1us", "off", 1.5, "10ms") == {
        "load": 2,
        "load_nice": -5,
        "timer_slack_ns": 1000,
        "autogroup": False,
        "quota_cpus": 1.5,
        "rest_s": 0.01,
    }


def test_a_load_is_a_number_of_threads_or_a_build() -> None:
    for text, load in (("build", 16), ("build:3", 3)):
        found = options.surroundings(text, None, "", "", None, "")
        assert found == {"load": load, "load_kind": "build"}
    for text in ("-1", "build:", "build:0", "make", "1.5", "99999", "build:99999"):
        with pytest.raises(UsageError, match=f"--load {text}: must be"):
            options.surroundings(text, None, "", "", None, "")


@pytest.mark.parametrize("cpus", [0.99, 0, -1, 5000, float("nan"), float("inf")])
def test_refuses_invalid_quotas(cpus: float) -> None:
    with pytest.raises(UsageError, match="--quota"):
        options.surroundings("0", None, "", "", cpus, "")


def test_seeds_are_what_was_asked_or_of_chance() -> None:
    assert options.seed(0) == 0
    assert options.seed(2**63 - 1) == 2**63 - 1
    assert 0 <= options.seed(None) < 2**32
    for value in (-1, 2**63):
        with pytest.raises(UsageError, match="--seed"):
            options.seed(value)
