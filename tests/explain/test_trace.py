# SPDX-License-Identifier: Apache-2.0
"""Reading traces in any state."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import fake_stalls as injected
import numpy as np
import pytest
from fake_trace import LOCK, MS, START, US, FakeTrace

from lockyard.errors import UsageError
from lockyard.explain.stalls import explain
from lockyard.explain.trace import EVENT, HEADER_BYTES, NO_CPU, RING, Kind, RingKind, read_trace

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = HEADER_BYTES + 8  # in the first ring


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made-up.trace"


def test_reads_what_was_written(path: Path) -> None:
    trace = read_trace(injected.holder_preempted().write(path))
    assert trace.title == "invented"
    assert trace.ns(2) == 1.0
    assert trace.lock_name(LOCK) == "test_lock"
    assert trace.lock_name(0x99) == "0x99"
    assert (trace.begin, trace.end) == (0, 100 * MS)
    assert trace.why_no_wakeups == "no rights: be root"
    stamps = trace.of_kind(RingKind.STAMPS)
    assert [ring.tid for ring in stamps] == [injected.HOLDER, injected.WAITER]
    assert stamps[0].name == "worker"
    assert list(stamps[0].events["kind"]) == [1, 2, 4, 5]
    assert list(stamps[0].events["ticks"][:2]) == [0, US]
    assert not trace.warnings


def test_explains_only_what_all_rings_still_cover(path: Path) -> None:
    made = injected.holder_preempted()
    made.ring_events = 8
    for at in range(4000, 5000, 100):
        made.stamps(3, (at, Kind.CALLED), (at + 1, Kind.FAILED), lock=0x99)
    trace = read_trace(made.write(path))
    assert trace.begin == 4600 * US
    assert trace.covered_share == pytest.approx(0.954)
    found = explain(trace, 100e3)
    assert not [lock.stalls for lock in found.locks if lock.stalls]
    assert found.too_early == 1


def test_says_what_was_lost(path: Path) -> None:
    made = injected.holder_preempted()
    made.lost[RingKind.SWITCHES, injected.HOLDER] = 7
    made.threads_without_ring = 2
    warnings = "\n".join(read_trace(made.write(path)).warnings)
    assert "7 events were lost" in warnings
    assert "2 threads had no ring" in warnings


@pytest.mark.parametrize(("at_us", "outside"), [(-5000, 1), (-1, 0), (100_001, 0), (105_000, 1)])
def test_says_that_events_lie_outside_the_time_of_the_trace(
    path: Path, at_us: float, outside: int
) -> None:
    made = injected.holder_preempted()
    made.stamps(7, (at_us, Kind.CALLED))
    warnings = read_trace(made.write(path)).warnings
    assert len(warnings) == outside
    assert all("1 events lie before its start or after its end" in each for each in warnings)


@pytest.mark.parametrize(
    ("pid", "said"),
    [(2**22 + 1, "crashed"), (os.getpid(), "may still run")],
    ids=["of a dead process", "of a living one"],
)
def test_reads_a_trace_that_was_not_ended(path: Path, pid: int, said: str) -> None:
    trace = read_trace(replace(injected.holder_preempted(), ends=0, pid=pid).write(path))
    assert trace.end == round(3001.3 * US)
    (warning,) = trace.warnings
    assert said in warning


def test_reads_whole_rings_of_a_torn_file(path: Path) -> None:
    injected.holder_preempted().write(path)
    ring_bytes = 64 + 64 * EVENT.itemsize
    os.truncate(path, HEADER_BYTES + 2 * ring_bytes + 100)
    trace = read_trace(path)
    assert len(trace.rings) == 2
    (warning,) = trace.warnings
    assert "with 2 of 16 rings whole" in warning


def test_does_not_read_the_event_that_is_being_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ring goes on while it is copied: what may be half overwritten is left out."""
    made = FakeTrace(ring_events=8)
    made.stamps(1, *((at, Kind.CALLED) for at in range(20)))
    content = bytearray(made.write(path).read_bytes())
    heads: list[int] = []

    def frombuffer(data: bytes, kind: np.dtype[Any]) -> Any:
        found = real(data, kind)
        if kind is RING:
            heads.append(found[0]["kind"])
            if heads.count(RingKind.STAMPS) == 2:  # the copy is made, and its writer went on by two
                found = found.copy()
                found["written"] += 2
        return found

    real = np.frombuffer
    monkeypatch.setattr(np, "frombuffer", frombuffer)
    path.write_bytes(content)
    (ring,) = read_trace(path).of_kind(RingKind.STAMPS)
    assert [int(ticks) // US for ticks in ring.events["ticks"]] == [15, 16, 17, 18, 19]


def test_a_ring_with_less_room_than_the_file_begins_at_its_oldest_event(path: Path) -> None:
    """The largest ring of a file decides the room of all; what the others never had is empty."""
    made = FakeTrace(ring_events=8)
    made.stamps(1, *((at, Kind.CALLED) for at in range(20)))
    content = made.write(path).read_bytes()
    for at in range(12, 16):  # the oldest four of the eight that are left
        event = struct.pack("<qQIIq", START + at * US, LOCK, Kind.CALLED, NO_CPU, 0)
        assert event in content
        content = content.replace(event, bytes(EVENT.itemsize))
    path.write_bytes(content)
    trace = read_trace(path)
    (ring,) = trace.of_kind(RingKind.STAMPS)
    assert [int(ticks) // US for ticks in ring.events["ticks"]] == [16, 17, 18, 19]
    assert ring.overwritten == 16
    assert trace.begin == 16 * US


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda _: b"", "is empty"),
        (lambda content: content[:1000], "has 1000 bytes"),
        (lambda content: b"NOTRACE!" + content[8:], "not a trace, so nothing can be explained"),
        (lambda content: content[:8] + struct.pack("<I", 2) + content[12:], "of version 2"),
        (lambda content: content[:16] + struct.pack("<I", 24) + content[20:], "contradicts itself"),
        (lambda content: content[:20] + struct.pack("<I", 63) + content[24:], "contradicts itself"),
        (lambda content: content[:20] + struct.pack("<I", 0) + content[24:], "contradicts itself"),
        (lambda content: content[:32] + struct.pack("<d", 0) + content[40:], "contradicts itself"),
        (lambda c: c[:32] + struct.pack("<d", float("nan")) + c[40:], "contradicts itself"),
        (
            lambda content: content[: HEADER_BYTES + 100],
            "cut off, with 0 of 16 rings whole, so nothing",
        ),
    ],
)
def test_says_what_is_wrong_with_a_file(path: Path, damage: object, said: str) -> None:
    injected.holder_preempted().write(path)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(UsageError, match=said):
        read_trace(path)


def test_says_so_when_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the trace cannot be read"):
        read_trace(tmp_path / "nowhere.trace")
    with pytest.raises(UsageError, match="is not a file"):
        read_trace(tmp_path)


@pytest.mark.parametrize("bytes_at", range(0, 64, 4))
def test_a_damaged_ring_ends_nothing(path: Path, bytes_at: int) -> None:
    """A damaged header is an error message, or leaves time unexplained."""
    injected.woken_not_running().write(path)
    content = bytearray(path.read_bytes())
    content[HEADER_BYTES + bytes_at : HEADER_BYTES + bytes_at + 4] = b"\xff\xff\xff\x7f"
    path.write_bytes(content)
    explain(read_trace(path), 1e3)
