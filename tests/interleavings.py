# SPDX-License-Identifier: Apache-2.0
"""Random programs as graphs of states, in which every interleaving is a path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

S = TypeVar("S", bound="Hashable")


class Step(NamedTuple):
    """An instruction of a thread on its register; `to` is where a jump goes."""

    does: str
    which: int = 0  # the index of the word or lock
    value: int = 0
    to: int = 0
    has_limit: bool = False
    is_read: bool = False  # the result of the call


@dataclass
class Thread:
    """The same code twice: in C or C++, and as instructions."""

    text: str = ""
    steps: list[Step] = field(default_factory=list)

    def add(self, text: str, *steps: Step) -> None:
        self.text += text + "\n"
        self.steps += steps


def states_before(start: S, after: Callable[[S], Iterable[tuple[S, bool]]]) -> dict[S, list[S]]:
    """Returns for each state that can be reached those from which a step leads to it that has to
    come in the end. `after` yields the next states, and whether the step is one."""
    before: dict[S, list[S]] = {start: []}
    waiting = [start]
    while waiting:
        state = waiting.pop()
        for found, has_to_come in after(state):
            if found not in before:
                before[found] = []
                waiting.append(found)
            if has_to_come:
                before[found].append(state)
    return before


def states_that_reach(ends: Iterable[S], before: dict[S, list[S]]) -> set[S]:
    waiting = list(ends)
    reached = set(waiting)
    while waiting:
        for state in before[waiting.pop()]:
            if state not in reached:
                reached.add(state)
                waiting.append(state)
    return reached
