# SPDX-License-Identifier: Apache-2.0
"""The lines of `lockyard check --json`. schema/check.schema.json is generated from these types."""

from __future__ import annotations

from functools import singledispatch
from typing import Annotated, Any

from msgspec import Meta, Struct

from lockyard.checks.clients import ClientSize
from lockyard.checks.mutations import MutationResult
from lockyard.checks.replay import replay_text
from lockyard.checks.result import Result, Standing
from lockyard.documents import AtLeastOne, Count


def _former_name_of(name: str) -> Meta:
    return Meta(
        description=f"The former name of `{name}`, for one more version.",
        extra_json_schema={"deprecated": True},
    )


class CheckDocument(Struct, frozen=True, tag_field="record", tag="check", kw_only=True):
    """The check of one client."""

    client: str
    group: str
    size: ClientSize
    search: str
    preemptions: Annotated[
        int | None, Meta(description="The bound: the requested one, or else the client's own.")
    ]
    expected: str
    verdict: str
    standing: Standing
    what: str
    coverage: str
    left_out: Annotated[str, Meta(description="Why not all executions were covered.")]
    bounded: Annotated[str, Meta(description="The caps that took effect.")]
    executions: Count
    states: Count
    cut: Count
    too_deep: Count
    seconds: float
    threads: AtLeastOne
    spins: Annotated[
        list[str], Meta(description="Lines of a user's code that are taken as loops that wait.")
    ]
    unseen: Annotated[
        list[str], Meta(description="Functions that a user's code calls, not seen by the checker.")
    ]
    steps: list[dict[str, Any]]
    replay: Annotated[str | None, Meta(description="For --replay, if the check failed.")]
    subject: Annotated[str, _former_name_of("client")]
    shape: Annotated[ClientSize, _former_name_of("size")]
    prefixes: Annotated[int, _former_name_of("states")]


class MutationDocument(Struct, frozen=True, tag_field="record", tag="mutation", kw_only=True):
    """One mutation of a lock, and whether a client killed it."""

    mutation: str
    source: str
    clients: Annotated[list[str], Meta(description="The locks and clients that run its line.")]
    outcome: str
    standing: Standing
    client: Annotated[str, Meta(description="The client that killed it, or the last one tried.")]
    size: ClientSize
    verdict: str
    what: str
    left_out: str
    checks: AtLeastOne
    reason: Annotated[str | None, Meta(description="Why it may survive.")]
    subjects: Annotated[list[str], _former_name_of("clients")]
    subject: Annotated[str, _former_name_of("client")]
    shape: Annotated[ClientSize, _former_name_of("size")]


class BenchDocument(Struct, frozen=True, tag_field="record", tag="bench"):
    """A speed of the checker, and its target."""

    figure: str
    executions: Count
    states: Count
    seconds: float
    states_per_s_per_core: float
    target_seconds: float | None
    target_states_per_s_per_core: float | None
    done: bool
    coverage: str
    met: bool


class BenchMemory(Struct, frozen=True, tag_field="record", tag="bench_memory"):
    peak_bytes: Count


@singledispatch
def document(_found: object) -> Struct:
    raise NotImplementedError


@document.register
def _(result: Result) -> CheckDocument:
    client, size = result.check.client, result.check.size
    return CheckDocument(
        client=client.name,
        group=client.group,
        size=size,
        search=result.check.settings.search,
        preemptions=result.bound,
        expected=client.expected,
        verdict=result.verdict,
        standing=result.standing,
        what=result.what,
        coverage=result.coverage,
        left_out=result.left_out,
        bounded=result.bounded,
        executions=result.executions,
        states=result.states,
        cut=result.cut,
        too_deep=result.too_deep,
        seconds=result.seconds,
        threads=result.lanes,
        spins=list(result.spins),
        unseen=list(result.unseen),
        steps=result.steps,
        replay=replay_text(result.check, result.choices) if result.choices else None,
        subject=client.name,
        shape=size,
        prefixes=result.states,
    )


@document.register
def _(found: MutationResult) -> MutationDocument:
    client, size = found.last.check.client.name, found.last.check.size
    clients = [each.name for each in found.mutation.clients]
    return MutationDocument(
        mutation=found.mutation.summary,
        source=found.mutation.key.source,
        clients=clients,
        outcome=found.outcome,
        standing=found.standing,
        client=client,
        size=size,
        verdict=found.last.verdict,
        what=found.last.what,
        left_out=found.last.left_out,
        checks=found.checks,
        reason=found.reason,
        subjects=clients,
        subject=client,
        shape=size,
    )
