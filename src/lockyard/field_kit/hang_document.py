# SPDX-License-Identifier: Apache-2.0
"""The output of `lockyard hang --json`. schema/hang.schema.json is generated from these types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lockyard.field_kit.waits import Kind

if TYPE_CHECKING:
    from lockyard.field_kit.hang_text import Named

Tids = list[int]


class LibcDocument(Struct):
    """The C library; is_known: the layouts of its objects are known; why: why not."""

    name: str
    is_known: bool
    why: str


class RootDocument(Struct):
    """A thread that others wait for, and that waits for no owner itself."""

    thread: int
    name: str
    does: str
    waiters: Tids


class WaitingDocument(Struct, kw_only=True):
    """A thread that waits."""

    thread: int
    name: str
    kind: Kind
    address: Annotated[int, Meta(description="Of the object.")]
    lock: Annotated[str, Meta(description="Its name.")]
    owner: int | None
    detail: str
    has_timeout: bool
    is_shared: bool
    is_steady: Annotated[bool, Meta(description="It did not run between the two readings.")]
    caller: Annotated[str, Meta(description="A guess from the stack; empty if unknown.")]


class HangDocument(Struct, tag_field="record", tag="hang", kw_only=True):
    """What the threads of a process wait for."""

    schema: Literal[1] = 1
    pid: int
    program: str
    libc: LibcDocument
    threads: Annotated[int, Meta(description="The number of threads that were read.")]
    unreadable: Annotated[
        dict[str, str], Meta(description="Threads that could not be read, with the reason.")
    ]
    saw_all: Annotated[
        bool, Meta(description="Every thread was read, and every owner could be known.")
    ]
    readings: int
    took_ms: Annotated[float, Meta(description="Without the pause between the readings.")]
    deadlocks: list[Tids]
    cycles: list[Tids]
    orphans: Annotated[Tids, Meta(description="Threads that wait for an owner that has ended.")]
    roots: list[RootDocument]
    waiting: list[WaitingDocument]
    stacks: Annotated[str | UnsetType, Meta(description="Only with --stacks.")] = UNSET


def document(found: Named, stacks: str | None) -> HangDocument:
    look = found.look
    return HangDocument(
        pid=look.pid,
        program=look.program,
        libc=LibcDocument(look.libc.name, look.libc.is_known, look.libc.why_not),
        threads=len(look.threads),
        unreadable={str(task): why for task, why in look.unreadable.items()},
        saw_all=look.saw_all,
        readings=look.readings,
        took_ms=round(look.took_s * 1e3, 3),
        deadlocks=look.deadlocks,
        cycles=look.cycles,
        orphans=look.orphans(),
        roots=[
            RootDocument(root, found.threads.get(root, ""), look.doing(root), waiters)
            for root, waiters in look.roots().items()
        ],
        waiting=[
            WaitingDocument(
                thread=tid,
                name=found.threads.get(tid, ""),
                kind=each.wait.kind,
                address=each.wait.address,
                lock=found.locks[tid],
                owner=each.wait.owner,
                detail=each.wait.detail,
                has_timeout=each.wait.has_timeout,
                is_shared=each.wait.is_shared,
                is_steady=each.is_steady,
                caller=found.callers[tid],
            )
            for tid, each in look.waiting.items()
        ],
        stacks=UNSET if stacks is None else stacks,
    )
