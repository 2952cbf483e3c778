# SPDX-License-Identifier: Apache-2.0
"""The activity of each thread, from its stamps and switch records: when and where it ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.interrupts import Interrupts, with_interrupts_served
from lockyard.explain.stretches import (
    INTERRUPT_NS,
    NEVER,
    RETURN_NS,
    Doing,
    Stretches,
    brackets,
    inside,
    stretches,
    with_interrupts,
    with_returns,
    with_sleeps_entered,
)
from lockyard.explain.trace import NO_CPU, Kind, RingKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lockyard.explain.trace import Events, Ring, Trace

MOVED_AT_ONCE_NS = 50e3  # after a switch-out: the scheduler took the thread away to move it


# A thread that wants a processor and has none.
QUEUED = (Doing.PREEMPTED, Doing.YIELDED, Doing.WOKEN, Doing.MOVING)


@dataclass(frozen=True)
class Runnable:
    """A time in which a thread waited for a processor."""

    begin: int
    end: int
    cpu: int  # where it ran last, and most likely queues; -1 if unknown
    came_back_on: int


@dataclass(frozen=True)
class Thread:
    tid: int
    name: str
    stamps: Events
    stretches: Stretches
    wakers: dict[int, int]  # the thread that woke it, if known, by the time of the wake-up

    @property
    def label(self) -> str:
        return f"{self.name} {self.tid}" if self.name else str(self.tid)

    def all_runnable(self) -> list[Runnable]:
        """Returns the times in which the thread wanted a processor and had none, as far as records
        show both ends."""
        of = self.stretches
        queued = np.isin(of.doing, QUEUED)
        edges = np.diff(queued.astype(np.int8))
        firsts = np.flatnonzero(edges == 1) + 1
        lasts = np.flatnonzero(edges == -1) + 1
        lasts = lasts[lasts > firsts[0]] if len(firsts) else lasts[:0]
        # The processor of the last stretch that had one.
        known = np.maximum.accumulate(np.where(of.cpu >= 0, np.arange(len(of.cpu)), -1))
        return [
            Runnable(
                begin=int(of.begins[first]),
                end=int(of.begins[last]),
                cpu=int(of.cpu[known[first]]) if known[first] >= 0 else -1,
                came_back_on=int(of.cpu[last]),
            )
            for first, last in zip(firsts.tolist(), lasts.tolist(), strict=False)
        ]

    def runnable_at(self, moment: int) -> Runnable | None:
        """Returns the time around a moment in which the thread wanted a processor."""
        found = (each for each in self.all_runnable() if each.begin <= moment < each.end)
        return next(found, None)


def threads_of(trace: Trace) -> list[Thread]:
    records_of = _records(trace)
    at_once = round(MOVED_AT_ONCE_NS / trace.ns_per_tick)
    interrupt, back = (round(each / trace.ns_per_tick) for each in (INTERRUPT_NS, RETURN_NS))
    interrupts = Interrupts.of(trace)
    found = []
    for ring in {ring.tid: ring for ring in trace.of_kind(RingKind.STAMPS)}.values():
        events = _stamps(_with_call(ring.events[~_is_record(ring.events)], ring))
        records = records_of.get(ring.tid)
        known = trace.has_switches and records is not None
        records = events[:0] if records is None else records
        woken = records[records["kind"] == Kind.WOKEN]
        if known:
            its = _by_records(events, records, at_once)
            its = with_sleeps_entered(events, its)
            its = with_interrupts(events, its, interrupt)
            its = with_returns(events, its, back)
            its = with_interrupts_served(events, its, interrupts)
        else:
            its = _by_stamps(events)
        found.append(
            Thread(
                tid=ring.tid,
                name=ring.name,
                stamps=events,
                stretches=its if trace.is_ended else _until(_last(events, records), its),
                wakers={int(e["ticks"]): int(e["argument"]) for e in woken if e["argument"]},
            )
        )
    return found


def _is_record(events: Events) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (events["kind"] >= Kind.SWITCH_OUT) & (
        events["kind"] <= Kind.RECORDS_LOST
    )
    return found


def _records(trace: Trace) -> dict[int, Events]:
    """Returns the kernel's records of each thread: from the thread's own ring, from between its
    stamps, and from the shared ring, whose events name their threads."""
    found: dict[int, list[Events]] = {}
    for ring in trace.of_kind(RingKind.SWITCHES):
        if ring.tid:
            found.setdefault(ring.tid, []).append(ring.events)
    for ring in trace.of_kind(RingKind.STAMPS):
        if ring.has_switches:
            found.setdefault(ring.tid, []).append(ring.events[_is_record(ring.events)])
    for ring in trace.of_kind(RingKind.SWITCHES):
        for tid in [] if ring.tid else np.unique(ring.events["lock"]).tolist():
            found.setdefault(int(tid), []).append(ring.events[ring.events["lock"] == tid])
    return {tid: ordered(np.concatenate(parts)) for tid, parts in found.items()}


def _last(stamps: Events, records: Events) -> int:
    return int(max((part["ticks"].max() for part in (stamps, records) if len(part)), default=0))


def _until(last: int, known: Stretches) -> Stretches:
    """Cuts a trace that has not ended: what follows a thread's last event is not written yet."""
    kept = known.begins <= last
    return Stretches(
        np.append(known.begins[kept], last + 1),
        np.append(known.doing[kept], np.uint8(Doing.UNKNOWN)),
        np.append(known.cpu[kept], -1),
        np.append(known.since[kept], last + 1),
    )


def _with_call(stamps: Events, ring: Ring) -> Events:
    """Puts a call before the oldest stamps if they were made in one whose stamp was overwritten: a
    thread that yields or sleeps, and then acquires, had called."""
    of_lock = np.flatnonzero(stamps["kind"] <= Kind.RELEASED)
    if not ring.overwritten or not len(of_lock) or of_lock[0] == 0:
        return stamps
    first = stamps[of_lock[0]]
    if first["kind"] not in (Kind.ACQUIRED, Kind.FAILED):
        return stamps
    call = stamps[:1].copy()
    call["ticks"] -= 1  # at the latest, and before the time that all rings cover
    call["kind"], call["lock"], call["argument"] = Kind.CALLED, first["lock"], 0
    return np.concatenate([call, stamps])


def _stamps(events: Events) -> Events:
    """Returns the stamps in the order in which the thread wrote them, since clock readings may be
    inverted by nanoseconds. System calls belong to the lock that was being acquired or released."""
    stamps = events.copy()
    stamps["ticks"] = np.maximum.accumulate(stamps["ticks"]) if len(stamps) else stamps["ticks"]
    kinds = stamps["kind"]
    of_lock = kinds <= Kind.RELEASED
    last = np.maximum.accumulate(np.where(of_lock, np.arange(len(stamps)), 0))
    inside_one = np.isin(kinds[last], (Kind.CALLED, Kind.RELEASING))
    unnamed = ~of_lock & (stamps["lock"] == 0) & inside_one
    stamps["lock"][unnamed] = stamps["lock"][last[unnamed]]
    return stamps


def ordered(events: Events) -> Events:
    return events[np.argsort(events["ticks"], kind="stable")]


def _by_stamps(stamps: Events) -> Stretches:
    """Derives the stretches without records: only yields and the lock's sleep are known."""
    begins, doing = [-NEVER], [int(Doing.UNKNOWN)]
    for begin, end, what in (
        (Kind.YIELD_BEGIN, Kind.YIELD_END, Doing.YIELDED),
        (Kind.SLEEP_BEGIN, Kind.SLEEP_END, Doing.ASLEEP),
    ):
        for low, high in brackets(stamps, begin, end).tolist():
            begins += [low, high]
            doing += [what, Doing.UNKNOWN]
    nowhere = np.full(len(begins), -1)
    since = np.array(begins, np.int64)
    return stretches(since, np.array(doing), nowhere, since)


def _by_records(stamps: Events, records: Events, at_once: int) -> Stretches:
    kinds = (Kind.SWITCH_OUT, Kind.SWITCH_IN, Kind.RECORDS_LOST)
    switches = records[np.isin(records["kind"], kinds)]
    is_out = switches["kind"] == Kind.SWITCH_OUT
    is_lost = switches["kind"] == Kind.RECORDS_LOST
    ticks, cpus = switches["ticks"], _cpus(switches)
    forced = switches["argument"] == 1
    yields = brackets(stamps, Kind.YIELD_BEGIN, Kind.YIELD_END)
    sleeps = brackets(stamps, Kind.SLEEP_BEGIN, Kind.SLEEP_END)
    yielding, sleeping = inside(ticks, yields), inside(ticks, sleeps)
    # The state before a loss may have ended at any time until the loss.
    lost = is_lost | (is_out & np.append(is_out[1:], False)) | np.append(is_lost[1:], False)
    doing = np.select(
        [lost, ~is_out, forced & yielding, forced, sleeping],
        [Doing.UNKNOWN, Doing.RUNNING, Doing.YIELDED, Doing.PREEMPTED, Doing.ASLEEP],
        Doing.BLOCKED,
    )
    places = np.where(is_out | lost, -1, cpus)
    turns, then = _turns(records, ticks, doing, at_once)
    has_turn = turns != NEVER
    leaves = [
        _leaves(ticks, doing, calls, before)
        for calls, before in ((yields, Doing.YIELDED), (sleeps, Doing.ASLEEP))
    ]
    for ends, what in zip(leaves, (Doing.LEAVES_YIELD, Doing.LEAVES_SLEEP), strict=True):
        doing = np.where(ends != NEVER, what, doing)
    out = np.minimum(*leaves)
    is_out_first = out < np.append(ticks[1:], NEVER)
    return stretches(
        np.concatenate([[-NEVER], ticks, turns[has_turn], out[is_out_first]]),
        np.concatenate(
            [[_at_first(switches)], doing, then[has_turn], doing[is_out_first] * 0 + Doing.RUNNING]
        ),
        np.concatenate(
            [[_first_cpu(stamps, switches)], places, places[has_turn], places[is_out_first]]
        ),
        np.concatenate([[-NEVER], ticks, ticks[has_turn], out[is_out_first]]),
    )


def _leaves(
    ticks: NDArray[np.int64], doing: NDArray[np.int64], calls: NDArray[np.int64], before: Doing
) -> NDArray[np.int64]:
    """Returns, for each return to a processor within a call during which the thread had left it,
    the time when that call ended according to its stamp; NEVER for all other switches."""
    found = np.full(len(ticks), NEVER)
    went = ticks[doing == before]
    if not len(calls) or not len(went):
        return found
    within = (doing == Doing.RUNNING) & inside(ticks, calls)
    call = calls[np.maximum(np.searchsorted(calls[:, 0], ticks, side="right") - 1, 0)]
    last = np.searchsorted(went, ticks, side="left") - 1
    within &= (last >= 0) & (went[np.maximum(last, 0)] >= call[:, 0])
    found[within] = call[within, 1]
    return found


def _turns(
    records: Events, ticks: NDArray[np.int64], doing: NDArray[np.int64], at_once: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns, for each absence, when the thread was woken or sent to another processor; NEVER if
    it was not. A thread that is moved later than at once was preempted first, so the move did not
    cause its absence."""
    nexts = np.append(ticks[1:], NEVER)
    turns, then = np.full(len(ticks), NEVER), np.full(len(ticks), int(Doing.WOKEN))
    for kind, before, after, within in (
        (Kind.WOKEN, (Doing.ASLEEP, Doing.BLOCKED), Doing.WOKEN, NEVER),
        (Kind.MIGRATED, (Doing.PREEMPTED,), Doing.MOVING, at_once),
    ):
        moments = records["ticks"][records["kind"] == kind]
        if not len(moments):
            continue
        at = np.searchsorted(moments, ticks, side="left")
        first = moments[np.minimum(at, len(moments) - 1)]
        applies = np.isin(doing, before) & (at < len(moments)) & (first >= ticks) & (first < nexts)
        applies &= first - ticks <= within
        turns[applies], then[applies] = first[applies], after
    return turns, then


def _at_first(switches: Events) -> Doing:
    """Returns the first state: a thread that leaves its processor ran before."""
    if len(switches) and switches["kind"][0] != Kind.SWITCH_OUT:
        return Doing.UNKNOWN
    return Doing.RUNNING


def _first_cpu(stamps: Events, switches: Events) -> int:
    if len(switches):
        return int(_cpus(switches)[0]) if _at_first(switches) is Doing.RUNNING else -1
    stamped = _cpus(stamps)
    return int(stamped[0]) if len(stamped) else -1


def _cpus(events: Events) -> NDArray[np.int64]:
    cpus = events["cpu"].astype(np.int64)
    cpus[events["cpu"] == NO_CPU] = -1
    return cpus
