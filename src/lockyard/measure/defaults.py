# SPDX-License-Identifier: Apache-2.0
"""The default locks and policies of studies."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from lockyard.machine.conditions import FAIR, POLICY_NUMBERS, PRIORITIES, REAL_TIME
from lockyard.machine.probe import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockyard.catalog import Catalog, Study
    from lockyard.machine.conditions import Conditions


def locks(
    catalog: Catalog, studies: Sequence[Study], others: Sequence[str]
) -> dict[str, list[str]]:
    """Returns the locks of studies that have default locks; `others` are added to them."""
    return {
        study.name: [lock.name for lock in catalog.select_locks([*study.default_locks, *others])]
        for study in studies
        if study.default_locks
    }


def conditions(
    studies: Sequence[Study],
    asked: Conditions,
    permits: Callable[[str], bool] | None = None,
) -> tuple[dict[str, list[Conditions]], list[str]]:
    """Returns the conditions of studies that have default policies: the first policy permitted, or
    the last one; and a remark for each policy that is not permitted."""
    permits = permits or is_permitted
    found: dict[str, list[Conditions]] = {}
    remarks: list[str] = []
    for study in studies:
        for policy in study.default_policies:
            found[study.name] = [_under(policy, asked)]
            if policy == study.default_policies[-1] or permits(policy):
                break
            remarks.append(
                f"{study.name}: this process may not use the policy {policy}, so the study runs "
                "under another one; run lockyard as root, see 'lockyard doctor', or give --policy"
            )
    return found, remarks


def _under(policy: str, asked: Conditions) -> Conditions:
    nice = asked.nice if policy in FAIR else 0
    return replace(asked, policy=policy, priority=_priority(policy), nice=nice)


def is_permitted(policy: str) -> bool:
    """Tells whether this process may use the policy now."""
    parameters = os.sched_param(_priority(policy))
    return refusal(lambda: os.sched_setscheduler(0, POLICY_NUMBERS[policy], parameters)) is None


def _priority(policy: str) -> int:
    """Returns the policy's lowest priority."""
    return PRIORITIES[0] if policy in REAL_TIME else 0
