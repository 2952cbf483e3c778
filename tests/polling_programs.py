# SPDX-License-Identifier: Apache-2.0
"""Random programs whose threads look at data under locks until it changes, and what they may do.

A program has no weak accesses, so by C11 it is sequentially consistent unless it has a race, and a
race is two accesses that may be next to each other. So a search of the interleavings decides.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from interleavings import Step, Thread, states_before, states_that_reach

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
static int x0, x1;
static atomic_int flag;
static pthread_mutex_t m0 = PTHREAD_MUTEX_INITIALIZER, m1 = PTHREAD_MUTEX_INITIALIZER;
"""


class State(NamedTuple):
    places: tuple[int, ...]
    registers: tuple[tuple[int, ...], ...]
    data: tuple[int, int]
    flag: int
    owners: tuple[int, int]


class Program:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.in_blocks = self.random.random() < 0.3
        self.mutexes = 1 if self.in_blocks else self.random.choice([1, 1, 2])
        self.is_wild = self.random.random() < 0.3
        self.threads = [self._thread() for _ in range(self.random.choice([2, 2, 2, 3]))]
        # The order of steps is then searched without reduction.
        self.makes_a_key = self.random.random() < 0.3

    def _lock(self, thread: Thread, mutex: int) -> None:
        text = "__VERIFIER_atomic_begin();" if self.in_blocks else f"pthread_mutex_lock(&m{mutex});"
        thread.add(text, Step("lock", mutex))

    def _unlock(self, thread: Thread, mutex: int) -> None:
        text = "__VERIFIER_atomic_end();" if self.in_blocks else f"pthread_mutex_unlock(&m{mutex});"
        thread.add(text, Step("unlock", mutex))

    def _datum(self) -> tuple[int, int]:
        """Data and the mutex that protects it, or another one."""
        which = self.random.randrange(2)
        is_right = not self.is_wild or self.random.random() < 0.9
        return which, which % self.mutexes if is_right else self.random.randrange(self.mutexes)

    def _thread(self) -> Thread:
        thread = Thread()
        for _ in range(self.random.choice([1, 2, 2, 3])):
            kind = self.random.random()
            if kind < 0.4:
                self._poll(thread)
            elif kind < 0.52:
                self._exchange(thread)
            elif kind < 0.6:
                value = self.random.randrange(1, 3)
                thread.add(f"flag = {value};\n", Step("set flag", value))
            elif kind < 0.66 and self.is_wild:
                value = self.random.randrange(1, 3)
                thread.add(f"x0 = {value};\n", Step("write", 0, value))
            else:
                which, mutex = self._datum()
                self._lock(thread, mutex)
                for _ in range(self.random.choice([1, 1, 2])):
                    value = self.random.randrange(3)
                    thread.add(f"x{which} = {value};", Step("write", which, value))
                self._unlock(thread, mutex)
                thread.text += "\n"
        return thread

    def _exchange(self, thread: Thread) -> None:
        """A compare-exchange in a section, until it succeeds."""
        which, mutex = self._datum()
        old, new = self.random.randrange(2), self.random.randrange(1, 3)
        top = len(thread.steps)
        thread.text += "do {"
        self._lock(thread, mutex)
        thread.text += f"done = x{which} == {old}; if (done) x{which} = {new};"
        at = len(thread.steps)
        thread.steps += [
            Step("read", which, 2),
            Step("unless", 2, old, at + 5),
            Step("write", which, new),
            Step("put", 2, 1),
            Step("unless", 2, -1, at + 6),
            Step("put", 2, 0),
        ]
        self._unlock(thread, mutex)
        thread.add("} while (!done);\n", Step("if", 2, 0, top))

    def _poll(self, thread: Thread) -> None:
        top = len(thread.steps)
        thread.add("for (;;) {v = w = 0;", Step("put", 0, 0), Step("put", 1, 0))
        used = self.random.choice([1, 1, 2])
        for register in range(used):
            self._look(thread, register)
        tested, value = self.random.randrange(used), self.random.choice([0, 0, 1, 2])
        operator, test = self.random.choice([("==", "unless"), ("!=", "if"), ("!=", "if")])
        pause = self.random.choice(["", "", "sched_yield();"])
        thread.add(
            f"if ({'vw'[tested]} {operator} {value}) break; {pause}}}\n",
            Step(test, tested, value, top),
        )
        if self.random.random() < 0.3:
            claimed = self.random.randrange(3)
            thread.add(f"assert({'vw'[tested]} != {claimed});\n", Step("claim", tested, claimed))

    def _look(self, thread: Thread, register: int) -> None:
        kind = self.random.random()
        name = "vw"[register]
        which, mutex = self._datum()
        if kind < 0.15:
            self._lock(thread, mutex)
            self._unlock(thread, mutex)
            thread.add(f"{name} = flag;", Step("get flag", register))
        elif kind < 0.25 and self.is_wild:
            self._lock(thread, mutex)
            self._unlock(thread, mutex)
            thread.add(f"{name} = x{which};", Step("read", which, register))
        elif kind < 0.4 and self.mutexes == 2:
            self._lock(thread, 0)
            self._lock(thread, 1)
            thread.add(f"{name} = x{which};", Step("read", which, register))
            self._unlock(thread, 1)
            self._unlock(thread, 0)
        else:
            self._lock(thread, mutex)
            thread.add(f"{name} = x{which};", Step("read", which, register))
            self._unlock(thread, mutex)

    def text(self) -> str:
        numbers = range(len(self.threads))
        functions = "".join(
            f"static void* run{i}(void* unused) {{\nint v = 0, w = 0, done = 0;\n"
            f"{thread.text}return v + w + done == 99 ? unused : 0;\n}}\n"
            for i, thread in enumerate(self.threads)
        )
        key = "pthread_key_t key; pthread_key_create(&key, 0);\n" if self.makes_a_key else ""
        starts = "".join(f"pthread_create(&all[{i}], 0, run{i}, 0);\n" for i in numbers)
        joins = "".join(f"pthread_join(all[{i}], 0);\n" for i in numbers)
        return f"{HEAD}{functions}int main(void) {{\npthread_t all[3];\n{key}{starts}{joins}}}\n"

    def _settle(self, thread: int, place: int, registers: list[int]) -> tuple[int, tuple[int, ...]]:
        """Makes the steps that no other thread can notice."""
        steps = self.threads[thread].steps
        while place < len(steps) and steps[place].does in {"put", "if", "unless"}:
            step = steps[place]
            place += 1
            if step.does == "put":
                registers[step.which] = step.value
            elif (registers[step.which] == step.value) == (step.does == "if"):
                place = step.to
        return place, tuple(registers)

    def _after(self, state: State, thread: int, step: Step) -> State | None:
        """Returns the state after a step; none if the thread has to wait, or its claim fails."""
        registers = list(state.registers[thread])
        if step.does == "claim" and registers[step.which] == step.value:
            return None
        data, owners, flag = list(state.data), list(state.owners), state.flag
        if step.does == "lock":
            if owners[step.which] != -1:
                return None
            owners[step.which] = thread
        elif step.does == "unlock":
            owners[step.which] = -1
        elif step.does == "read":
            registers[step.value] = data[step.which]
        elif step.does == "write":
            data[step.which] = step.value
        elif step.does == "get flag":
            registers[step.which] = flag
        elif step.does == "set flag":
            flag = step.which
        place, kept = self._settle(thread, state.places[thread] + 1, registers)
        places, all_kept = list(state.places), list(state.registers)
        places[thread], all_kept[thread] = place, kept
        return State(
            tuple(places), tuple(all_kept), (data[0], data[1]), flag, (owners[0], owners[1])
        )

    def _next_steps(self, state: State) -> list[tuple[int, Step]]:
        return [
            (i, thread.steps[place])
            for i, (thread, place) in enumerate(zip(self.threads, state.places, strict=True))
            if place < len(thread.steps)
        ]

    def _faults_of(self, state: State) -> set[str]:
        """Returns the kinds of faults that may come next."""
        found = set()
        steps = self._next_steps(state)
        for which in range(2):
            uses = [s.does for _, s in steps if s.does in {"read", "write"} and s.which == which]
            if len(uses) > 1 and "write" in uses:
                found.add("race")
        if any(s.does == "claim" and state.registers[i][s.which] == s.value for i, s in steps):
            found.add("assertion")
        return found

    def _next(self, state: State) -> Iterator[tuple[State, bool]]:
        for i, step in self._next_steps(state):
            after = self._after(state, i, step)
            if after is not None:
                yield after, True

    def faults(self) -> set[str]:
        """Returns the kinds of faults that some execution has."""
        began = [self._settle(i, 0, [0, 0, 0]) for i in range(len(self.threads))]
        start = State(
            tuple(place for place, _ in began),
            tuple(kept for _, kept in began),
            (0, 0),
            0,
            (-1, -1),
        )
        before = states_before(start, self._next)
        faults = {state: self._faults_of(state) for state in before}
        ends = [
            state for state in before if not self._next_steps(state) or "assertion" in faults[state]
        ]
        found = set[str]().union(*faults.values())
        if len(states_that_reach(ends, before)) < len(before):
            found.add("hang")
        return found
