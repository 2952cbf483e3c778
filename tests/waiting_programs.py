# SPDX-License-Identifier: Apache-2.0
"""Random programs whose threads wait with std::atomic::wait() or by a futex, and what they may do.

All accesses are sequentially consistent, and so is the kernel's look at a futex, so a search of the
interleavings decides. A sleep may end for no reason, but only one with a time limit has to; a
notification ends the sleep of one thread at least, whichever that is. Then a futex call returns,
and std::atomic::wait() looks again.

C++20 orders less than that: a thread whose wait() a notification has ended need not know why. It
may read an older value, and its own notification need not reach a thread that sleeps since a later
change, which has to happen before the notification ([atomics.wait]). `faults(wakes_order=False)`
finds the hangs that follow.
"""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from interleavings import Step, Thread, states_before, states_that_reach

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """#include <atomic>
#include <cassert>
#include <thread>
#include <vector>
static std::atomic<int> word[2];
static int seen;
"""
FUTEX = """#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <climits>
#include <ctime>
static const timespec second{1, 0};
static long futex(std::atomic<int>& on, int operation, int value, const timespec* limit = nullptr) {
  return syscall(SYS_futex, &on, operation, value, limit, nullptr, 0);
}
"""
WORDS = 2
AWAKE = -1
NO_CLAIM = (-1, -1)


class State(NamedTuple):
    places: tuple[int, ...]
    registers: tuple[int, ...]
    asleep: tuple[int, ...]  # on which word
    words: tuple[int, ...]
    unordered: tuple[int, ...] = ()  # threads whose notifications may reach no thread


class Program:
    def __init__(self, seed: int, *, has_futex: bool = False) -> None:
        """Most random programs hang, so every second one is drawn until it has no fault."""
        self.random = random.Random(seed)
        self.wakes_order = True
        self.has_futex = has_futex
        self.reads_results = has_futex and seed % 3 == 0
        self._draw()
        while seed % 2 == 0 and self.faults():
            self._draw()

    def _draw(self) -> None:
        self.words = self.random.choice([1, 1, 2])
        self.threads = [
            self._thread()
            for _ in range(self.random.choice([2, 3, 3, 4] if self.has_futex else [2, 3, 3, 3]))
        ]
        if len(self.threads) < 4 and self.random.random() < 0.3:
            self.threads.append(self.threads[-1])  # two that are alike
        alone = [i for i, thread in enumerate(self.threads) if self.threads.count(thread) == 1]
        # The register of that thread, which has a function of its own, never ends with the value.
        self.claim = (self.random.choice(alone), self.random.randrange(4)) if alone else NO_CLAIM

    def _thread(self) -> Thread:
        thread = Thread()
        for _ in range(self.random.choice([1, 2, 2, 3])):
            self._operation(thread)
        return thread

    def _operation(self, thread: Thread) -> None:
        word, value = self.random.randrange(self.words), self.random.randrange(3)
        name = f"word[{word}]"
        kind = self.random.random()
        if kind < 0.3:
            has_limit, is_read = self._has_limit(), self._is_read()
            text = self._wait(word, value, has_limit=has_limit)
            thread.add(
                f"v = 3 * v + ({text[:-1]} == 0);" if is_read else text,
                Step("wait", word, value, has_limit=has_limit, is_read=is_read),
            )
        elif kind < 0.4:
            self._wait_for_more(thread, word, max(value, 1))
        elif kind < 0.5:
            self._claim_turn(thread, word)
        elif kind < 0.6:
            thread.add(f"v = 3 * v + {name}.load();", Step("load", word))
        elif kind < 0.7:
            thread.add(f"v = 3 * v + {name}.exchange({value});", Step("exchange", word, value))
        else:
            change = self.random.choice(["store", "add"])
            call = f"store({value})" if change == "store" else "fetch_add(1)"
            thread.add(f"{name}.{call};", Step(change, word, value))
        if self.random.random() < 0.6:
            how = self.random.choice(["one", "two", "all"] if self.has_futex else ["one", "all"])
            count = {"one": "1", "two": "2", "all": "INT_MAX"}[how]
            is_read = self._is_read()
            wake = f"{'v = 3 * v + ' if is_read else ''}futex({name}, FUTEX_WAKE, {count});"
            text = wake if self.has_futex else f"{name}.notify_{how}();"
            thread.add(text, Step(how, word, is_read=is_read))

    def _is_read(self) -> bool:
        return self.reads_results and self.random.random() < 0.4

    def _has_limit(self) -> bool:
        return self.has_futex and self.random.random() < 0.25

    def _wait(self, word: int, value: int | str, *, has_limit: bool) -> str:
        if self.has_futex:
            return f"futex(word[{word}], FUTEX_WAIT, {value}{', &second' if has_limit else ''});"
        return f"word[{word}].wait({value});"

    def _wait_for_more(self, thread: Thread, word: int, least: int) -> None:
        top = len(thread.steps)
        has_limit = self._has_limit()
        wait = self._wait(word, "v", has_limit=has_limit)
        thread.add(
            f"while ((v = word[{word}].load()) < {least}) {wait}",
            Step("get", word),
            Step("if at least", word, least, top + 4),
            Step("wait for another", word, has_limit=has_limit),
            Step("jump", to=top),
        )

    def _claim_turn(self, thread: Thread, word: int) -> None:
        """A lock that its next owner takes with a value that says whether others may wait."""
        top = len(thread.steps)
        taken = self.random.choice([1, 2, 2])
        wait = self._wait(word, taken, has_limit=False)
        thread.add(
            f"while ((v = word[{word}].exchange({taken})) != 0) {wait}",
            Step("take", word, taken),
            Step("if at most", word, 0, top + 4),
            Step("wait", word, taken),
            Step("jump", to=top),
        )

    def text(self) -> str:
        first = [self.threads.index(thread) for thread in self.threads]
        functions = "".join(
            f"static void run{i}() {{\nint v = 0;\n{self.threads[i].text}"
            f"{'seen = v;' if i == self.claim[0] else '(void)v;'}\n}}\n"
            for i in sorted(set(first))
        )
        starts = "".join(f"all.emplace_back(run{i});\n" for i in first)
        claim = f"assert(seen != {self.claim[1]});\n"
        return (
            f"{HEAD}{FUTEX if self.has_futex else ''}{functions}"
            f"int main() {{\nstd::vector<std::thread> all;\n{starts}"
            f"for (std::thread& each : all) each.join();\n{claim}}}\n"
        )

    def _settle(self, thread: int, place: int, register: int) -> int:
        """Makes the steps that no other thread can notice."""
        steps = self.threads[thread].steps
        while place < len(steps) and steps[place].does in {"if at least", "if at most", "jump"}:
            step = steps[place]
            jumps = (
                step.does == "jump"
                or (step.does == "if at least" and register >= step.value)
                or (step.does == "if at most" and register <= step.value)
            )
            place = step.to if jumps else place + 1
        return place

    def _after(self, state: State, thread: int) -> Iterator[State]:
        """The states after the next step of a thread that is awake."""
        step = self.threads[thread].steps[state.places[thread]]
        found = state.words[step.which]
        register = state.registers[thread]
        asleep, words = list(state.asleep), list(state.words)
        expected = register if step.does == "wait for another" else step.value
        if step.does in {"wait", "wait for another"} and found == expected:
            asleep[thread] = step.which
            yield state._replace(asleep=tuple(asleep))
            return
        if step.does in {"load", "exchange"}:
            register = 3 * register + found
        elif step.does in {"get", "take"}:
            register = found
        if step.does in {"store", "exchange", "take"}:
            words[step.which] = step.value
        elif step.does == "add":
            words[step.which] += 1
        elif step.does == "wait" and step.is_read:
            register = 3 * register
        sleepers = [i for i, where in enumerate(asleep) if where == step.which]
        count = min({"one": 1, "two": 2, "all": len(sleepers)}.get(step.does, 0), len(sleepers))
        if step.does in {"one", "two", "all"} and step.is_read:
            register = 3 * register + count
        places, registers = list(state.places), list(state.registers)
        places[thread] = self._settle(thread, places[thread] + 1, register)
        registers[thread] = register
        after = state._replace(places=tuple(places), registers=tuple(registers), words=tuple(words))
        if count > 0 and thread in state.unordered:
            yield after
        for woken in combinations(sleepers, count):
            yield self._woken(after, list(woken))

    def _woken(self, state: State, threads: list[int], *, in_time: bool = True) -> State:
        asleep = (AWAKE if i in threads else where for i, where in enumerate(state.asleep))
        places, registers = list(state.places), list(state.registers)
        for i in threads if self.has_futex else []:
            if self.threads[i].steps[places[i]].is_read:
                registers[i] = 3 * registers[i] + in_time
            places[i] = self._settle(i, places[i] + 1, registers[i])
        unordered = state.unordered
        if not self.wakes_order:
            unordered = tuple(sorted({*unordered, *threads}))
        return State(tuple(places), tuple(registers), tuple(asleep), state.words, unordered)

    def _has_to_end(self, state: State, sleeper: int) -> bool:
        return self.threads[sleeper].steps[state.places[sleeper]].has_limit

    def _without_wake(self, state: State, sleeper: int) -> Iterator[State]:
        yield self._woken(state, [sleeper])
        if self._has_to_end(state, sleeper):
            yield self._woken(state, [sleeper], in_time=False)

    def _next(self, state: State) -> Iterator[tuple[State, bool]]:
        for i, place in enumerate(state.places):
            if place == len(self.threads[i].steps):
                continue
            if state.asleep[i] == AWAKE:
                yield from ((after, True) for after in self._after(state, i))
            else:
                has_to_end = self._has_to_end(state, i)
                yield from ((after, has_to_end) for after in self._without_wake(state, i))

    def faults(self, *, wakes_order: bool = True) -> set[str]:
        """Returns the kinds of faults that some execution has."""
        self.wakes_order = wakes_order or self.has_futex
        count = len(self.threads)
        start = State((0,) * count, (0,) * count, (AWAKE,) * count, (0,) * WORDS)
        before = states_before(start, self._next)
        lengths = tuple(len(thread.steps) for thread in self.threads)
        ends = [state for state in before if state.places == lengths]
        found: set[str] = set()
        thread, value = self.claim
        if self.claim != NO_CLAIM and any(state.registers[thread] == value for state in ends):
            found.add("assertion")
        if len(states_that_reach(ends, before)) < len(before):
            found.add("hang")
        return found
