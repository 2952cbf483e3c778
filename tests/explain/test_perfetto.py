# SPDX-License-Identifier: Apache-2.0
"""The file for Perfetto: Chrome's trace format holds, and the slices are the trace's."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fake_explanations import records
from fake_trace import FakeTrace

from lockyard.explain.perfetto import FIRST_PROCESS, lines
from lockyard.explain.source import Source
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

Event = dict[str, Any]

# What the format demands of each kind of event (Trace Event Format, Google).
KEYS = {
    "X": {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"},
    "M": {"name", "ph", "pid", "tid", "args"},
    "b": {"name", "cat", "ph", "ts", "id", "pid", "tid", "args"},
    "e": {"name", "cat", "ph", "ts", "id", "pid", "tid"},
    "s": {"name", "cat", "ph", "ts", "id", "pid", "tid"},
    "f": {"name", "cat", "ph", "ts", "id", "pid", "tid", "bp"},
}
OTHER = 0x8000


def a_wake_up() -> FakeTrace:
    """Thread 1 holds the lock; thread 2 sleeps for it and is woken by thread 1's release."""
    trace = FakeTrace(names={0x7000: "first_lock", OTHER: "second_lock"})
    trace.stamps(
        1, (0, Kind.CALLED), (1, Kind.ACQUIRED), (50, Kind.RELEASING), (51, Kind.WAKE_BEGIN),
        (53, Kind.WAKE_END), (54, Kind.RELEASED),
    )  # fmt: skip
    trace.stamps(
        2, (5, Kind.CALLED), (6, Kind.SLEEP_BEGIN), (60, Kind.SLEEP_END), (61, Kind.ACQUIRED),
        (70, Kind.RELEASING), (71, Kind.RELEASED),
    )  # fmt: skip
    return trace.out(2, 7, preempted=False).woken(2, 52, by=1).back(2, 59)


def hand_over_hand() -> FakeTrace:
    """Thread 1 releases two locks in the order in which it acquired them."""
    trace = FakeTrace(names={0x7000: "first_lock", OTHER: "second_lock"})
    trace.stamps(1, (0, Kind.CALLED), (1, Kind.ACQUIRED), (20, Kind.RELEASING), (21, Kind.RELEASED))
    return trace.stamps(
        1, (10, Kind.CALLED), (11, Kind.ACQUIRED), (30, Kind.RELEASING), (31, Kind.RELEASED),
        lock=OTHER,
    )  # fmt: skip


def events_of(folder: Path, *traces: FakeTrace) -> list[Event]:
    sources = [Source(each.write(folder / f"{n}.trace")) for n, each in enumerate(traces)]
    document = json.loads("".join(lines(sources)))
    assert document["displayTimeUnit"] == "ns"
    found: list[Event] = document["traceEvents"]
    check_format(found)
    return found


def check_format(events: list[Event]) -> None:
    slices: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    named = {(each["pid"], each["tid"]) for each in events if each["name"] == "thread_name"}
    flows: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        assert event.keys() == KEYS[event["ph"]]
        if event["ph"] == "X":
            assert event["dur"] >= 0
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        if event["ph"] in "bsfe":
            flows[event["id"]].append(event)
    assert slices.keys() <= named
    for track in slices.values():
        check_nesting(track)
    for each in flows.values():
        assert [event["ph"] for event in each] in (["s", "f"], ["b", "e"])
        assert each[0]["ts"] <= each[1]["ts"]
        if each[0]["ph"] == "s":
            for event in each:  # an arrow is drawn only between slices
                track = slices[event["pid"], event["tid"]]
                assert any(begin <= event["ts"] <= end for begin, end in track)


def check_nesting(slices: list[tuple[float, float]]) -> None:
    open_until: list[float] = []
    for begin, end in sorted(slices, key=lambda each: (each[0], -each[1])):
        while open_until and open_until[-1] <= begin:
            open_until.pop()
        assert not open_until or end <= open_until[-1]
        open_until.append(end)


def slices_of(events: list[Event], process: int, track: int) -> dict[str, tuple[float, float]]:
    return {
        each["name"]: (each["ts"], each["dur"])
        for each in events
        if each["ph"] == "X" and (each["pid"], each["tid"]) == (process, track)
    }


def test_threads_and_locks_are_tracks_with_their_slices(tmp_path: Path) -> None:
    events = events_of(tmp_path, a_wake_up())
    first, second = (slices_of(events, FIRST_PROCESS, tid) for tid in (1, 2))
    assert first["holds first_lock"] == (1, 49)
    assert first["releases first_lock"] == (50, 4)
    assert first["wakes others"] == (51, 2)
    assert second["waits for first_lock"] == (5, 56)
    assert second["asleep in the lock"] == (7, 45)
    assert second["woken, waits for a processor"] == (52, 7)
    owners = slices_of(events, FIRST_PROCESS + 1, 0)
    assert owners == {"worker 1": (1, 53), "worker 2": (61, 10)}


def test_a_wake_up_is_an_arrow_from_its_sender_to_the_thread_that_continues(tmp_path: Path) -> None:
    events = events_of(tmp_path, a_wake_up())
    begin, end = (each for each in events if each["ph"] in "sf")
    assert (begin["tid"], begin["ts"]) == (1, 51)
    assert (end["tid"], end["ts"]) == (2, 59)


def test_holds_that_do_not_nest_have_rows_of_their_own(tmp_path: Path) -> None:
    events = events_of(tmp_path, hand_over_hand())
    begin, end = (each for each in events if each["ph"] in "be")
    assert begin["name"] == "holds second_lock"
    assert (begin["ts"], end["ts"]) == (11, 30)


def test_several_traces_are_processes_of_their_own(tmp_path: Path) -> None:
    events = events_of(tmp_path, a_wake_up(), hand_over_hand())
    names = {each["args"]["name"] for each in events if each["name"] == "process_name"}
    assert len(names) == 3
    assert len({each["pid"] for each in events if each["ph"] == "X"}) >= 4


def test_the_command_writes_the_file_or_nothing(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = records(tmp_path, (1, a_wake_up()))
    target = tmp_path / "trace.json"
    found = lockyard("explain", str(path), "--perfetto", str(target))
    assert found.returncode == 0, found.stderr
    check_format(json.loads(target.read_text())["traceEvents"])
    found = lockyard("explain", str(path), "--perfetto", str(tmp_path / "missing" / "trace.json"))
    assert found.returncode == 3
    assert "so there is no trace for Perfetto" in found.stderr
