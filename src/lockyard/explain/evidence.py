# SPDX-License-Identifier: Apache-2.0
"""The evidence for each cause of a stall: the events, with their times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.causes import Cause, of_wait
from lockyard.explain.interrupts import NAMED, InterruptKind
from lockyard.explain.moments import NOBODY
from lockyard.explain.stretches import NEVER, ON_PROCESSOR, Doing
from lockyard.report.units import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lockyard.explain.moments import Moments
    from lockyard.explain.stalls import ExplainedLock, Explanation, Stall
    from lockyard.explain.threads import Runnable, Thread

PIECES_OF_A_CAUSE = 2
LEAST_SHARE = 0.05  # causes with a smaller share of a stall get no line

TURNED = (Doing.WOKEN, Doing.MOVING)
LEFT = {
    Doing.PREEMPTED: "was preempted",
    Doing.YIELDED: "yielded its processor",
    Doing.ASLEEP: "fell asleep in the lock",
    Doing.BLOCKED: "blocked or slept outside the lock",
}


@dataclass(frozen=True)
class Evidence:
    cause: Cause
    thread: str
    begin_ns: float  # since the beginning of the stall
    length_ns: float
    text: str


def evidence(explanation: Explanation, lock: ExplainedLock, stall: Stall) -> list[Evidence]:
    """Returns the longest times of each cause that has some weight."""
    moments = lock.moments(stall)
    causes = of_wait(moments)
    blamed = _blamed(moments, causes, stall.subject)
    teller = _Teller(explanation, lock, stall)
    found = []
    for cause in sorted(Cause, key=lambda each: -stall.amounts[each]):
        if stall.share(cause) < LEAST_SHARE:
            continue
        pieces = _pieces(moments, causes == cause, blamed, cause)
        weighty = [piece for piece in pieces if piece[2] - piece[1] >= LEAST_SHARE * stall.length]
        for at, begin, end in weighty[:PIECES_OF_A_CAUSE] or pieces[:1]:
            who = int(blamed[at])
            found.append(
                Evidence(
                    cause=cause,
                    thread=teller.thread(who),
                    begin_ns=explanation.trace.ns(begin - stall.begin),
                    length_ns=explanation.trace.ns(end - begin),
                    text=teller.text(cause, who, moments, at),
                )
            )
    return list({(each.cause, each.text): each for each in reversed(found)}.values())[::-1]


def _blamed(m: Moments, causes: NDArray[np.uint8], subject: int) -> NDArray[np.int64]:
    of_waiters = np.isin(
        causes,
        (
            Cause.WOKEN_LATE,
            Cause.WAKEUP_IN_FLIGHT,
            Cause.WOKEN_NOT_RUNNING,
            Cause.WAITER_NOT_RUNNING,
            Cause.FALLS_ASLEEP,
            Cause.TIMED_SLEEP,
        ),
    )
    sleeps_on = (m.subject.doing == Doing.ASLEEP) & ~m.subject.wake_sent & of_waiters
    sleeps_on |= ~m.subject_called & of_waiters
    instead = m.let_go & sleeps_on & (m.awoken.who != NOBODY)
    waiter = np.where(instead, m.awoken.who, subject)
    of_heir = ~m.passes_by | np.isin(causes, (Cause.BARGING, Cause.MACHINE_GAP))
    waiter = np.where(~m.held & m.heir_called & of_heir, m.heir.who, waiter)
    not_owner = (causes == Cause.MACHINE_GAP) & ~m.owner.in_gap & ~m.stopped
    not_owner |= (causes == Cause.MIGRATION) & (m.owner.doing != Doing.MOVING)
    return np.where(m.free | of_waiters | not_owner, waiter, m.owner.who)


def _pieces(
    m: Moments, chosen: NDArray[np.bool_], blamed: NDArray[np.int64], cause: Cause
) -> list[tuple[int, int, int]]:
    """Joins consecutive moments with one cause and one thread into pieces, the longest first: the
    index of the longest moment, begin, end. Many short holds together make one piece."""
    indices = np.flatnonzero(chosen)
    same = np.diff(indices) == 1
    if cause not in (Cause.BARGING, Cause.HELD_RUNNING):
        same &= np.diff(blamed[indices]) == 0
    runs = np.split(indices, np.flatnonzero(~same) + 1)
    lengths = m.ends - m.begins
    found = [
        (int(run[np.argmax(lengths[run])]), int(m.begins[run[0]]), int(m.ends[run[-1]]))
        for run in runs
    ]
    return sorted(found, key=lambda piece: piece[1] - piece[2])


class _Teller:
    def __init__(self, explanation: Explanation, lock: ExplainedLock, stall: Stall) -> None:
        self._explanation = explanation
        self._trace, self._threads = explanation.trace, explanation.threads
        self._idle = explanation.idle
        self._lock, self._stall = lock, stall

    def thread(self, who: int) -> str:
        return "no thread" if who == NOBODY else self._threads[who].label

    def text(self, cause: Cause, who: int, m: Moments, at: int) -> str:
        if cause is Cause.BARGING:
            return (
                f"{self._stall.overtakings} acquisitions by threads that called later than "
                f"{self.thread(self._stall.subject)}"
            )
        if cause is Cause.UNEXPLAINED:
            return self._without_evidence(m, at)
        if cause is Cause.HELD_RUNNING:
            hold = self._lock.history.holds
            index = int(m.hold[at])
            return (
                f"{self.thread(who)} held the lock from {self._at(int(hold.acquired[index]))} to "
                f"{self._at(int(hold.releasing[index]))} and ran"
            )
        if cause is Cause.MACHINE_GAP:
            return self._stopped(who, m, at)
        return f"{self._what_it_had(who, m, at)}{self._absence(who, int(m.begins[at]))}"

    def _stopped(self, who: int, m: Moments, at: int) -> str:
        """Describes how the machine stopped a thread."""
        if m.stopped[at]:
            return (
                f"{self._what_it_had(who, m, at)}{self.thread(who)} ran without a stamp, although "
                "most releases of this lock take less than a twentieth of that time"
            )
        if interrupt := self._interrupt(who, m, at):
            return f"{self._what_it_had(who, m, at)}{interrupt}"
        if m.heir_stopped[at] and who == int(m.heir.who[at]):
            return (
                f"{self.thread(who)} ran without a stamp{self._or_a_pause(m, at)} on its way to "
                "the lock, although 99 in 100 such acquisitions of this lock take less than a "
                "twentieth of that time"
            )
        return f"{self.thread(who)} ran on a processor that stopped without a context switch"

    def _or_a_pause(self, m: Moments, at: int) -> str:
        holds, heir = self._lock.history.holds, int(m.hold[at]) + 1
        return "" if holds.prior[heir] == NEVER else " or a pause"

    def _interrupt(self, who: int, m: Moments, at: int) -> str | None:
        """Describes the interrupt that the thread's processor served."""
        stretches = self._threads[who].stretches
        index = int(stretches.at(m.begins[at : at + 1])[0])
        if Doing(int(stretches.doing[index])) is not Doing.SERVES_INTERRUPT:
            return None
        cpu, begin, end = int(stretches.cpu[index]), int(stretches.begins[index]), int(m.ends[at])
        interrupts = self._explanation.interrupts
        served = interrupts.within(cpu, begin, end + interrupts.around)
        if served is None:
            return None
        kind = InterruptKind(int(served["lock"]))
        length = self._trace.ns(int(served["argument"]))
        return (
            f"{self.thread(who)} made no stamp from {self._at(begin)} on, because cpu {cpu} served "
            f"{NAMED[kind]} at {self._at(int(served['ticks']))}"
            + (f" for {duration(length)}" if length else "")
        )

    def _what_it_had(self, who: int, m: Moments, at: int) -> str:
        if m.heir_has_it[at] and who == int(m.heir.who[at]):
            return "owned the lock according to its later stamp, while others ran without it: "
        if who != int(m.owner.who[at]) or m.free[at]:
            return ""
        holds, index = self._lock.history.holds, int(m.hold[at])
        if m.releasing[at]:
            return f"in its release since {self._at(int(holds.releasing[index]))}, "
        return f"holding since {self._at(int(holds.acquired[index]))}, "

    def _absence(self, who: int, moment: int) -> str:
        """Describes how a thread left its processor, and every step until it came back."""
        thread = self._threads[who]
        stretches = thread.stretches
        at = int(stretches.at(np.array([moment]))[0])
        doing = Doing(int(stretches.doing[at]))
        if doing in (Doing.LEAVES_YIELD, Doing.LEAVES_SLEEP):
            call = "yield" if doing is Doing.LEAVES_YIELD else "sleep"
            out = int(stretches.begins[at + 1]) if at + 1 < len(stretches.begins) else NEVER
            return (
                f"{thread.label} came back at {self._at(int(stretches.begins[at]))}"
                f"{_place(stretches.cpu, at)}, and was out of its {call} at {self._at(out)}"
            )
        if doing is Doing.FALLS_ASLEEP:
            return self._entered(thread, at)
        if doing is Doing.RETURNS:
            return self._way_back(thread, self._left_before(thread, at), moment)
        if doing not in (*ON_PROCESSOR, Doing.UNKNOWN):
            return self._way_back(thread, at - 1 if doing in TURNED else at, moment)
        if doing is not Doing.INTERRUPTED:
            return f"{thread.label} was on its way back"
        gone = int(stretches.begins[at + 1])
        since = (
            f"{thread.label} made no stamp after {self._at(int(stretches.begins[at]))}, and then "
        )
        return since + self._way_back(thread, at + 1, gone)

    @staticmethod
    def _left_before(thread: Thread, at: int) -> int:
        """Returns the stretch with which the thread left its processor before a return."""
        while at > 0 and Doing(int(thread.stretches.doing[at])) not in LEFT:
            at -= 1
        return at

    def _entered(self, thread: Thread, at: int) -> str:
        """Describes a sleep that was called while the lock was free or being freed."""
        stretches = thread.stretches
        begin = self._at(int(stretches.begins[at]))
        end = int(stretches.begins[at + 1]) if at + 1 < len(stretches.begins) else NEVER
        slept = end != NEVER and Doing(int(stretches.doing[at + 1])) is Doing.ASLEEP
        return (
            f"{thread.label} called the sleep at {begin}{_place(stretches.cpu, at)}, and "
            f"{'fell asleep' if slept else 'left it without sleeping'} at {self._at(end)}"
        )

    def _way_back(self, thread: Thread, left: int, moment: int) -> str:
        stretches = thread.stretches
        runnable = thread.runnable_at(moment)
        parts = [
            f"{thread.label} {LEFT[Doing(int(stretches.doing[left]))]} at "
            f"{self._at(int(stretches.since[left]))}{_place(stretches.cpu, left - 1)}"
        ]
        for each in range(left + 1, len(stretches.begins)):
            begin, what = int(stretches.begins[each]), Doing(int(stretches.doing[each]))
            if what is Doing.WOKEN:
                waker = thread.wakers.get(begin)
                by = self._by_tid(waker) if waker is not None else ""
                parts.append(f"was woken at {self._at(begin)}{by}")
            elif what is Doing.MOVING:
                parts.append(f"was moved to another processor at {self._at(begin)}")
            else:
                never = "never came back" if begin == NEVER else f"came back at {self._at(begin)}"
                parts.append(f"{never}{_place(stretches.cpu, each)}")
                break
        else:
            parts.append("did not come back")
        parts += self._wasted(runnable)
        return ", ".join(parts)

    def _wasted(self, runnable: Runnable | None) -> Iterator[str]:
        """Names processors that had nothing to run while the thread waited for another one."""
        if runnable is None:
            return
        for cpu, ticks in self._idle.elsewhere(runnable):
            queue = f" queued on cpu {runnable.cpu}" if runnable.cpu >= 0 else ""
            moved = (
                f", until it was moved there at {self._at(runnable.end)}"
                if runnable.came_back_on == cpu != runnable.cpu
                else ""
            )
            yield (
                f"could have run{queue} while cpu {cpu} was idle for "
                f"{duration(self._trace.ns(ticks))}{moved}"
            )

    def _by_tid(self, tid: int) -> str:
        known = {thread.tid: thread.label for thread in self._threads}
        return f" by {known.get(tid, tid)}"

    def _without_evidence(self, m: Moments, at: int) -> str:
        if m.free[at]:
            who = int(m.heir.who[at]) if m.heir_called[at] else self._stall.subject
            doing = Doing(int(m.heir.doing[at] if m.heir_called[at] else m.subject.doing[at]))
            state = "the lock was free"
        elif m.held[at] or m.releasing[at]:
            who, doing = int(m.owner.who[at]), Doing(int(m.owner.doing[at]))
            state = "the lock was held" if m.held[at] else "the lock was being released"
        else:
            return "the trace no longer shows who had the lock"
        known = "nothing is recorded of" if doing is Doing.UNKNOWN else f"{doing.name.lower()}:"
        return f"{state}; {known} {self.thread(who)}"

    def _at(self, ticks: int) -> str:
        if abs(ticks) == NEVER:
            return "the end" if ticks > 0 else "before the trace"
        ns = self._trace.ns(ticks - self._stall.begin)
        return f"{'−' if ns < 0 else '+'}{duration(abs(ns))}"


def _place(cpus: NDArray[np.int64], index: int) -> str:
    return f" (cpu {cpus[index]})" if 0 <= index < len(cpus) and cpus[index] >= 0 else ""
