# SPDX-License-Identifier: Apache-2.0
"""One check and its result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from lockyard.checks import lifetimes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockyard.checks.clients import Client, ClientSize

FOUND_FAULTS = ("race", "assertion", "hang", "lifetime")
SAMPLED = "sampled"
ANY_BOUND = -1  # no bound on preemptions, not even the client's own

# What no search covers; docs/checking.md says more.
NOT_COVERED = "load buffering, other sizes of the client, and faults of compilers and processors"


@dataclass(frozen=True)
class Settings:
    """The settings of a search."""

    search: str = "exhaustive"
    bound: int | None = None  # on preemptions; None: the client's own, if it has one
    seconds: float | None = None  # for each check
    memory_bytes: int = 2 << 30
    workers: int = 1
    cache: bool = True
    depth: int | None = None  # most steps of an execution

    @property
    def bounds(self) -> range:
        """Returns the bounds on preemptions to search with in turn; none: one search."""
        return range(1, (self.bound or 0) + 1)

    def by_bound(self) -> list[Settings]:
        """Returns settings for each bound in turn: most faults need few preemptions."""
        return [replace(self, bound=bound) for bound in self.bounds] or [self]

    def to_job(self) -> dict[str, Any]:
        deep = {} if self.depth is None else {"depth": self.depth}
        return {
            **deep,
            "search": self.search,
            "preemptions": self.bound,
            "seconds": self.seconds or 0,
            "memory_bytes": self.memory_bytes,
            "workers": self.workers,
            "cache": self.cache,
        }


class Standing(StrEnum):
    EXPECTED = "expected"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Check:
    client: Client
    size: ClientSize
    settings: Settings
    mutation: dict[str, Any] | None = None

    @property
    def label(self) -> str:
        return f"{self.client.name} {self.size.words}"

    def to_job(self) -> dict[str, Any]:
        return {
            "ask": "check",
            "client": self.client.name,
            **self.size.to_json(),
            **self.settings.to_job(),
            "mutation": self.mutation,
        }


@dataclass(frozen=True)
class Result:
    check: Check
    verdict: str
    what: str = ""
    executions: int = 0
    states: int = 0
    cut: int = 0
    too_deep: int = 0
    left_out: str = ""  # why not all executions were covered
    bounded: str = ""  # the caps that took effect, such as "early time-outs <= 2"
    seconds: float = 0.0
    steps: list[dict[str, Any]] = field(default_factory=list)
    choices: str = ""
    bound: int | None = None  # on preemptions: the requested one, or else the client's own
    threads: int | None = None  # of the client, if it has its own number
    spins: tuple[str, ...] = ()  # lines that are taken as loops that wait
    unseen: tuple[str, ...] = ()  # functions that a user's code calls, unseen by the checker

    @classmethod
    def of(cls, check: Check, answer: dict[str, Any]) -> Result:
        """Converts an answer; a pass without full coverage becomes inconclusive."""
        keys = ("what", "executions", "cut", "too_deep", "left_out", "seconds", "steps")
        values = {key: answer[key] for key in keys}
        values |= {"states": answer["states"]}
        values |= {"choices": answer["replay"], "bound": answer["preemptions"]}
        values |= {"bounded": answer.get("bounded", ""), "threads": answer.get("threads")}
        values["steps"] = lifetimes.with_other_use(values["steps"])
        values["spins"] = tuple(answer.get("spins", ()))
        found = cls(check, answer["verdict"], **values)
        is_open = found.left_out and not (found.sampled and found.too_deep < found.executions)
        if found.verdict == "passed" and is_open:
            return replace(found, verdict="inconclusive")
        return found

    @property
    def found_fault(self) -> bool:
        return self.verdict in FOUND_FAULTS

    @property
    def lanes(self) -> int:
        """Returns the number of threads, besides the client's own code."""
        return self.threads or self.check.size.threads

    @property
    def sampled(self) -> bool:
        return self.left_out == SAMPLED and self.check.settings.search != "exhaustive"

    @property
    def standing(self) -> Standing:
        if self.verdict == "inconclusive":
            return Standing.INCONCLUSIVE
        if self.verdict == self.check.client.expected:
            return Standing.EXPECTED
        return Standing.INCONCLUSIVE if self.sampled else Standing.FAILED

    @property
    def coverage(self) -> str:
        """Says how many of the executions the result covers."""
        if self.verdict in ("crashed", "not deterministic"):
            return "none"
        if self.found_fault:
            return "until it failed"
        if self.sampled and self.too_deep < self.executions:
            deep = f", {self.too_deep} of them cut at the depth limit" if self.too_deep else ""
            return f"sampled {self.executions:,} executions{deep}"
        if self.left_out:
            deep = "each sampled execution was cut at the depth limit"
            return f"inconclusive: {deep if self.sampled else self.left_out}"
        bounds = "" if self.bound is None else f"preemptions <= {self.bound}"
        if not self.bounded:
            return bounds or "exhaustive"
        return "bounded: " + (f"{bounds}, {self.bounded}" if bounds else self.bounded)


def unseen(results: Iterable[Result]) -> list[str]:
    """Returns the functions that the code of any check calls, unseen by the checker."""
    return list(dict.fromkeys(name for each in results for name in each.unseen))


def not_covered(results: Iterable[Result]) -> str:
    """Says what the passes leave open; a list of the unseen functions follows."""
    return NOT_COVERED + (", nor races on what the functions below use" if unseen(results) else "")
