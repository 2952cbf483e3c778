# SPDX-License-Identifier: Apache-2.0
"""The study of stalls: its records, the traces next to them, and injected stalls."""

from __future__ import annotations

import itertools
import json
import os
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from fake_records import CATALOG, a_lock, a_study
from measured_records import RECORDS

from lockyard import harness
from lockyard.errors import ExitStatus, UsageError
from lockyard.harness import harness_path
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.measure.runner import TRACED_RUNS
from lockyard.measure.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome


HEADER = struct.Struct("<8sIIIIIIdQQII")
RING = struct.Struct("<IIQIIQ16s")
EVENT = struct.Struct("<QQIIQ")
HEADER_BYTES, RING_BYTES = 4096, 64
CALLED, ACQUIRED, FAILED, RELEASING, RELEASED = range(1, 6)
OUT, BACK, WOKEN, MIGRATED, GAP, NAMED = 32, 33, 34, 35, 48, 64
STAMPS, SWITCHES, GAPS, NAMES = range(1, 5)

INJECTED = (
    "holder_preempted",
    "holder_preempted_in_release",
    "holder_asleep",
    "woken_late",
    "wakeup_in_flight",
    "woken_not_running",
    "waiter_not_running",
    "barging",
    "migration",
    "machine_gap",
    "held_running",
    "unexplained",
)


@dataclass
class Ring:
    kind: int
    tid: int
    cpu: int
    written: int
    lost: int
    events: list[tuple[int, int, int, int, int]]  # ticks, lock, kind, processor, argument
    records: list[tuple[int, int, int, int, int]]  # of stamps' rings: the kernel's, between them

    def kinds(self) -> list[int]:
        return [kind for _, _, kind, _, _ in self.events]


@dataclass
class Trace:
    ns_per_tick: float
    start: int
    end: int
    has_switches: int
    has_wakeups: int
    why_no_wakeups: str
    names: str
    rings: list[Ring]

    @classmethod
    def read(cls, path: Path) -> Trace:
        data = path.read_bytes()
        magic, version, header_bytes, event_bytes, room, count, _, ns_per_tick, start, *rest = (
            HEADER.unpack_from(data)
        )
        assert (magic, version) == (b"LYTRACE\0", 1)
        assert (header_bytes, event_bytes) == (HEADER_BYTES, EVENT.size)
        assert len(data) == HEADER_BYTES + count * (RING_BYTES + room * EVENT.size)
        rings = [
            _ring(data, HEADER_BYTES + i * (RING_BYTES + room * EVENT.size), room)
            for i in range(count)
        ]
        (end,) = struct.unpack_from("<Q", data, 832)
        return cls(
            ns_per_tick, start, end, rest[1], rest[2], _text(data, 64), _text(data, 2048), rings
        )

    def of_kind(self, kind: int) -> list[Ring]:
        return [ring for ring in self.rings if ring.kind == kind]


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _ring(data: bytes, at: int, room: int) -> Ring:
    kind, tid, written, cpu, _, lost, _ = RING.unpack_from(data, at)
    first = at + RING_BYTES
    events = [
        EVENT.unpack_from(data, first + number % room * EVENT.size)
        for number in range(max(written - room, 0), written)
    ]
    # Between a thread's stamps stand its switches.
    records = [event for event in events if kind == STAMPS and OUT <= event[2] < GAP]
    stamps = [event for event in events if kind != STAMPS or not OUT <= event[2] < GAP]
    return Ring(kind, tid, cpu, written, lost, stamps, records)


REMEDIES = (
    "run as root",
    "mount -t tracefs",
    "--pid=host",
)  # for users who may not record wake-ups
ENVIRONMENT = {"clock": {"source": "tsc", "ns_per_tick": 0.4}, "environment": "abc"}


def a_job(
    lock: str = "ticket_spinlock", block: int = 3, duration_s: float = 0.1, **changes: Any
) -> dict[str, Any]:
    catalog = harness.catalog()
    locks = catalog.select_recovering([lock])
    request = Request([2], recovering=locks, work=[Work(2000, 2000)])
    (cell,) = plan_cells(catalog.select_studies(["stalls"]), (), request)
    job = cell.job(block, duration_s, 1, ENVIRONMENT)
    return {**msgspec.to_builtins(job), **changes}


def answer(job: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [harness_path()],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run(job: dict[str, Any]) -> dict[str, Any]:
    answered = answer(job)
    assert answered.returncode == 0, answered.stderr
    record: dict[str, Any] = json.loads(answered.stdout)
    return record


@pytest.fixture(params=["ticket_spinlock", "mutex"])
def traced(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict[str, Any], Trace]:
    path = tmp_path / "0.3.trace"
    record = run(a_job(request.param, trace=str(path)))
    assert record["values"]["trace"] == path.name
    return record, Trace.read(path)


def test_a_trace_has_every_operation_of_the_traced_half(
    traced: tuple[dict[str, Any], Trace],
) -> None:
    record, trace = traced
    if record["values"]["trace_lost_stamps"] > 0:
        pytest.skip("a thread had no processor for so long that the others' yields filled the ring")
    acquired = sum(ring.kinds().count(ACQUIRED) for ring in trace.of_kind(STAMPS))
    # And once by who holds the lock while the threads gather, and find that it refuses them.
    assert acquired == record["values"]["operations"] + 1
    assert sum(ring.kinds().count(FAILED) for ring in trace.of_kind(STAMPS)) == 2
    assert len(trace.of_kind(STAMPS)) == 3
    for ring in trace.of_kind(STAMPS):
        times = [ticks for ticks, *_ in ring.events]
        assert times == sorted(times)
        assert trace.start <= times[0]
        assert times[-1] <= trace.end


def test_critical_sections_of_a_trace_do_not_overlap(traced: tuple[dict[str, Any], Trace]) -> None:
    """Counters of two processors may be a little apart."""
    _, trace = traced
    sections = []
    for ring in trace.of_kind(STAMPS):
        begins = [ticks for ticks, _, kind, _, _ in ring.events if kind == ACQUIRED]
        ends = [ticks for ticks, _, kind, _, _ in ring.events if kind == RELEASING]
        sections += list(zip(begins, ends, strict=True))
    sections.sort()
    apart = 2000 / trace.ns_per_tick
    assert all(first[1] <= second[0] + apart for first, second in itertools.pairwise(sections))


def test_a_trace_names_its_lock(traced: tuple[dict[str, Any], Trace]) -> None:
    record, trace = traced
    (names,) = trace.of_kind(NAMES)
    ((_, address, kind, _, index),) = names.events
    assert (kind, index, trace.names) == (NAMED, 0, record["lock"])
    locks = {lock for ring in trace.of_kind(STAMPS) for _, lock, _, _, _ in ring.events}
    assert locks - {0} == {address}


def turns_of_threads(trace: Trace) -> dict[int, list[int]]:
    """Returns how each thread's switches alternate, if the kernel recorded them for each thread."""
    added, *others = trace.of_kind(SWITCHES)
    assert added.tid == 0
    team = [ring for ring in trace.of_kind(STAMPS) if ring.records]
    tids = {ring.tid for ring in team}
    assert {ring.tid for ring in others} == tids
    assert {tid for _, tid, *_ in added.events} <= tids
    for ring in others:
        assert set(ring.kinds()) <= {WOKEN, MIGRATED}
        assert ring.kinds().count(WOKEN) == 0 or trace.has_wakeups
    found = {}
    for ring in team:
        later = [event for event in added.events if event[1] == ring.tid]
        found[ring.tid] = [event[2] for event in ring.records + later]
        assert found[ring.tid][0] == BACK  # it runs when it begins
    return found


def turns_of_processors(trace: Trace) -> dict[int, list[int]]:
    """Does the same if it recorded them for each processor."""
    rings = [ring for ring in trace.of_kind(SWITCHES) if ring.tid]
    assert {ring.tid for ring in rings} < {ring.tid for ring in trace.of_kind(STAMPS)}
    return {ring.tid: [kind for kind in ring.kinds() if kind in (OUT, BACK)] for ring in rings}


def test_a_trace_has_the_kernels_switches_or_says_why_not(
    traced: tuple[dict[str, Any], Trace],
) -> None:
    _, trace = traced
    if not trace.has_switches:
        assert trace.why_no_wakeups
        pytest.skip(f"the kernel shows no switches here: {trace.why_no_wakeups}")
    by_thread = any(ring.records for ring in trace.of_kind(STAMPS))
    turns = turns_of_threads(trace) if by_thread else turns_of_processors(trace)
    assert len(turns) == 2 < len(trace.of_kind(STAMPS))  # the thread that starts them takes no part
    for of_one in turns.values():
        assert all(one != next_ for one, next_ in itertools.pairwise(of_one))
    assert trace.has_wakeups or any(remedy in trace.why_no_wakeups for remedy in REMEDIES)


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a PID namespace, as containers do")
def test_in_a_container_wake_ups_are_not_taken_for_other_threads(tmp_path: Path) -> None:
    path = tmp_path / "0.3.trace"
    answered = subprocess.run(
        ["unshare", "--pid", "--fork", harness_path()],
        input=json.dumps(a_job("futex_mutex", trace=str(path))),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "unshare" in answered.stderr:
        pytest.skip(answered.stderr)
    assert answered.returncode == 0, answered.stderr
    trace = Trace.read(path)
    assert not trace.has_wakeups
    if trace.has_switches:
        assert "PID namespace" in trace.why_no_wakeups
        assert len(turns_of_threads(trace)) == 2


def test_a_run_without_a_trace_measures_the_same() -> None:
    values = run(a_job(block=2))["values"]
    assert values["trace"] is None
    assert values["trace_stamps"] >= 4 * values["operations"]
    assert min(values["plain_operations_per_s"], values["traced_operations_per_s"]) > 0


def test_every_lock_of_ours_can_be_traced() -> None:
    catalog = harness.catalog()
    (study,) = catalog.select_studies(["stalls"])
    assert study.only_locks == tuple(lock.name for lock in catalog.select_locks(["ours"]))
    for lock in study.only_locks:
        record = run(a_job(lock, duration_s=0.02))
        assert record["status"] == "ok"
        assert set(record["checks"].values()) == {True}, lock


def test_refuses_a_trace_of_a_study_that_keeps_none() -> None:
    refused = answer(a_job(study="wait", trace="x"))
    assert refused.returncode == ExitStatus.BAD_USAGE
    assert "job at /trace: " in refused.stderr


def test_a_trace_that_cannot_be_written_is_no_record() -> None:
    answered = answer(a_job(trace="/nowhere/at/all"))
    assert answered.returncode != 0
    assert "the trace cannot be written to /nowhere/at/all" in answered.stderr


def test_a_study_of_some_locks_gets_its_own_only() -> None:
    ours, other = a_lock("mutex"), a_lock("resilient_mutex")
    stalls = a_study("stalls", only_locks=("mutex",))
    cells = plan_cells([stalls], (), Request([2], recovering=[ours, other]))
    assert [cell.lock for cell in cells] == ["mutex"]
    with pytest.raises(UsageError, match="measures only mutex, and --locks names none"):
        plan_cells([stalls], CATALOG.locks, Request([2], recovering=[other]))


def test_the_first_runs_of_each_cell_keep_their_traces(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    out = tmp_path / "records.jsonl"
    arguments = ("--locks", "mutex,ttas_spinlock", "--hold", "2us", "--gap", "4us")
    found = lockyard(
        *("measure", "stalls", *arguments, "--threads", "2", "--runs", "6", "--loops", "2000"),
        *("--out", str(out)),
    )
    assert found.returncode == ExitStatus.DONE, found.stderr
    assert "traced / plain" in found.stdout
    records = [json.loads(line) for line in out.read_text().splitlines()]
    runs = [record for record in records if record.get("study") == "stalls"]
    assert len(runs) == 12
    for each in runs:
        RECORDS.validate(each)
        values = each["values"]
        assert (values["trace"] is not None) == (each["block"] < TRACED_RUNS)
        plain = values["plain_operations_per_s"] * values["plain_run_ns"] * 1e-9
        assert plain == pytest.approx(
            values["operations"]
        )  # equal in both halves, because of --loops
    folder = tmp_path / "records.jsonl.traces"
    named = sorted(each["values"]["trace"] for each in runs if each["values"]["trace"])
    assert named == sorted(path.name for path in folder.iterdir())
    assert len(named) == 2 * TRACED_RUNS


@pytest.mark.parametrize("name", INJECTED)
def test_injected_stalls_are_in_the_trace(name: str, tmp_path: Path) -> None:
    path = tmp_path / "injected.trace"
    arguments = ["--inject", name, "--times", "20", "--trace", str(path)]
    found = subprocess.run(
        [harness_path(), *arguments], capture_output=True, text=True, timeout=100, check=False
    )
    if found.returncode == ExitStatus.MISSING_CAPABILITY:
        assert any(remedy in found.stderr for remedy in (*REMEDIES, "two processors"))
        pytest.skip(f"this machine cannot inject it: {found.stderr}")
    assert found.returncode == 0, found.stderr
    summary = json.loads(found.stdout)
    truth = [json.loads(line) for line in Path(summary["truth"]).read_text().splitlines()]
    assert 0 < len(truth) == summary["injected"] <= 20
    assert summary["injected"] + summary["discarded"] >= 20
    trace = Trace.read(path)
    for each in truth:
        assert each["class"] == name
        (waiter,) = [ring for ring in trace.of_kind(STAMPS) if ring.tid == each["tid"]]
        # The stall ends by the waiter's acquisition.
        ends = [
            ticks
            for ticks, lock, kind, _, _ in waiter.events
            if kind == ACQUIRED and lock == each["lock"]
        ]
        assert any(each["begin_ticks"] < end <= each["end_ticks"] for end in ends)
    if name == "machine_gap":
        gaps = [length for *_, length in trace.of_kind(GAPS)[0].events]
        assert len(gaps) >= len(truth)
    if name == "migration":
        assert any(MIGRATED in ring.kinds() for ring in trace.of_kind(SWITCHES))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("--inject", "no_such_class", "--times", "1", "--trace", "x"),
            "choose from holder_preempt",
        ),
        (("--inject", "barging", "--times", "many", "--trace", "x"), "--times many"),
        (("--inject", "barging", "--times", "1"), "--trace is missing"),
    ],
)
def test_injection_says_what_is_wrong(arguments: tuple[str, ...], complaint: str) -> None:
    found = subprocess.run(
        [harness_path(), *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert found.returncode == ExitStatus.BAD_USAGE
    assert complaint in found.stderr
