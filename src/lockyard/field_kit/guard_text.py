# SPDX-License-Identifier: Apache-2.0
"""What `lockyard guard` says of its findings, for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.field_kit.guard_document import FindingDocument, PartyDocument
from lockyard.field_kit.profile_text import duration

if TYPE_CHECKING:
    from lockyard.field_kit.recorded import Names
    from lockyard.field_kit.records import Event, Party, Records

SHOWN_FRAMES = 4
_MANY_THREADS = 0xFFFFFFFF


def lines(event: Event, names: Names) -> list[str]:
    """Returns the finding in one line, then its threads and stacks."""
    tell = {
        "deadlock": _deadlock,
        "self-deadlock": _self_deadlock,
        "lock order": _order,
        "long hold": _long_hold,
        "unlocked by a stranger": _stranger,
        "destroyed in use": _destroyed,
        "held at the end": _forgotten,
    }
    return tell[event.what](event, names)


def _deadlock(event: Event, names: Names) -> list[str]:
    text = [
        f"DEADLOCK of {len(event.parties)} threads, found {duration(event.took_ns)} after the call "
        "that closes it, before that thread slept"
    ]
    for index, party in enumerate(event.parties):
        owner = event.parties[(index + 1) % len(event.parties)]
        is_join = not party.address
        wanted = "the end of" if is_join else f"{_lock(party, names)}, held by"
        text.append(f"  {party.tid} waits for {wanted} {owner.tid}")
        text.append(f"    waits in     {_stack(party.stack, names)}")
        if not is_join:
            text.append(f"    locked in    {_stack(_held(party), names)}")
    return text


def _self_deadlock(event: Event, names: Names) -> list[str]:
    party = event.parties[0]
    return [
        f"SELF-DEADLOCK: {party.tid} waits for {_lock(party, names)}, which it holds itself",
        f"    waits in     {_stack(party.stack, names)}",
        f"    locked in    {_stack(_held(party), names)}",
    ]


def _order(event: Event, names: Names) -> list[str]:
    ring = " before ".join(_at(party.held_at, names) for party in event.parties)
    text = [
        f"LOCK ORDER that can deadlock: {ring} before {_at(event.parties[0].held_at, names)}; it "
        "has not yet"
    ]
    for party in event.parties:
        by = "several threads" if party.tid == _MANY_THREADS else str(party.tid)
        text.append(f"  {by} locked {_lock(party, names)} with {_at(party.held_at, names)} held")
        text.append(f"    locked in    {_stack(party.stack, names)}")
        text.append(f"    held since   {_stack(party.held_stack, names)}")
    return text


def _long_hold(event: Event, names: Names) -> list[str]:
    party = event.parties[0]
    return [
        f"LONG HOLD: {party.tid} held {_lock(party, names)} for {duration(party.held_at)}",
        f"    locked in    {_stack(party.held_stack, names)}",
    ]


def _stranger(event: Event, names: Names) -> list[str]:
    party = event.parties[0]
    owner = f"{event.parties[1].tid} holds" if len(event.parties) > 1 else "no thread holds"
    return [
        f"UNLOCKED BY A STRANGER: {party.tid} unlocks {_lock(party, names)}, which {owner}",
        f"    unlocks in   {_stack(party.stack, names)}",
        *([f"    locked in    {_stack(_held(party), names)}"] if _held(party) else []),
    ]


def _destroyed(event: Event, names: Names) -> list[str]:
    party = event.parties[0]
    return [
        f"DESTROYED IN USE: {party.tid} destroys {_lock(party, names)}, which "
        f"{event.parties[-1].tid} holds",
        f"    destroys in  {_stack(party.stack, names)}",
        f"    locked in    {_stack(_held(party), names)}",
    ]


def _forgotten(event: Event, names: Names) -> list[str]:
    party = event.parties[0]
    return [
        f"HELD AT THE END: {party.tid} ended without unlocking {_lock(party, names)}; a thread "
        "that wants it waits until another one does that",
        f"    locked in    {_stack(_held(party), names)}",
    ]


def _held(party: Party) -> tuple[int, ...]:
    return party.held_stack or ((party.held_at,) if party.held_at else ())


def _lock(party: Party, names: Names) -> str:
    return _at(party.address, names)


def _at(address: int, names: Names) -> str:
    return names.variable(address) or f"the lock at {address:#x}"


def _stack(stack: tuple[int, ...], names: Names) -> str:
    shown = [names.function(each) for each in stack if not names.is_runtime(each)]
    if not stack:
        return "unknown"
    return " < ".join([*shown[:SHOWN_FRAMES], f"at {names.code(stack[0])}"])


def document(event: Event, records: Records, names: Names) -> FindingDocument:
    is_order, is_hold = event.what == "lock order", event.what == "long hold"
    return FindingDocument(
        what=event.what,
        pid=records.pid,
        program=records.program,
        found_after_ns=event.took_ns,
        held_ns=event.parties[0].held_at if is_hold else None,
        threads=[
            PartyDocument(
                thread=None if party.tid == _MANY_THREADS else party.tid,
                lock=_at(party.address, names) if party.address else "",
                address=party.address,
                held=_at(party.held_at, names) if is_order else "",
                stack=[names.function(each) for each in party.stack],
                held_stack=[
                    names.function(each) for each in (party.held_stack if is_hold else _held(party))
                ],
            )
            for party in event.parties
        ],
    )
