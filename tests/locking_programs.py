# SPDX-License-Identifier: Apache-2.0
"""Random programs with the locks of the C library, and what they may do.

Threads share a sequentially consistent word, and plain data under locks, so a search of the
interleavings decides.
"""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from interleavings import Step, Thread, states_before, states_that_reach

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
static pthread_mutex_t mutex[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t changed[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t count[2];
static const struct timespec limit = {100, 0};
static atomic_int word;
static int data, other, seen;
"""
WORD, DATA, OTHER = range(3)
FREE = -1
# A thread that is not asleep on a condition variable.
RUNS, WOKEN, TIMED_OUT = -1, -2, -3
MOST_SPURIOUS, MOST_EARLY = 1, 2  # the limits of the checker


class State(NamedTuple):
    places: tuple[int, ...]
    registers: tuple[int, ...]
    waits: tuple[int, ...]  # for which condition variable
    counts: tuple[int, int]
    cost: int  # 0: any number of wakes for no reason, and of deadlines that pass early
    spurious: int = MOST_SPURIOUS
    early: int = MOST_EARLY
    shared: tuple[int, int, int] = (0, 0, 0)  # word, data, other
    owners: tuple[int, int] = (FREE, FREE)
    readers: frozenset[int] = frozenset()
    writer: int = FREE
    arrived: frozenset[int] = frozenset()


def _with(values: tuple[Any, ...], index: int, value: object) -> tuple[Any, ...]:
    return (*values[:index], value, *values[index + 1 :])


def _after_lock(state: State, me: int, step: Step) -> State | None:
    """The state after a step with a lock; nothing if the thread has to wait, or it is another."""
    owner = state.owners[step.which] if step.does in {"lock", "unlock"} else FREE
    match step.does:
        case "lock" if owner == FREE:
            return state._replace(owners=_with(state.owners, step.which, me))
        case "unlock":
            return state._replace(owners=_with(state.owners, step.which, FREE))
        case "read" if state.writer == FREE:
            return state._replace(readers=state.readers | {me})
        case "write" if state.writer == FREE and not state.readers:
            return state._replace(writer=me)
        case "leave":
            writer = FREE if state.writer == me else state.writer
            return state._replace(readers=state.readers - {me}, writer=writer)
    return None


def _after_access(state: State, me: int, step: Step) -> State | None:
    """The same for what threads share, and for semaphores."""
    match step.does:
        case "take" if state.counts[step.which] > 0:
            left = state.counts[step.which] - 1
            return state._replace(counts=_with(state.counts, step.which, left))
        case "post":
            left = state.counts[step.which] + 1
            return state._replace(counts=_with(state.counts, step.which, left))
        case "load":
            register = 3 * state.registers[me] + state.shared[step.which]
            return state._replace(registers=_with(state.registers, me, register))
        case "add":
            value = state.shared[step.which] + 1
            return state._replace(shared=_with(state.shared, step.which, value))
        case "store":
            return state._replace(shared=_with(state.shared, step.which, step.value))
    return None


class Program:
    def __init__(self, seed: int) -> None:
        """Every second program is drawn until it has no fault, most others until a claim fails."""
        self.random = random.Random(seed)
        self.has_conditions = seed % 4 < 2
        self._draw()
        while seed % 2 == 0 and self.faults():
            self._draw()
        while seed % 6 in {1, 5} and "assertion" not in self.faults():
            self._draw()

    def _draw(self) -> None:
        self.counts = (self.random.randrange(2), self.random.randrange(2))
        self.threads = [self._thread() for _ in range(self.random.choice([2, 3, 3]))]
        self.parties = self.random.choice([2, len(self.threads)])
        # The register of the thread never ends with the value.
        loads = [[step.does for step in thread.steps].count("load") for thread in self.threads]
        self.claim = (loads.index(max(loads)), self.random.randrange(1, 4))

    def _thread(self) -> Thread:
        thread = Thread()
        for _ in range(self.random.choice([1, 1, 2] if self.has_conditions else [1, 2, 3])):
            if self.has_conditions:
                self._section(thread)
            else:
                self._operation(thread, frozenset())
        return thread

    def _section(self, thread: Thread) -> None:
        thread.add("pthread_mutex_lock(&mutex[0]);", Step("lock"))
        for _ in range(self.random.choice([1, 2, 2])):
            self._under_lock(thread)
        thread.add("pthread_mutex_unlock(&mutex[0]);", Step("unlock"))
        if self.random.random() < 0.3:
            self._signal(thread)

    def _under_lock(self, thread: Thread) -> None:
        kind = self.random.random()
        value, which = self.random.randrange(3), self.random.randrange(2)
        wait = f"(&changed[{which}], &mutex[0]"
        top = len(thread.steps)
        if kind < 0.3:
            thread.add(
                f"while (data < {value + 1}) pthread_cond_wait{wait});",
                Step("if data at least", value=value + 1, to=top + 3),
                Step("wait", which),
                Step("jump", to=top),
            )
        elif kind < 0.4:
            thread.add(f"pthread_cond_wait{wait});", Step("wait", which))
        elif kind < 0.5:
            thread.add(
                f"while (data < {value + 1}) if (pthread_cond_timedwait{wait}, &limit)) break;",
                Step("if data at least", value=value + 1, to=top + 4),
                Step("wait", which, has_limit=True),
                Step("if timed out", to=top + 4),
                Step("jump", to=top),
            )
        elif kind < 0.6:
            thread.add("v = 3 * v + data;", Step("load", DATA))
        elif kind < 0.8:
            thread.add(f"data = {value};", Step("store", DATA, value))
        else:
            self._signal(thread)

    def _signal(self, thread: Thread) -> None:
        which = self.random.randrange(2)
        how = self.random.choice(["signal", "signal", "broadcast"])
        thread.add(f"pthread_cond_{how}(&changed[{which}]);", Step(how, which))

    def _operation(self, thread: Thread, held: frozenset[str]) -> None:
        kind, which = self.random.random(), self.random.randrange(2)
        if kind < 0.25 and f"mutex {which}" not in held:
            thread.add(f"pthread_mutex_lock(&mutex[{which}]);", Step("lock", which))
            self._operation(thread, held | {f"mutex {which}"})
            thread.add(f"pthread_mutex_unlock(&mutex[{which}]);", Step("unlock", which))
        elif kind < 0.4 and "rwlock" not in held:
            self._read_or_write(thread, held)
        elif kind < 0.55:
            thread.add(f"sem_wait(&count[{which}]);", Step("take", which))
        elif kind < 0.7:
            thread.add(f"sem_post(&count[{which}]);", Step("post", which))
        elif kind < 0.75:
            thread.add("pthread_barrier_wait(&barrier);", Step("arrive"))
        elif kind < 0.9:
            thread.add("v = 3 * v + atomic_load(&word);", Step("load", WORD))
        else:
            thread.add("atomic_fetch_add(&word, 1);", Step("add", WORD))

    def _read_or_write(self, thread: Thread, held: frozenset[str]) -> None:
        if self.random.random() < 0.5:
            thread.add("pthread_rwlock_rdlock(&rwlock);", Step("read"))
            thread.add("v = 3 * v + other;", Step("load", OTHER))
        else:
            thread.add("pthread_rwlock_wrlock(&rwlock);", Step("write"))
            thread.add("++other;", Step("add", OTHER))
        self._operation(thread, held | {"rwlock"})
        thread.add("pthread_rwlock_unlock(&rwlock);", Step("leave"))

    def text(self) -> str:
        functions = "".join(
            f"static void* run{i}(void* unused) {{\nint v = 0;\n{thread.text}"
            f"{'seen = v;' if i == self.claim[0] else '(void)v;'}\nreturn unused;\n}}\n"
            for i, thread in enumerate(self.threads)
        )
        starts = "".join(
            f"pthread_create(&threads[{i}], NULL, run{i}, NULL);\n"
            for i in range(len(self.threads))
        )
        return (
            f"{HEAD}{functions}int main(void) {{\npthread_t threads[{len(self.threads)}];\n"
            f"sem_init(&count[0], 0, {self.counts[0]});\n"
            f"sem_init(&count[1], 0, {self.counts[1]});\n"
            f"pthread_barrier_init(&barrier, NULL, {self.parties});\n{starts}"
            f"for (int i = 0; i < {len(self.threads)}; ++i) pthread_join(threads[i], NULL);\n"
            f"assert(seen != {self.claim[1]});\n}}\n"
        )

    def _ends(self, state: State, thread: int) -> bool:
        return state.places[thread] == len(self.threads[thread].steps)

    def _go_on(self, state: State, thread: int, after: State | None = None) -> State:
        """Goes to the next step that another thread may notice, after one that led to `after`."""
        after = after or state
        has_timed_out = state.waits[thread] == TIMED_OUT
        steps, place = self.threads[thread].steps, state.places[thread] + 1
        while place < len(steps) and steps[place].does in {
            "if data at least",
            "if timed out",
            "jump",
        }:
            step = steps[place]
            jumps = (
                step.does == "jump"
                or (step.does == "if data at least" and after.shared[DATA] >= step.value)
                or (step.does == "if timed out" and has_timed_out)
            )
            place = step.to if jumps else place + 1
        return after._replace(places=_with(after.places, thread, place))

    def _after(self, state: State, me: int) -> Iterator[State]:
        """The states after the next step of a thread that is not asleep."""
        step = self.threads[me].steps[state.places[me]]
        if state.waits[me] in {WOKEN, TIMED_OUT}:
            if state.owners[0] == FREE:
                after = self._go_on(state, me)._replace(waits=_with(state.waits, me, RUNS))
                yield after._replace(owners=_with(state.owners, 0, me))
        elif step.does == "wait":
            waits = _with(state.waits, me, step.which)
            yield state._replace(waits=waits, owners=_with(state.owners, 0, FREE))
        elif step.does == "arrive":
            if me not in state.arrived:
                yield self._arrived(state, me)
        elif step.does in {"signal", "broadcast"}:
            yield from self._signalled(state, me, step)
        elif changed := _after_lock(state, me, step) or _after_access(state, me, step):
            yield self._go_on(state, me, changed)

    def _arrived(self, state: State, me: int) -> State:
        arrived = state.arrived | {me}
        if len(arrived) < self.parties:
            return state._replace(arrived=arrived)
        state = state._replace(arrived=frozenset())
        for each in arrived:
            state = self._go_on(state, each)
        return state

    def _signalled(self, state: State, me: int, step: Step) -> Iterator[State]:
        sleepers = [i for i, where in enumerate(state.waits) if where == step.which]
        count = len(sleepers) if step.does == "broadcast" else min(1, len(sleepers))
        for woken in combinations(sleepers, count):
            waits = tuple(WOKEN if i in woken else where for i, where in enumerate(state.waits))
            yield self._go_on(state, me, state._replace(waits=waits))

    def _without_signal(
        self, state: State, me: int, *, is_last: bool
    ) -> Iterator[tuple[State, bool]]:
        """The states after the end of a sleep, and whether it has to end then."""
        has_limit = self.threads[me].steps[state.places[me]].has_limit
        if state.spurious:
            waits = _with(state.waits, me, WOKEN)
            yield state._replace(waits=waits, spurious=state.spurious - state.cost), has_limit
        if has_limit and (state.early or is_last):
            waits = _with(state.waits, me, TIMED_OUT)
            early = state.early if is_last else state.early - state.cost
            yield state._replace(waits=waits, early=early), True

    def _next(self, state: State) -> Iterator[tuple[State, bool]]:
        left = [i for i in range(len(self.threads)) if not self._ends(state, i)]
        found = [after for i in left if state.waits[i] < 0 for after in self._after(state, i)]
        yield from ((after, True) for after in found)
        for i in left:
            if state.waits[i] >= 0:
                yield from self._without_signal(state, i, is_last=not found)

    def faults(self, *, is_limited: bool = False) -> set[str]:
        """Returns the kinds of faults that some execution has: any, or one within the limits."""
        count = len(self.threads)
        start = State((0,) * count, (0,) * count, (RUNS,) * count, self.counts, int(is_limited))
        before = states_before(start, self._next)
        lengths = tuple(len(thread.steps) for thread in self.threads)
        ends = [state for state in before if state.places == lengths]
        found: set[str] = set()
        if any(state.registers[self.claim[0]] == self.claim[1] for state in ends):
            found.add("assertion")
        if len(states_that_reach(ends, before)) < len(before):
            found.add("hang")
        return found
