# SPDX-License-Identifier: Apache-2.0
"""`lockyard profile` names the lock, the holder and the cause of waits that have known ones."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from conftest import COMMAND, as_nobody
from contended_programs import compiled
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

import lockyard as lockyard_package
from lockyard.field_kit import pprof_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

    Lockyard = Callable[..., Outcome]

PATIENCE_S = 60
SCHEMA = Path(lockyard_package.__file__).parent / "schema" / "profile.schema.json"
# On a busy machine, these happen besides what a scene does.
BUSY = ("holder preempted", "woken late")


@pytest.fixture(scope="session")
def contended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("contended") / "contended-threads")


@pytest.fixture
def profiled(lockyard: Lockyard, contended: Path, tmp_path: Path) -> Callable[..., Any]:
    """Profiles a scene, and returns the records and the outcome."""

    def run(*scene: str) -> tuple[list[dict[str, Any]], Outcome]:
        out = tmp_path / "profile.jsonl"
        shown = lockyard("profile", "-o", str(out), "--", str(contended), *scene)
        return [json.loads(line) for line in out.read_text().splitlines()], shown

    return run


def of_kind(records: list[dict[str, Any]], record: str, lock: str) -> list[dict[str, Any]]:
    return [each for each in records if each["record"] == record and each["lock"] == lock]


def waits_by(records: list[dict[str, Any]], lock: str, *keys: str) -> dict[Any, int]:
    """The number of waits by the keys; of stacks the innermost function, "" if it is unknown."""
    found: dict[Any, int] = {}
    for each in of_kind(records, "profile-wait", lock):
        key = tuple(
            next(iter(each[name]), "") if name in ("waiter", "holder") else each[name]
            for name in keys
        )
        found[key] = found.get(key, 0) + each["waits"]
    return found


@pytest.mark.parametrize(
    ("scene", "call", "holder"),
    [("asleep", "clock_nanosleep", "sleep_in_section"), ("system_call", "read", "read_in_section")],
)
def test_a_blocked_holder_is_the_cause(
    profiled: Callable[..., Any], scene: str, call: str, holder: str
) -> None:
    records, shown = profiled(scene, "20")
    waits = waits_by(records, "account", "cause", "system_call", "waiter", "holder")
    total = sum(waits.values())
    blocked = {key: count for key, count in waits.items() if key[0] == "holder blocked"}
    assert {(waiter, held) for _, _, waiter, held in blocked} == {("want_account", holder)}, waits
    # On a busy machine, a holder whose call is over also waits for a processor, and one that has
    # just been woken is still in the call in which it waited for the mutex.
    expected = blocked.get(("holder blocked", call, "want_account", holder), 0)
    assert expected >= 0.75 * sum(blocked.values()), waits
    assert expected >= 0.25 * total, waits
    assert f"of account in {holder}" in shown.stderr.splitlines()[0]


def test_a_long_section_is_the_cause(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("long_section", "20")
    waits = waits_by(records, "account", "waiter", "holder")
    # A waiter that comes while the holder leaves has no holder to name.
    assert waits[("want_account", "compute_in_section")] >= 0.9 * sum(waits.values()), waits
    causes = waits_by(records, "account", "cause")
    assert ("holder blocked",) not in causes
    # On a busy machine, the holder really is preempted now and then, and the waiter woken late.
    explained = sum(causes.get((each,), 0) for each in ("long section", *BUSY))
    assert explained >= 0.9 * sum(causes.values()), causes


def test_a_preempted_holder_is_the_cause(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("preempted", "20")
    causes = waits_by(records, "account", "cause")
    assert causes.get(("holder preempted",), 0) >= 0.75 * sum(causes.values()), causes


def test_a_convoy_counts_the_acquisitions_of_others(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("convoy", "20000")
    (lock,) = of_kind(records, "profile-lock", "account")
    # The mutex counts its acquisitions; the last wait has read the count.
    assert lock["waits"] < lock["acquisitions"] <= 80_000
    assert lock["waits"] > 0
    assert lock["others_first"] > 0
    assert lock["p50_ns"] <= lock["p99_ns"] <= lock["longest_ns"]


def test_each_kind_of_object_has_its_waits_and_its_waker(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("kinds")
    kinds = {each["lock"]: each["kind"] for each in records if each["record"] == "profile-lock"}
    expected = {
        "table": "rwlock for reading", "spinning": "spinlock", "start_line": "barrier",
        "foreign": "futex", "permits": "semaphore", "ready_condition": "condition variable",
    }  # fmt: skip
    assert expected.items() <= kinds.items()
    assert ("want_table", "change_table") in waits_by(records, "table", "waiter", "holder")
    wakers = waits_by(records, "ready_condition", "waiter", "holder")
    assert ("wait_until_ready", "make_ready") in wakers
    assert ("want_permit",) in waits_by(records, "permits", "waiter")


def test_a_writer_that_computes_is_the_cause_of_a_readers_wait(
    profiled: Callable[..., Any],
) -> None:
    records, _ = profiled("writer", "20")
    causes = waits_by(records, "table", "cause", "holder")
    known = {key: count for key, count in causes.items() if key[0] in ("long section", *BUSY)}
    assert sum(known.values()) >= 0.8 * sum(causes.values()), causes
    # A writer that looked for waiters before this one came, and then lost its processor, leaves no
    # note of its release: the cause is known, the holder is not.
    assert {holder for _, holder in known} - {""} == {"change_table_slowly"}, causes


def test_holds_and_gaps_are_sampled_for_measurements(
    lockyard: Lockyard, contended: Path, tmp_path: Path
) -> None:
    path = tmp_path / "lengths.csv"
    shown = lockyard("profile", "--lengths", str(path), "--", str(contended), "regular", "5000")
    assert shown.returncode == 0, shown.stderr
    head, *lines = path.read_text().split()
    assert head == "hold_ns,gap_ns"
    assert len(lines) >= 100
    holds, gaps = (sorted(int(line.split(",")[column]) for line in lines) for column in (0, 1))
    # The scene holds for 20 us of processor time, and then computes for 60 us. The machine may be
    # slow, so only the least of many lengths is known.
    assert 15_000 <= holds[len(holds) // 10] <= 40_000
    assert 45_000 <= gaps[len(gaps) // 10] <= 120_000


def test_a_profile_is_read_back(lockyard: Lockyard, contended: Path, tmp_path: Path) -> None:
    out = tmp_path / "profile.jsonl"
    told = lockyard("profile", "-o", str(out), "--", str(contended), "asleep").stderr
    for shown in (lockyard("report", "--from", str(out)), lockyard("profile", "--from", str(out))):
        assert shown.stdout == told
    again = lockyard("report", "--from", str(out), "--json")
    assert again.stdout == out.read_text()
    explained = lockyard("explain", str(out), "--longer-than", "1ms").stdout
    assert "waited for mutex account" in explained
    assert "the holder was blocked in clock_nanosleep" in explained
    assert "  holder  sleep_in_section" in explained
    waits = json.loads(lockyard("explain", str(out), "--json").stdout)["waits"]
    assert ("holder blocked", "sleep_in_section") in {
        (each["cause"], each["holder"][0]) for each in waits if each["holder"]
    }
    assert (
        len(json.loads(lockyard("explain", str(out), "--top", "1", "--json").stdout)["waits"]) == 1
    )
    out.write_text(out.read_text() + "{}\n")
    broken = lockyard("report", "--from", str(out))
    assert (broken.returncode, "not a record of a profile" in broken.stderr) == (2, True)


def test_a_device_is_written_to_and_stays(
    lockyard: Lockyard, contended: Path, tmp_path: Path
) -> None:
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    shown = lockyard("profile", "-o", str(full), "--", str(contended), "asleep", "1")
    assert shown.returncode == 3
    assert "cannot be written (No space left on device)" in shown.stderr
    assert full.is_symlink()
    assert full.is_char_device()


def test_records_agree_with_their_schema(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("kinds")
    schema = json.loads(SCHEMA.read_text())
    assert {each["record"] for each in records} >= {"profile", "profile-lock", "profile-wait"}
    for each in records:
        jsonschema.validate(each, schema)


def test_a_trace_has_each_long_wait(lockyard: Lockyard, contended: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "waits.pftrace", tmp_path / "profile.jsonl"
    lockyard("profile", "--perfetto", str(path), "-o", str(out), "--", str(contended), "asleep")
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    begins = [each for each in trace.packet if each.track_event.name == "waits for account"]
    waits = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(begins) == sum(each["record"] == "profile-long-wait" for each in waits) > 0
    told = [
        {each.name: each.string_value for each in begin.track_event.debug_annotations}
        for begin in begins
    ]
    blocked = [each for each in told if each.get("system_call") == "clock_nanosleep"]
    assert any(each.get("holder", "").startswith("sleep_in_section") for each in blocked), told
    tracks = [each.track_descriptor for each in trace.packet]
    threads = {each.uuid: each.thread.tid for each in tracks if each.thread.tid}
    assert len(threads) == 1
    long_waits = [each for each in waits if each["record"] == "profile-long-wait"]
    begin_of, slices = dict[int, int](), list[tuple[int, int]]()
    counts = dict[int, list[int]]()
    for each in trace.packet:
        event = each.track_event
        if event.type == event.TYPE_SLICE_BEGIN:
            begin_of[event.track_uuid] = each.timestamp
        elif event.type == event.TYPE_SLICE_END:
            length = each.timestamp - begin_of.pop(event.track_uuid)
            slices.append((threads[event.track_uuid], length))
        elif event.type == event.TYPE_COUNTER:
            counts.setdefault(event.track_uuid, []).append(event.counter_value)
    told_ns = [(each["thread"], each["wait_ns"]) for each in long_waits]
    assert [thread for thread, _ in sorted(slices)] == [thread for thread, _ in sorted(told_ns)]
    assert [ns for _, ns in sorted(slices)] == pytest.approx(
        [ns for _, ns in sorted(told_ns)], abs=2000
    )
    for of_lock in counts.values():
        assert (min(of_lock), max(of_lock), of_lock[-1]) == (0, 1, 0)


def test_pprof_reads_the_file(lockyard: Lockyard, contended: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "waits.pb.gz", tmp_path / "profile.jsonl"
    lockyard("profile", "--pprof", str(path), "-o", str(out), "--", str(contended), "asleep")
    profile = pprof_file.message()
    profile.ParseFromString(gzip.decompress(path.read_bytes()))
    records = [json.loads(line) for line in out.read_text().splitlines()]
    waits = [each for each in records if each["record"] == "profile-wait"]
    assert [list(each.value) for each in profile.sample] == [
        [each["waits"], round(each["wait_ns"])] for each in waits
    ]
    text = profile.string_table
    names = {each.id: text[each.name] for each in profile.function}
    places = {each.id: names[each.line[0].function_id] for each in profile.location}
    innermost = {places[each.location_id[0]] for each in profile.sample}
    assert innermost <= {"behind sleep_in_section", "[mutex account]"}
    if go := shutil.which("go"):
        shown = subprocess.run(
            [go, "tool", "pprof", "-top", path],
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        if shown.returncode == 0:
            assert "want_account" in shown.stdout


def test_folded_stacks_have_waiter_lock_and_holder(
    lockyard: Lockyard, contended: Path, tmp_path: Path
) -> None:
    folded = tmp_path / "folded"
    lockyard("profile", "--folded", str(folded), "--", str(contended), "asleep")
    lines = folded.read_text().splitlines()
    assert all(re.fullmatch(r".+ \d+", line) for line in lines)
    assert any("want_account;[mutex account];behind sleep_in_section" in line for line in lines)


def test_the_processes_of_a_program_have_profiles_of_their_own(
    profiled: Callable[..., Any],
) -> None:
    records, shown = profiled("fork")
    (lock,) = of_kind(records, "profile-lock", "account")
    assert lock["waits"] > 0
    assert shown.returncode == 0


def test_streams_and_status_stay_the_programs_own(lockyard: Lockyard, contended: Path) -> None:
    shown = lockyard("profile", "--", str(contended), "status")
    assert shown.stdout == "own output\n"
    assert shown.stderr.startswith("own error\n")
    assert shown.returncode == 7


@pytest.mark.parametrize(("scene", "status"), [("signal", -signal.SIGTERM), ("quick_exit", 9)])
def test_a_profile_outlives_the_end_of_its_program(
    profiled: Callable[..., Any], scene: str, status: int
) -> None:
    records, shown = profiled(scene)
    assert shown.returncode == status
    assert of_kind(records, "profile-lock", "account")


def test_a_confined_program_is_recorded_and_goes_on(profiled: Callable[..., Any]) -> None:
    records, shown = profiled("confined", "3")
    assert shown.returncode == 0
    assert sum(waits_by(records, "account", "waiter").values()) >= 3


def test_a_confined_program_runs_with_another_lock(lockyard: Lockyard, contended: Path) -> None:
    shown = lockyard("run", "--mutex", "futex_mutex", "--", str(contended), "confined", "3")
    assert shown.returncode == 0


def test_a_program_may_limit_its_address_space(profiled: Callable[..., Any]) -> None:
    records, shown = profiled("limited", "3")
    assert shown.returncode == 0
    assert sum(waits_by(records, "account", "waiter").values()) >= 3


def test_a_running_program_is_read_from_outside(lockyard: Lockyard, contended: Path) -> None:
    with subprocess.Popen(
        [COMMAND, "profile", "--", contended, "endless", "100000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as command:  # fmt: skip
        try:
            assert command.stdout is not None
            assert command.stdout.readline() == "ready\n"
            children = f"/proc/{command.pid}/task/{command.pid}/children"
            (pid,) = (int(each) for each in Path(children).read_text().split())
            end = time.monotonic() + PATIENCE_S
            while "want_account" not in (seen := lockyard("profile", "--from", str(pid)).stdout):
                assert time.monotonic() < end, seen
        finally:
            command.terminate()
        _, told = command.communicate(timeout=PATIENCE_S)
    assert "want_account" in told


def test_records_are_reused_by_later_threads(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("many", "5000")  # more than may have a record at a time
    (process,) = (each for each in records if each["record"] == "profile")
    assert (process["threads"], process["lost"]) == (5000, 0)


def test_a_program_that_no_library_reaches_is_refused(
    lockyard: Lockyard, contended: Path, tmp_path: Path
) -> None:
    static = compiled(tmp_path / "static", "-static")
    shown = lockyard("profile", "--", str(static), "status")
    assert shown.returncode == 3
    assert "is linked statically" in shown.stderr
    assert shown.stdout == ""
    missing = lockyard("profile", "--", str(tmp_path / "none"))
    assert (missing.returncode, "no such file" in missing.stderr) == (127, True)
    text = tmp_path / "text"
    text.write_text("no program")
    assert lockyard("profile", "--", str(text)).returncode == 126
    assert lockyard("profile").returncode == 2
    assert lockyard("profile", "--from", "1", "--", str(contended)).returncode == 2


def test_a_process_without_records_is_an_error(lockyard: Lockyard) -> None:
    shown = lockyard("profile", "--from", str(os.getpid()))
    assert shown.returncode == 2
    assert "writes no records" in shown.stderr


def test_a_program_with_privileges_is_refused(contended: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to make a set-user-id program")
    privileged = tmp_path / "privileged"
    privileged.write_bytes(contended.read_bytes())
    privileged.chmod(0o4755)
    shown = subprocess.run(
        as_nobody(COMMAND, "profile", "--", privileged, "status"),
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    if shown.returncode in (1, 126) or "No such file" in shown.stderr:
        pytest.skip("another user cannot read this installation")
    assert "is setuid" in shown.stderr or shown.returncode == 127
