# SPDX-License-Identifier: Apache-2.0
"""What studies are measured with where nobody says: which locks, and under which policy."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from lockyard.attempts import refusal
from lockyard.conditions import FAIR, POLICY_NUMBERS, PRIORITIES, REAL_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockyard.catalog import Catalog, Study
    from lockyard.conditions import Conditions


def locks(
    catalog: Catalog, studies: Sequence[Study], others: Sequence[str]
) -> dict[str, list[str]]:
    """Of those studies that have locks of their own, by name; `others` are measured with them."""
    return {
        study.name: [lock.name for lock in catalog.select_locks([*study.usual_locks, *others])]
        for study in studies
        if study.usual_locks
    }


def conditions(
    studies: Sequence[Study],
    asked: Conditions,
    permits: Callable[[str], bool] | None = None,
) -> tuple[dict[str, list[Conditions]], list[str]]:
    """Of those studies that have policies of their own, by name: the first one that is permitted,
    or the last, with all else as asked; and what is to be said of those that are not."""
    permits = permits or is_permitted
    found: dict[str, list[Conditions]] = {}
    remarks: list[str] = []
    for study in studies:
        for policy in study.usual_policies:
            found[study.name] = [_under(policy, asked)]
            if policy == study.usual_policies[-1] or permits(policy):
                break
            remarks.append(
                f"{study.name}: policy {policy} is not permitted to this process, so it is "
                f"measured under another one; run as root, or see 'lockyard doctor', or say "
                f"--policy yourself"
            )
    return found, remarks


def _under(policy: str, asked: Conditions) -> Conditions:
    nice = asked.nice if policy in FAIR else 0
    return replace(asked, policy=policy, priority=_priority(policy), nice=nice)


def is_permitted(policy: str) -> bool:
    """To this process, now."""
    parameters = os.sched_param(_priority(policy))
    return refusal(lambda: os.sched_setscheduler(0, POLICY_NUMBERS[policy], parameters)) is None


def _priority(policy: str) -> int:
    """The least that it has."""
    return PRIORITIES[0] if policy in REAL_TIME else 0
