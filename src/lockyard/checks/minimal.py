# SPDX-License-Identifier: Apache-2.0
"""Looks for a failing execution that is easier to read: with fewer preemptions, and shorter."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from lockyard.measure.session import say

if TYPE_CHECKING:
    from lockyard.checks.result import Result
    from lockyard.checks.session import Session

BUDGET_S = 10.0  # for all searches after one failure
MOST_PREEMPTIONS = 3


def minimised(session: Session, result: Result) -> Result:
    """Returns the result with the easiest execution that was found in the time."""
    settings = result.check.settings
    if not result.found_fault or settings.search != "exhaustive" or settings.bounds:
        return result
    say(f"{result.check.label}: looks for a simpler execution that fails, {BUDGET_S:g} s at most")
    end_s = time.monotonic() + BUDGET_S

    def search(bound: int, depth: int | None) -> Result | None:
        left_s = end_s - time.monotonic()
        if left_s <= 0 or session.interrupted:
            return None
        bounded = replace(settings, bound=bound, depth=depth, seconds=left_s)
        found = session.result(replace(result.check, settings=bounded))
        return found if found.verdict == result.verdict and found.steps else None

    for bound in range(MOST_PREEMPTIONS + 1):
        if found := search(bound, None):
            break
    else:
        return result
    least, most = 1, len(found.steps)
    while least < most:
        middle = (least + most) // 2
        if shorter := search(bound, middle):
            found, most = shorter, min(middle, len(shorter.steps))
        else:
            least = middle + 1
    if len(found.steps) > len(result.steps):
        return result
    of_search = ("executions", "states", "cut", "seconds", "left_out", "bounded")
    kept = {name: getattr(result, name) for name in of_search}
    shown = replace(found.check, settings=replace(settings, bound=bound))
    return replace(found, check=shown, bound=result.bound, **kept)
