# SPDX-License-Identifier: Apache-2.0
"""A finding of `lockyard guard` as JSON. schema/finding.schema.json is generated from these
types."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct


class PartyDocument(Struct):
    """A thread of a finding."""

    thread: Annotated[int | None, Meta(description="Null: several threads.")]
    lock: Annotated[str, Meta(description="Empty: it waits for the end of a thread.")]
    address: int
    held: Annotated[str, Meta(description="The lock held meanwhile, in an order of locks.")]
    stack: list[str]
    held_stack: list[str]


class FindingDocument(Struct, tag_field="record", tag="guard", kw_only=True):
    """A line of the file that --out names."""

    schema: Literal[1] = 1
    what: str
    pid: int
    program: str
    found_after_ns: float
    held_ns: Annotated[int | None, Meta(description="Only of a long hold.")]
    threads: list[PartyDocument]
