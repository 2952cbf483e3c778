# SPDX-License-Identifier: Apache-2.0
"""Explains a failure of the kind `lifetime`: which use of an object is not ordered with its end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ENDS = re.compile(
    r"(.+) (?:is destroyed|is built over|ends) although another thread's use does not happen before"
)
DESTROYER = "program.cpp:"  # the checker's own code, in which the last owner destroys the lock
USED = " used after its end"


def with_other_use(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the steps; the last one names the last use that does not happen before the end."""
    ends = ENDS.fullmatch(steps[-1]["text"]) if steps else None
    if ends is None or steps[-1].get("conflicts_with") is not None:
        return steps
    earlier = _before_last(steps)
    for number in reversed(range(len(steps) - 1)):
        if steps[number].get("word") == ends[1] and number not in earlier:
            return [*steps[:-1], {**steps[-1], "conflicts_with": number}]
    return steps


def _before_last(steps: Sequence[dict[str, Any]]) -> set[int]:
    """Returns the numbers of the steps that happen before the last one."""
    found: set[int] = set()
    open_ones = [len(steps) - 1]
    while open_ones:
        at = open_ones.pop()
        thread = steps[at]["thread"]
        own = next((i for i in reversed(range(at)) if steps[i]["thread"] == thread), None)
        new = {*steps[at].get("after", ()), *(() if own is None else (own,))} - found
        found |= new
        open_ones += new
    return found


def advice(steps: Sequence[dict[str, Any]]) -> str:
    """Says how a lock may fail that its last owner destroys after its unlock(); empty for failures
    of another kind."""
    rule = "unlock() must not use the lock after the step that lets the next owner in"
    last = steps[-1] if steps else {"text": "", "where": None}
    other = last.get("conflicts_with")
    is_end_of_lock = ENDS.fullmatch(last["text"]) and (last["where"] or "").startswith(DESTROYER)
    if is_end_of_lock and other is not None:
        use = steps[other]
        where = f" ({use['where']})" if use["where"] else ""
        return (
            f"T{last['thread']}, the last owner, destroys the lock after its unlock(). The use by "
            f"T{use['thread']} in line {other}{where} does not happen before that: {rule}."
        )
    if USED in last["text"]:
        return (
            "The last owner destroys the lock after its unlock(). If the memory belongs to the "
            f"lock, T{last['thread']} uses it too late: {rule}."
        )
    return ""
