# SPDX-License-Identifier: Apache-2.0
"""The conditions that the options of the command line result in."""

from __future__ import annotations

import os
from typing import Any

import pytest

from lockyard.errors import UsageError
from lockyard.machine.conditions import (
    DEADLINE_PERIOD_NS,
    POLICIES,
    Conditions,
    Deadline,
    Load,
    RequestedConditions,
    completed,
    default_deadline,
    variants,
)

PROCESSORS = len(os.sched_getaffinity(0))
LEAST_RUNTIME_NS = 1024  # what the kernel admits


@pytest.mark.parametrize("threads", [1, PROCESSORS, PROCESSORS + 1, 16, 4096])
def test_default_deadlines_leave_the_kernel_its_part(threads: int) -> None:
    found = default_deadline(threads)
    assert LEAST_RUNTIME_NS <= found.runtime_ns <= found.deadline_ns == found.period_ns
    assert found.period_ns == DEADLINE_PERIOD_NS
    assert found.runtime_ns * threads <= 0.8 * found.period_ns * min(threads, PROCESSORS)
    assert found.runtime_ns * threads > 0.7 * found.period_ns * min(threads, PROCESSORS)


def test_only_a_missing_deadline_is_filled_in() -> None:
    own = Conditions(policy="deadline", deadline=Deadline(1, 2, 3))
    assert completed(own, 4) is own
    assert completed(Conditions(policy="deadline"), 4).deadline == default_deadline(4)
    assert completed(Conditions(), 4).deadline is None


def made(policies: list[str], base: Conditions, **asked: Any) -> list[Conditions]:
    return variants(RequestedConditions(policies=policies, **asked), base)


def test_policies_come_in_the_order_asked_with_all_slices_of_each() -> None:
    found = made(["batch", "idle", "other"], Conditions(), slices_ns=[2, 1])
    assert [(each.policy, each.slice_ns) for each in found] == [
        ("batch", 2),
        ("batch", 1),
        ("idle", None),
        ("other", 2),
        ("other", 1),
    ]


def test_what_was_inherited_goes_where_it_means_something() -> None:
    found = made(list(POLICIES), Conditions(nice=4))
    assert [each.nice for each in found] == [4, 4, 0, 0, 0, 0]
    found = made(["rr", "fifo", "other"], Conditions(policy="rr", priority=7))
    assert [each.priority for each in found] == [7, 1, 0]


def test_what_was_asked_comes_before_what_was_inherited() -> None:
    assert made(["other"], Conditions(nice=4), nice=0)[0].nice == 0
    assert made(["rr"], Conditions(policy="rr", priority=7), priority=2)[0].priority == 2
    assert made([], Conditions(policy="batch", nice=4), nice=1) == [Conditions("batch", nice=1)]


def test_a_deadline_goes_to_deadline_threads_only() -> None:
    other, deadline = made(["other", "deadline"], Conditions(), deadline=Deadline(1, 2, 3))
    assert (other.deadline, deadline.deadline) == (None, Deadline(1, 2, 3))


def test_load_holds_under_every_policy() -> None:
    found = made(["other", "fifo"], Conditions(), load=Load(2))
    assert [each.load for each in found] == [2, 2]


@pytest.mark.parametrize(
    ("policies", "asked", "option"),
    [
        (["idle", "fifo"], {"nice": 0}, "--nice"),
        (["idle"], {"slices_ns": [1]}, "--slice"),
        (["other", "deadline"], {"priority": 3}, "--priority"),
        ([], {"deadline": Deadline(1, 2, 3)}, "--deadline"),
    ],
)
def test_a_parameter_that_no_policy_knows_is_refused(
    policies: list[str], asked: dict[str, Any], option: str
) -> None:
    with pytest.raises(UsageError, match=f"{option}: has no effect under"):
        made(policies, Conditions(), **asked)
