# SPDX-License-Identifier: Apache-2.0
"""Reads trace files: rings of stamps and of switch records, as the traced world writes them.

A trace is mapped memory of the program that writes it, so it can be read while that program runs
and after it has crashed. A ring that has overwritten its oldest events begins late.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

MAGIC = b"LYTRACE\0"
VERSION = 1
HEADER_BYTES = 4096
NAMES_AT = 2048
RING_HEADER_BYTES = 64
MOST_RINGS = 1 << 16
MOST_EVENTS = 1 << 28
NO_CPU = 0xFFFFFFFF
# Clocks of two processors differ by less than this, so a stamp may be late by as much.
BESIDE_NS = 1e6

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("header_bytes", "<u4"),
        ("event_bytes", "<u4"),
        ("ring_events", "<u4"),
        ("ring_count", "<u4"),
        ("pid", "<u4"),
        ("ns_per_tick", "<f8"),
        ("start_ticks", "<u8"),
        ("start_raw_ns", "<u8"),
        ("has_switches", "<u4"),
        ("has_wakeups", "<u4"),
        ("why_no_wakeups", "S256"),
        ("why_no_switches", "S256"),
        ("title", "S256"),
        ("ends_ticks", "<u8"),
        ("threads_without_ring", "<u8"),
        ("rings_taken", "<u4"),
        ("uses_counter", "<u4"),
        ("names", "<u4"),
        ("threads_without_switches", "<u4"),
    ]
)
RING = np.dtype(
    [
        ("kind", "<u4"),
        ("tid", "<u4"),
        ("written", "<u8"),
        ("cpu", "<u4"),
        ("index", "<u4"),
        ("lost", "<u8"),
        ("name", "S16"),
        ("pages", "<u8"),  # used by the writing program only
        ("switches", "<u8"),
    ]
)
EVENT = np.dtype(
    [("ticks", "<i8"), ("lock", "<u8"), ("kind", "<u4"), ("cpu", "<u4"), ("argument", "<i8")]
)

Events = np.ndarray[Any, np.dtype[Any]]


class RingKind(IntEnum):
    UNUSED = 0
    STAMPS = 1
    SWITCHES = 2
    GAPS = 3
    NAMES = 4
    IDLE = 5


class Kind(IntEnum):
    CALLED = 1
    ACQUIRED = 2
    FAILED = 3
    RELEASING = 4
    RELEASED = 5
    YIELD_BEGIN = 6
    YIELD_END = 7
    SLEEP_BEGIN = 8
    SLEEP_END = 9
    WAKE_BEGIN = 10
    WAKE_END = 11
    SWITCH_OUT = 32
    SWITCH_IN = 33
    WOKEN = 34
    MIGRATED = 35
    RECORDS_LOST = 36
    GAP = 48
    IDLE = 49
    INTERRUPT = 50
    NAMED = 64


@dataclass(frozen=True)
class Ring:
    kind: int
    tid: int
    cpu: int
    name: str
    events: Events  # from the oldest one left; ticks count from the start of the trace
    overwritten: int
    lost: int
    has_switches: bool = False  # in a ring of stamps: the thread's switches are among them


@dataclass
class Trace:
    path: Path
    title: str
    pid: int
    ns_per_tick: float
    start: int  # in ticks of the writer's clock; all moments here count from it
    has_switches: bool
    has_wakeups: bool
    why_no_switches: str
    why_no_wakeups: str
    rings: list[Ring]
    names: dict[int, str]  # names of locks, by address
    begin: int  # the first moment from which no ring lacks an event, in ticks from the start
    end: int
    is_ended: bool = True
    warnings: list[str] = field(default_factory=list)

    @property
    def covered_share(self) -> float:
        """Returns the part of the trace's time that no ring has overwritten."""
        return (self.end - self.begin) / self.end if self.end > 0 else 1.0

    def ns(self, ticks: float) -> float:
        return float(ticks) * self.ns_per_tick

    def of_kind(self, kind: RingKind) -> list[Ring]:
        return [ring for ring in self.rings if ring.kind == kind]

    def lock_name(self, address: int) -> str:
        return self.names.get(address, f"{address:#x}")


def is_trace(path: Path) -> bool:
    """Recognises a trace by its first bytes; an unreadable file is not a trace."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_trace(path: Path) -> Trace:
    content = _content(path)
    header = _header(path, content)
    warnings: list[str] = []
    start = int(header["start_ticks"])
    rings = _rings(path, content, header, warnings)
    names = _names(content, rings)
    ends = int(header["ends_ticks"])
    begin, end = _window(rings, ends - start if ends else 0)
    trace = Trace(
        path=path,
        title=_text(header["title"]),
        pid=int(header["pid"]),
        ns_per_tick=float(header["ns_per_tick"]),
        start=start,
        has_switches=bool(header["has_switches"]),
        has_wakeups=bool(header["has_wakeups"]),
        why_no_switches=_text(header["why_no_switches"]),
        why_no_wakeups=_text(header["why_no_wakeups"]),
        rings=rings,
        names=names,
        begin=begin,
        end=end,
        is_ended=bool(ends),
        warnings=warnings,
    )
    _say_what_is_missing(trace)
    if header["threads_without_ring"]:
        warnings.append(
            f"{path}: {header['threads_without_ring']} threads had no ring, so nothing is known of "
            "them, and their effect on others stays unexplained; trace with more rings"
        )
    if trace.has_switches and header["threads_without_switches"]:
        warnings.append(
            f"{path}: {header['threads_without_switches']} threads have no switch records, so it "
            f"is unknown when they ran: {trace.why_no_switches}"
        )
    return trace


def _content(path: Path) -> NDArray[np.uint8]:
    try:
        size = path.stat().st_size
        if not path.is_file() or size < HEADER_BYTES:
            problem = "is empty" if size == 0 else f"has {size} bytes, but a trace at least 4096"
            raise UsageError(
                f"{path}: {problem if path.is_file() else 'is not a file'}, so nothing can be "
                "explained; name a trace, or records of traced runs"
            )
        return np.memmap(path, np.uint8, "r")
    except OSError as error:
        raise UsageError(
            f"{path}: the trace cannot be read ({error.strerror}), so nothing can be explained; "
            "check its permissions, or name another trace"
        ) from None


def _header(path: Path, content: NDArray[np.uint8]) -> Any:
    header = np.frombuffer(content[: HEADER.itemsize].tobytes(), HEADER)[0]
    if content[: len(MAGIC)].tobytes() != MAGIC:
        raise UsageError(
            f"{path}: not a trace, so nothing can be explained; name a trace, or records of traced "
            "runs"
        )
    if header["version"] != VERSION:
        raise UsageError(
            f"{path}: a trace of version {header['version']}, but this lockyard reads version "
            f"{VERSION}; use the lockyard that the traced program was built with"
        )
    ring_events = int(header["ring_events"])
    fits = (
        header["header_bytes"] == HEADER_BYTES
        and header["event_bytes"] == EVENT.itemsize
        and 0 < ring_events <= MOST_EVENTS
        and ring_events & (ring_events - 1) == 0
        and header["ring_count"] <= MOST_RINGS
        and np.isfinite(header["ns_per_tick"])
        and header["ns_per_tick"] > 0
    )
    if not fits:
        raise UsageError(
            f"{path}: the header contradicts itself, so the file is damaged and nothing can be "
            "explained; trace again"
        )
    return header


def _rings(path: Path, content: NDArray[np.uint8], header: Any, warnings: list[str]) -> list[Ring]:
    ring_events, start = int(header["ring_events"]), int(header["start_ticks"])
    stride = RING_HEADER_BYTES + ring_events * EVENT.itemsize
    rings = []
    for index in range(int(header["ring_count"])):
        at = HEADER_BYTES + index * stride
        if at + stride > len(content):
            if index == 0:
                raise UsageError(
                    f"{path}: cut off, with 0 of {header['ring_count']} rings whole, so nothing "
                    "can be explained; trace again"
                )
            warnings.append(
                f"{path}: cut off, with {index} of {header['ring_count']} rings whole, so threads "
                "of the other rings are missing and their effects stay unexplained; trace again"
            )
            break
        ring = _ring(content[at : at + stride], ring_events, start)
        if ring is not None:
            rings.append(ring)
    return rings


def _ring(content: NDArray[np.uint8], ring_events: int, start: int) -> Ring | None:
    """Copies the events that were whole before and after the copy; the writer may be running."""

    def read() -> Any:
        return np.frombuffer(content[: RING.itemsize].tobytes(), RING)[0]

    before = read()
    if before["kind"] == RingKind.UNUSED:
        return None
    events = np.frombuffer(content[RING_HEADER_BYTES:].tobytes(), EVENT)
    written, later = int(before["written"]), int(read()["written"])
    # The event being written may already overlap the oldest one.
    oldest = max(0, later - ring_events + (1 if later != written else 0))
    kept = events[np.arange(min(oldest, written), written) % ring_events].copy()
    # Where the writer's own ring had less room than the file's, the oldest places are empty.
    empty = len(kept) - len(np.trim_zeros(kept["kind"], "f"))
    kept, oldest = kept[empty:], oldest + empty
    kept["ticks"] -= np.int64(start) if before["kind"] != RingKind.NAMES else 0
    return Ring(
        kind=int(before["kind"]),
        tid=int(before["tid"]),
        cpu=int(before["cpu"]),
        name=_text(before["name"]),
        events=kept,
        overwritten=min(oldest, written),
        lost=int(before["lost"]),
        has_switches=bool(read()["switches"]),
    )


def _names(content: NDArray[np.uint8], rings: list[Ring]) -> dict[int, str]:
    known = content[NAMES_AT:HEADER_BYTES].tobytes().split(b"\0")
    return {
        int(event["lock"]): known[event["argument"]].decode(errors="replace")
        for ring in rings
        if ring.kind == RingKind.NAMES
        for event in ring.events
        if event["kind"] == Kind.NAMED and 0 <= event["argument"] < len(known)
    }


def _window(rings: list[Ring], ends: int) -> tuple[int, int]:
    """Returns the time that all rings cover, up to the end of the trace or its last event."""
    timed = [
        ring
        for ring in rings
        if ring.kind in (RingKind.STAMPS, RingKind.SWITCHES) and len(ring.events)
    ]
    begins = [int(ring.events["ticks"].min()) for ring in timed if ring.overwritten]
    last = max((int(ring.events["ticks"].max()) for ring in timed), default=0)
    end = ends if ends > 0 else last
    return min(max(begins, default=0), end), end


def _say_what_is_missing(trace: Trace) -> None:
    say = trace.warnings.append
    if not trace.is_ended:
        alive = os.path.exists(f"/proc/{trace.pid}")  # noqa: PTH110 - no path of ours
        say(
            f"{trace.path}: was not ended ("
            + ("its program may still run" if alive else "its program crashed or was killed")
            + "), so its last events may be missing"
        )
    lost = sum(ring.lost for ring in trace.rings)
    if lost:
        say(
            f"{trace.path}: {lost} events were lost, so what depends on them stays unexplained; "
            "trace with larger rings"
        )
    outside = sum(_outside(trace, ring) for ring in trace.rings)
    if outside:
        say(
            f"{trace.path}: {outside} events lie before its start or after its end, so its clock "
            "or the file is damaged and explanations may be wrong; trace again"
        )


def _outside(trace: Trace, ring: Ring) -> int:
    """Counts events outside the trace's time; a trace that was not ended has none after its end."""
    if ring.kind == RingKind.NAMES:
        return 0
    ticks, beside = ring.events["ticks"], BESIDE_NS / trace.ns_per_tick
    return int(np.count_nonzero((ticks < -beside) | (ticks > trace.end + beside)))


def _text(raw: bytes) -> str:
    return bytes(raw).split(b"\0")[0].decode(errors="replace")
