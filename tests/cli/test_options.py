# SPDX-License-Identifier: Apache-2.0
"""Values of the command line."""

from __future__ import annotations

import pytest

from lockyard import options
from lockyard.cli.condition_options import ConditionOptions
from lockyard.errors import UsageError
from lockyard.machine.conditions import Conditions, Deadline, Load


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
    assert options.slices_ns("--slice", "100us, 3ms,0.1ms,100ms") == [
        100_000,
        3_000_000,
        100_000_000,
    ]
    for text in ("99us", "101ms", "1ms,1s", "1ms,"):
        with pytest.raises(UsageError, match="--slice"):
            options.slices_ns("--slice", text)


def test_reads_deadlines_in_order() -> None:
    assert options.deadline("--deadline", "1ms/2ms/2ms") == Deadline(
        1_000_000, 2_000_000, 2_000_000
    )
    for text in ("2ms/1ms/3ms", "1ms/3ms/2ms", "1ms/2ms", "1ms/2ms/3ms/4ms", "1/2/3"):
        with pytest.raises(UsageError, match="--deadline"):
            options.deadline("--deadline", text)


def test_reads_lists_of_threads_policies_and_names() -> None:
    assert options.threads("--threads", "1, 4,16") == [1, 4, 16]
    assert options.policies("--policy", "fifo, other,fifo") == ["fifo", "other"]
    assert options.names("--locks", " a ,,b") == ["a", "b"]
    for text in ("", "0", "1,,2", "4097", "-1", "1.5"):
        with pytest.raises(UsageError, match="--threads"):
            options.threads("--threads", text)
    assert options.threads("--threads", "2,1,2") == [2, 1, 2]
    with pytest.raises(
        UsageError, match="--pools: no name was given, so nothing would be measured; give seeds"
    ):
        options.names("--pools", " , ")
    with pytest.raises(UsageError, match=r"--ways: no name was given.* 'lockyard list --json'"):
        options.ways("--ways", ",")


def test_reads_places() -> None:
    assert options.pinning("--pin", "spread") == "spread"
    assert options.pinning("--pin", "3, 0,3") == (3, 0, 3)
    for text in ("", "tight", "1,", "-1", "1-3"):
        with pytest.raises(UsageError, match="--pin"):
            options.pinning("--pin", text)


def test_keeps_only_the_conditions_that_were_given() -> None:
    base = Conditions(load_nice=3, autogroup=True)
    assert ConditionOptions().conditions.under_every_policy(base) == base
    given = ConditionOptions(
        load=Load(2), load_nice=-5, timer_slack=1000, autogroup=False, quota=1.5, rest=0.01
    )
    assert given.conditions.under_every_policy(base) == Conditions(
        load=2, load_nice=-5, timer_slack_ns=1000, autogroup=False, quota_cpus=1.5, rest_s=0.01
    )
    with pytest.raises(UsageError, match=r"--load-nice -5: there is no load"):
        _ = ConditionOptions(load_nice=-5).conditions


def test_a_load_is_a_number_of_threads_or_a_build() -> None:
    assert options.load("--load", "3") == Load(3)
    for text, count in (("build", 16), ("build:3", 3)):
        assert options.load("--load", text) == Load(count, "build")
    for text in ("-1", "build:", "build:0", "make", "1.5", "99999", "build:99999"):
        with pytest.raises(UsageError, match=f"--load {text}: must be"):
            options.load("--load", text)


@pytest.mark.parametrize("cpus", ["0.99", "0", "-1", "5000", "nan", "inf", "many"])
def test_refuses_invalid_quotas(cpus: str) -> None:
    with pytest.raises(UsageError, match="--quota"):
        options.quota_cpus("--quota", cpus)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", ""])
def test_refuses_counts_that_are_no_whole_numbers_above_0(text: str) -> None:
    with pytest.raises(UsageError, match=f"--runs {text}: must be at least 1, and a whole number"):
        options.count("--runs", text)


def test_reads_counts_and_switches() -> None:
    assert options.count("--runs", " 12") == 12
    assert options.nice("--nice", "-20") == -20
    assert options.switch("--autogroup", "off") is False
    with pytest.raises(UsageError, match="--nice 20: must be from -20 to 19"):
        options.nice("--nice", "20")
    with pytest.raises(UsageError, match="--autogroup yes: must be on or off"):
        options.switch("--autogroup", "yes")


def test_seeds_are_what_was_asked_or_of_chance() -> None:
    assert options.seed("--seed", "0") == 0
    assert options.seed("--seed", str(2**63 - 1)) == 2**63 - 1
    assert 0 <= options.random_seed() < 2**32
    for text in ("-1", str(2**63), "x"):
        with pytest.raises(UsageError, match="--seed"):
            options.seed("--seed", text)
