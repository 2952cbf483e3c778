# SPDX-License-Identifier: Apache-2.0
"""What `lockyard hang` says of a look, for people and as JSON."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.field_kit.symbols import Symbols

if TYPE_CHECKING:
    from lockyard.field_kit.look import Look, Waiting
    from lockyard.field_kit.target import Target

SHOWN_WAITERS = 5
LONGEST_NAME = 60
# What a std::function calls is more telling than the function that calls it.
_HANDLER = re.compile(r"std::_Function_handler<.*?\), (.+)>::_M_invoke")


@dataclass
class Named:
    """A look with names for its threads, locks and functions."""

    look: Look
    threads: dict[int, str]
    locks: dict[int, str]  # by thread: what it waits for
    callers: dict[int, str]

    def thread(self, tid: int) -> str:
        name = self.threads.get(tid, "")
        return f"{tid} ({name})" if name else str(tid)


def named(target: Target, look: Look) -> Named:
    symbols = Symbols(target, look.maps)
    symbols.note_stacks(list(look.threads.values()))
    by_address = {
        address: symbols.variable(address)
        for address in {each.wait.address for each in look.waiting.values()}
    }
    return Named(
        look,
        target.names(sorted({*look.waiting, *look.owners.values()} & look.threads.keys())),
        {tid: by_address[each.wait.address] for tid, each in look.waiting.items()},
        {tid: symbols.caller(each.thread) for tid, each in look.waiting.items()},
    )


def lines(found: Named) -> list[str]:
    """Returns the verdict first, then the evidence."""
    return [*_verdict(found), *_roots(found), *_waits(found), *_looked(found.look)]


def _verdict(found: Named) -> list[str]:
    look, text = found.look, list[str]()
    for cycle in look.cycles:
        ring = " -> ".join(str(tid) for tid in [*cycle, cycle[0]])
        if cycle not in look.deadlocks:
            text.append(f"CYCLE that a time-out will end: {ring}")
        elif len(cycle) == 1:
            text.append(f"DEADLOCK: {found.thread(cycle[0])} waits for a lock that it holds itself")
        else:
            text.append(f"DEADLOCK of {len(cycle)} threads: {ring}")
        text += [f"  {_line(found, tid)}" for tid in cycle]
    for tid in look.orphans():
        text.append(
            f"STUCK: {found.thread(tid)} waits for a lock that no thread can unlock: its owner "
            f"{look.waiting[tid].wait.owner} has ended, or was left behind in the parent by a fork"
        )
        text.append(f"  {_line(found, tid)}")
    if not text:
        if look.saw_all:
            text.append(f"No deadlock among the {_count(len(look.threads), 'thread')}.")
        else:
            text.append("No deadlock was found, but not everything could be looked at:")
    text += _unseen(look)
    return text


def _unseen(look: Look) -> list[str]:
    text = []
    if look.unreadable:
        reasons = Counter(look.unreadable.values())
        why = ", ".join(f"{reason}: {count}" for reason, count in reasons.items())
        text.append(
            f"{_count(len(look.unreadable), 'thread')} could not be read ({why}), so a deadlock "
            "among them would be missed; run this as root or as the owner of the process"
        )
    if not look.libc.is_known:
        text.append(
            f"Owners of locks are unknown, so a deadlock would be missed ({look.libc.name}: "
            f"{look.libc.why_not}); look at the stacks of the threads, with --stacks"
        )
    return text


def _roots(found: Named) -> list[str]:
    text = []
    for root, waiters in found.look.roots().items():
        if found.look.has_ended(root):
            continue  # the verdict has it
        shown = _some([str(tid) for tid in waiters])
        waiting = found.look.waiting.get(root)
        doing = f"waits {_waits_for(found, waiting)}" if waiting else found.look.doing(root)
        waits = "waits" if len(waiters) == 1 else "wait"
        text.append(
            f"{_count(len(waiters), 'thread')} {waits} behind {found.thread(root)}, which {doing}: "
            f"{shown}"
        )
    return text


def _waits(found: Named) -> list[str]:
    look = found.look
    if not look.waiting:
        return ["No thread waits in the kernel for a lock, a condition or a futex."]
    shown = {*look.orphans(), *(tid for cycle in look.cycles for tid in cycle)}
    rest = [tid for tid in look.waiting if tid not in shown]
    groups = dict[str, list[int]]()
    for tid in rest:
        groups.setdefault(_line_after(found, tid), []).append(tid)
    text = ["", "waiting threads:"] if rest else []
    for after, tids in groups.items():
        if len(tids) == 1:
            text.append(f"  {found.thread(tids[0])} waits {after}")
        else:
            threads = _some([found.thread(tid) for tid in tids])
            text.append(f"  {len(tids)} threads wait {after}: {threads}")
    return text


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN_WAITERS])
    more = len(names) - SHOWN_WAITERS
    return f"{shown} and {more} more" if more > 0 else shown


def _line(found: Named, tid: int) -> str:
    return f"{found.thread(tid)} waits {_line_after(found, tid)}"


def _line_after(found: Named, tid: int) -> str:
    waiting = found.look.waiting[tid]
    moved = "" if waiting.is_steady else "; it ran between the two readings"
    caller = f", probably in {_short(found.callers[tid])}" if found.callers[tid] else ""
    return f"{_waits_for(found, waiting)}{caller}{moved}"


def _short(function: str) -> str:
    """Leaves the arguments out of the name of a function, and cuts what is still too long."""
    if inner := _HANDLER.search(function):
        function = inner[1]
    depth, kept = 0, ""
    for letter in function.replace("(anonymous namespace)::", ""):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and letter != ")":
            kept += letter
    kept = kept.removesuffix(" const")
    return kept if len(kept) <= LONGEST_NAME else kept[: LONGEST_NAME - 1] + "…"


def _waits_for(found: Named, waiting: Waiting) -> str:
    wait = waiting.wait
    limit = ", for a limited time" if wait.has_timeout else ""
    if wait.kind == "join":
        return f"for the end of {found.thread(wait.owner or 0)}{limit}"
    name = found.locks[waiting.thread.tid]
    text = f"for {wait.kind} {name}"
    if wait.owner is not None:
        text += f", held by {found.thread(wait.owner)}"
        if wait.is_shared and wait.owner not in found.look.threads:
            text += " of another process"
    if wait.detail:
        text += f", {wait.detail}"
    return text + limit


def _looked(look: Look) -> list[str]:
    program = os.path.basename(look.program)  # noqa: PTH119 - of the other process
    times = "twice" if look.readings > 1 else "once"
    seen = len(look.threads) + len(look.unreadable)
    ids = " Thread ids are from its own PID namespace." if look.has_own_ids else ""
    return [
        "",
        f"{program} ({look.pid}), {look.libc.name}: {len(look.threads)} of "
        f"{_count(seen, 'thread')} read {times} in {look.took_s * 1e3:.1f} ms.{ids}",
    ]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
