# SPDX-License-Identifier: Apache-2.0
"""What `lockyard explain` says of a profile: its longest waits, one by one."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from lockyard.field_kit.profile_text import described, duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lockyard.field_kit.contention import Contention, LongWait

SHOWN_FRAMES = 6


@dataclass(frozen=True)
class Chosen:
    """The waits that were asked for."""

    locks: Sequence[str]  # all if there are none
    top: int
    longer_than_ns: float

    def of(self, found: Contention) -> list[LongWait]:
        waits = [
            each
            for each in found.long_waits
            if each.wait_ns >= self.longer_than_ns and (not self.locks or each.lock in self.locks)
        ]
        return sorted(waits, key=lambda each: -each.wait_ns)


def lines(processes: Iterable[Contention], chosen: Chosen) -> Iterator[str]:
    for found in processes:
        waits = chosen.of(found)
        program = os.path.basename(found.process.program)  # noqa: PTH119 - of the program
        yield f"{program} ({found.process.pid}): {_summary(waits)}"
        for wait in waits[: chosen.top]:
            yield ""
            yield from _told(wait)


def _summary(waits: list[LongWait]) -> str:
    if not waits:
        return "no such wait was recorded"
    by_cause = defaultdict[str, float](float)
    for wait in waits:
        by_cause[wait.cause] += wait.wait_ns
    total = sum(by_cause.values())
    ranked = sorted(by_cause.items(), key=lambda each: -each[1])
    causes = ", ".join(f"{ns / total:.0%} {described(cause)}" for cause, ns in ranked)
    return f"{len(waits)} long waits, {duration(total)} in all: {causes}"


def _told(wait: LongWait) -> Iterator[str]:
    name = f" ({wait.thread_name})" if wait.thread_name else ""
    yield (
        f"{duration(wait.wait_ns)} at {duration(wait.begin_ns)}: thread {wait.thread}{name} waited "
        f"for {wait.kind} {wait.lock}"
    )
    call = f" in {wait.system_call}" if wait.system_call else ""
    others = f"; {wait.others_first} acquisitions by others" if wait.others_first else ""
    yield f"  cause   {described(wait.cause)}{call}{others}"
    yield f"  waiter  {_stack(wait.waiter)}"
    holder = f" (thread {wait.holder_thread})" if wait.holder_thread else ""
    yield f"  holder  {_stack(wait.holder)}{holder}"


def _stack(functions: list[str]) -> str:
    return " < ".join(functions[:SHOWN_FRAMES]) if functions else "unknown"


def document(processes: Iterable[Contention], chosen: Chosen) -> dict[str, Any]:
    waits = [wait for found in processes for wait in chosen.of(found)[: chosen.top]]
    return {"schema": 1, "waits": msgspec.to_builtins(waits)}
