# SPDX-License-Identifier: Apache-2.0
"""What the checks of lockyard doctor say of a healthy machine and of one that says nothing."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from fake_machine import AFTER, BEFORE, CLOCK, CPU, FILES, GROUP, HARNESS, MOUNT_V1, machine

from lockyard.doctor import checks
from lockyard.doctor.facts import Facts
from lockyard.doctor.findings import Severity
from lockyard.doctor.sample import Process, Processor, Sample, take
from lockyard.machine.cgroup import groups
from lockyard.machine.procfs import KernelFiles, processors

if TYPE_CHECKING:
    from pathlib import Path

VIRTUAL = {"/proc/cpuinfo": "flags\t\t: hypervisor\n"}


def test_a_healthy_machine_has_no_findings(tmp_path: Path) -> None:
    diagnosis = checks.examine(machine(tmp_path))
    assert diagnosis.findings == {}
    assert diagnosis.unknown == {}
    assert list(diagnosis.fine) == [check.__name__ for check in checks.CHECKS]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("governor", f"{CPU}/cpu[01]/cpufreq/scaling_governor"),
        ("boost", f"{CPU}/cpufreq/boost"),
        ("idle_states", f"{CPU}/cpu0/cpuidle/state1/latency"),
        ("virtualisation", "/proc/cpuinfo"),
        ("isolated_processors", f"{CPU}/isolated"),
        ("smt", f"{CPU}/cpu[01]/topology/thread_siblings_list"),
        ("clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("timer_slack", "/proc/self/timerslack_ns"),
        ("cpu_quota", "/proc/self/mountinfo"),
        ("usable_processors", f"{CPU}/online"),
        ("started_policy", "/proc/self/stat"),
        ("realtime_throttle", "/proc/sys/kernel/sched_rt_runtime_us"),
        ("context_switches", "/proc/sys/kernel/perf_event_paranoid"),
        ("load_average", "/proc/loadavg"),
        ("memory", "/proc/meminfo"),
    ],
)
def test_what_cannot_be_read_is_unknown_and_never_fine(
    tmp_path: Path, name: str, path: str
) -> None:
    missing = dict.fromkeys([path.replace("[01]", cpu) for cpu in "01"])
    if name == "idle_states":
        missing[f"{CPU}/cpu0/cpuidle/state1/disable"] = None
    assert name in checks.examine(machine(tmp_path, missing)).unknown


def test_a_hypervisor_that_never_reports_steal_may_not_report_it(tmp_path: Path) -> None:
    assert "steal" in checks.examine(machine(tmp_path, VIRTUAL)).unknown


def test_skew_of_pairs_that_were_not_compared_is_unknown(tmp_path: Path) -> None:
    harness = {**HARNESS, "clock": {**CLOCK, "skew_pairs": 0}}
    assert "clock_skew" in checks.examine(machine(tmp_path, harness=harness)).unknown


def test_cores_that_could_not_be_compared_well_enough_are_not_taken_for_fine(
    tmp_path: Path,
) -> None:
    clock = {**CLOCK, "source": "monotonic_raw", "tsc_refused": "too_wide", "skew_pairs_wide": 1}
    bounds = {"skew_ns": 3.16e6, "skew_uncertainty_ns": 7.84e6, "skew_attempts": 32}
    harness = {**HARNESS, "clock": {**clock, **bounds, "skew_limit_ns": 500.0}}
    diagnosis = checks.examine(machine(tmp_path, harness=harness))
    within = "two cores' counters are only known to agree within 11.0 ms, after 32 attempts"
    assert diagnosis.unknown["clock_skew"].reason == within
    finding = diagnosis.findings["tsc"]
    assert finding.cause.endswith(f"{within}, and idle needs 500 ns")
    assert "end other programs" in finding.about_remedy


def test_a_file_of_an_unknown_form_hides_no_other_check(tmp_path: Path) -> None:
    diagnosis = checks.examine(machine(tmp_path, {"/proc/loadavg": "much"}))
    assert "unknown form" in diagnosis.unknown["load_average"].reason
    assert len(diagnosis.fine) == len(checks.CHECKS) - 1


def test_what_is_fine_without_any_facts_is_fine_by_their_absence(tmp_path: Path) -> None:
    diagnosis = checks.examine(Facts(kernel=KernelFiles(tmp_path)))
    assert set(diagnosis.fine) == {
        "container",
        "autogroup",
        "realtime",
        "negative_nice",
        "membarrier",
    }


def test_findings_come_most_severe_first(tmp_path: Path) -> None:
    faults: dict[str, str | None] = {"/.dockerenv": "", f"{CPU}/cpufreq/boost": "1"}
    found = checks.examine(machine(tmp_path, {**faults, f"{CPU}/online": "0-2"}))
    assert [each.severity for each in found.findings.values()] == list(Severity)
    assert found.sentence == (
        "1 problem distorts measurements here, 1 capability is unavailable here, 1 note, "
        f"{len(checks.CHECKS) - 3} checks passed"
    )


def test_a_held_latency_bound_makes_deep_idle_states_harmless(tmp_path: Path) -> None:
    state = f"{CPU}/cpu0/cpuidle/state3"
    facts = machine(tmp_path, {f"{state}/latency": "133", f"{state}/disable": "0"})
    assert "idle_states" in checks.examine(facts).findings
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "cpu_dma_latency").write_bytes((0).to_bytes(4, "little"))
    assert "idle_states" in checks.examine(facts).fine


def test_one_tick_is_too_little_to_call_a_process_busy(tmp_path: Path) -> None:
    used = {**AFTER.processes, 60: Process("editor", 1, 800, 11)}
    one_tick = dataclasses.replace(AFTER, processes=used)
    assert "busy_neighbours" in checks.examine(machine(tmp_path, after=one_tick)).fine


def test_a_new_process_with_an_old_number_is_another_one(tmp_path: Path) -> None:
    reused = dataclasses.replace(AFTER, processes={60: Process("make", 1, 950, 900)})
    facts = machine(tmp_path, after=reused)
    assert "busy_neighbours" in checks.examine(facts).fine


def test_what_this_process_and_its_children_use_is_no_neighbour(tmp_path: Path) -> None:
    own = {50: Process("lockyard", 40, 900, 30), 51: Process("child", 50, 901, 30)}
    before = dataclasses.replace(BEFORE, processes={50: own[50], 51: Process("child", 50, 901, 0)})
    after = dataclasses.replace(AFTER, processes=own)
    assert "busy_neighbours" in checks.examine(machine(tmp_path, before=before, after=after)).fine


def test_reads_counters_of_processors_and_processes(tmp_path: Path) -> None:
    stat = "7 (a) b (c) S 1 7 7 0 -1 0 0 0 0 0 11 4 0 0 20 0 1 0 99 0 0"
    files = {
        "/proc/stat": "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 5 6 7 8 0 0\nintr 5\n",
        "/proc/7/stat": stat,
        "/proc/vmstat": "pgfree 9\npswpin 2\npswpout 3\n",
    }
    found = take(machine(tmp_path, {**files, "/proc/self/stat": stat}).kernel)
    assert found == Sample(
        at_s=found.at_s,
        own_pid=7,
        processors={0: Processor(busy=19, steal=8, all=72)},
        processes={7: Process("a) b (c", 1, 99, 15)},
        swapped_pages=5,
    )


@pytest.mark.parametrize(
    ("membership", "mount", "paths"),
    [
        (
            "0::/user.slice/session",
            FILES["/proc/self/mountinfo"],
            [GROUP, GROUP[:-8], "/sys/fs/cgroup"],
        ),
        (
            "1:cpu:/a/b\n0::/",
            MOUNT_V1,
            [f"/sys/fs/cgroup/cpu{each}" for each in ("/a/b", "/a", "")],
        ),
        # A container that sees only its own part, and one that was started outside of it.
        ("1:cpu:/docker/x", MOUNT_V1.replace(" / ", " /docker/x "), ["/sys/fs/cgroup/cpu"]),
        ("1:cpu:/../y", MOUNT_V1, ["/sys/fs/cgroup/cpu/y", "/sys/fs/cgroup/cpu"]),
        ("1:cpu:/", "", None),
    ],
)
def test_finds_control_groups_up_to_the_mount(
    tmp_path: Path, membership: str, mount: str, paths: list[str] | None
) -> None:
    files = {"/proc/self/cgroup": membership, "/proc/self/mountinfo": mount}
    found = groups(machine(tmp_path, files).kernel, "cpu")
    assert (found.paths if found else None) == paths


def test_reads_lists_of_processors() -> None:
    assert processors("0-2,5,7-8") == [0, 1, 2, 5, 7, 8]
    assert processors("") == []


def test_steal_since_start_counts_although_there_is_none_now(tmp_path: Path) -> None:
    before = dataclasses.replace(BEFORE, processors={0: Processor(100, 500, 10_000)})
    after = dataclasses.replace(AFTER, processors={0: Processor(101, 500, 10_020)})
    facts = machine(tmp_path, before=before, after=after)
    assert "steal" in checks.examine(facts).findings


def test_names_the_tightest_quota_of_several(tmp_path: Path) -> None:
    above = "/sys/fs/cgroup/user.slice/cpu.max"
    facts = machine(tmp_path, {f"{GROUP}/cpu.max": "150000 100000", above: "50000 100000"})
    assert above in str(checks.examine(facts).findings["cpu_quota"].remedy)


def test_an_old_version_is_compared_by_its_numbers(tmp_path: Path) -> None:
    facts = machine(tmp_path, tools={"g++": "9.4.0", "cmake": "3.4.0"})
    assert {"compiler", "cmake"} <= set(checks.examine(facts).findings)
