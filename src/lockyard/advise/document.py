# SPDX-License-Identifier: Apache-2.0
"""The output of `lockyard advise --json`: schema/advice.schema.json is generated from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from lockyard.advise.text import price

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.advise.choice import Advice, Candidate


class UseDocument(Struct, kw_only=True):
    """A use of a lock."""

    lock: Annotated[str | None, Meta(description="The program's lock, if one was profiled.")]
    threads: int
    hold_ns: float
    gap_ns: float


class CandidateDocument(Struct, kw_only=True):
    """A lock with its figures for the use."""

    lock: str
    operations_per_s: float
    wait_p999_ns: float | None
    wait_tail_ns: Annotated[
        float | None,
        Meta(description="Median of the runs' percentiles; null if too few runs have one."),
    ]
    wait_max_ns: float | None
    cpu_share: float | None
    fairness_jain: float | None
    size_bytes: int | None


class UseAdvice(Struct, kw_only=True):
    """The advice for one use."""

    use: UseDocument
    by: Literal["tail", "rate"]
    tail_share: Annotated[
        float,
        Meta(
            description="The percentile by which all tails are compared: 0.999, or less where a "
            "lock has too few waits."
        ),
    ]
    source: Annotated[str, Meta(description="Where the figures are from.")]
    lock: str
    runner_up: str | None
    price: Annotated[
        list[str],
        Meta(description="The disadvantages of the lock: figures in which another lock is better."),
    ]
    locks: Annotated[list[CandidateDocument], Meta(description="The best first.")]


class AdviceDocument(Struct, tag_field="record", tag="advice", kw_only=True):
    """Which lock to use."""

    schema: Literal[1] = 1
    remarks: list[str]
    advice: list[UseAdvice]


def document(answers: Sequence[Advice], remarks: Sequence[str]) -> AdviceDocument:
    return AdviceDocument(remarks=list(remarks), advice=[_advice(each) for each in answers])


def _advice(of: Advice) -> UseAdvice:
    use = of.use
    return UseAdvice(
        use=UseDocument(
            lock=use.name or None, threads=use.threads, hold_ns=use.hold_ns, gap_ns=use.gap_ns
        ),
        by="tail" if of.by_tail else "rate",
        tail_share=of.tails.share,
        source=of.source,
        lock=of.best.lock.name,
        runner_up=of.runner_up.lock.name if of.runner_up else None,
        price=list(price(of)),
        locks=[_candidate(each) for each in of.ranked],
    )


def _candidate(of: Candidate) -> CandidateDocument:
    return CandidateDocument(
        lock=of.lock.name,
        operations_per_s=of.rate_per_s,
        wait_p999_ns=of.wait.histogram("wait").percentile(0.999),
        wait_tail_ns=of.tail_ns,
        wait_max_ns=of.longest_ns,
        cpu_share=of.cpu_share,
        fairness_jain=of.fairness,
        size_bytes=of.lock.size_bytes,
    )
