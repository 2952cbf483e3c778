# SPDX-License-Identifier: Apache-2.0
"""Settings of the machine, on a machine in files: what is changed, refused and undone."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_settings import CPU, DEBUG, KERNEL, PAGES

from lockyard import options
from lockyard.doctor import fixing
from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.machine import isolation, settings
from lockyard.machine.arrangement import Arrangement
from lockyard.machine.change import Change, RefusedError
from lockyard.machine.journal import Journal, write
from lockyard.machine.processor_use import processor_use, used_between
from lockyard.machine.procfs import KernelFiles
from lockyard.machine.settings import FIXES, SETTINGS, planned

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("name", "value", "writes"),
    [
        ("idle_states", "off", {f"{CPU}/cpu{cpu}/cpuidle/state1/disable": "1" for cpu in (0, 1)}),
        ("governor", "performance", {f"{CPU}/cpu0/cpufreq/scaling_governor": "performance"}),
        ("boost", "off", {f"{CPU}/intel_pstate/no_turbo": "1"}),
        ("boost", "on", {}),
        ("preemption", "none", {f"{DEBUG}/preempt": "none"}),
        ("preemption", "full", {}),
        ("base_slice", "3ms", {f"{DEBUG}/base_slice_ns": "3000000"}),
        ("migration_cost", "0.5us", {f"{DEBUG}/migration_cost_ns": "500"}),
        ("features", "NO_PLACE_LAG+NEXT_BUDDY", {f"{DEBUG}/features": "NO_PLACE_LAG"}),
        ("features", "RUN_TO_PARITY", {f"{DEBUG}/features": "RUN_TO_PARITY"}),
        ("rt_throttle", "off", {f"{KERNEL}/sched_rt_runtime_us": "-1"}),
        ("smt", "off", {f"{CPU}/smt/control": "off"}),
        ("irq_affinity", "0+2", {f"/proc/irq/{irq}/smp_affinity_list": "0,2" for irq in (24, 25)}),
        ("irq_affinity", "1", {"/proc/irq/24/smp_affinity_list": "1"}),
        ("huge_pages", "never", {PAGES: "never"}),
        ("huge_pages", "as_found", {}),
        ("perf_paranoia", "2", {f"{KERNEL}/perf_event_paranoid": "2"}),
    ],
)
def test_a_setting_is_the_writes_that_bring_it_about(
    tree: KernelFiles, name: str, value: str, writes: dict[str, str]
) -> None:
    found = planned(tree, name, value)
    assert {change.path: change.after for change in found} == writes
    assert {change.setting for change in found} <= {name}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("idle_states", "off"),
        ("governor", "performance"),
        ("boost", "off"),
        ("preemption", "none"),
        ("base_slice", "3ms"),
        ("rt_throttle", "100ms/500ms"),
        ("irq_affinity", "0+2"),
        ("huge_pages", "never"),
    ],
)
def test_every_change_knows_what_was_there(tree: KernelFiles, name: str, value: str) -> None:
    for change in planned(tree, name, value):
        found = tree.read(change.path) or ""
        assert (
            change.before == found or f"[{change.before}]" in found or f"({change.before})" in found
        )


def placed_by_the_kernel(*irqs: int) -> Callable[[KernelFiles, str, str], None]:
    """Returns a write that fails for these interrupts, as the kernel's does."""

    def attempt(tree: KernelFiles, path: str, value: str) -> None:
        if any(f"/irq/{irq}/" in path for irq in irqs):
            raise OSError(errno.EIO, "Input/output error")
        write(tree, path, value)

    return attempt


def test_interrupts_that_the_kernel_places_stay(
    tree: KernelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "write", placed_by_the_kernel(25))
    (change,) = planned(tree, "irq_affinity", "0+2")
    assert change.path == "/proc/irq/24/smp_affinity_list"
    monkeypatch.setattr(settings, "write", placed_by_the_kernel(24, 25))
    with pytest.raises(RefusedError, match="places all interrupts of this machine itself"):
        planned(tree, "irq_affinity", "0+2")


def test_a_feature_is_undone_by_its_opposite(tree: KernelFiles) -> None:
    found = planned(tree, "features", "NO_PLACE_LAG+RUN_TO_PARITY")
    assert [(each.before, each.after) for each in found] == [
        ("PLACE_LAG", "NO_PLACE_LAG"),
        ("NO_RUN_TO_PARITY", "RUN_TO_PARITY"),
    ]


@pytest.mark.parametrize(
    ("there", "name", "value", "after"),
    [
        ({f"{CPU}/cpufreq/boost": "1"}, "boost", "off", "0"),
        ({f"{CPU}/cpufreq/boost": "0"}, "boost", "on", "1"),
        ({f"{DEBUG}/min_granularity_ns": "3000000"}, "base_slice", "1ms", "1000000"),
        ({f"{KERNEL}/sched_min_granularity_ns": "3000000"}, "base_slice", "2ms", "2000000"),
        ({f"{KERNEL}/sched_migration_cost_ns": "500000"}, "migration_cost", "1us", "1000"),
    ],
)
def test_finds_a_setting_where_other_kernels_and_drivers_have_it(
    tmp_path: Path, there: dict[str, str], name: str, value: str, after: str
) -> None:
    ((path, text),) = there.items()
    file = tmp_path / path.lstrip("/")
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert planned(KernelFiles(tmp_path), name, value) == [Change(path, text, after, name)]


@pytest.mark.parametrize("state", ["notsupported", "notimplemented", "forceoff"])
def test_refuses_threads_of_cores_that_the_machine_cannot_switch(
    tree: KernelFiles, state: str
) -> None:
    tree.at(f"{CPU}/smt/control").write_text(state)
    with pytest.raises(RefusedError, match=state):
        planned(tree, "smt", "on")


def test_the_throttle_never_has_a_runtime_above_the_period(tree: KernelFiles) -> None:
    names = [Path(each.path).name for each in planned(tree, "rt_throttle", "100ms/500ms")]
    assert names == ["sched_rt_runtime_us", "sched_rt_period_us"]
    names = [Path(each.path).name for each in planned(tree, "rt_throttle", "2s/3s")]
    assert names == ["sched_rt_period_us", "sched_rt_runtime_us"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("idle_states", "deep", "not one of on, off"),
        ("governor", "schedutil", "no governor 'schedutil', only performance powersave"),
        ("preemption", "rt", "no 'rt' there: choose from none, voluntary, full, lazy"),
        ("base_slice", "3", "not a time with its unit"),
        ("features", "WARP", "no feature 'WARP'"),
        ("rt_throttle", "2s/1s", "at most the period"),
        ("smt", "half", "not one of on, off"),
        ("irq_affinity", "0-3", "not all"),
        ("irq_affinity", "x", "not a list of processors"),
        ("huge_pages", "some", "not one of always, madvise, never"),
    ],
)
def test_refuses_with_the_reason(tree: KernelFiles, name: str, value: str, message: str) -> None:
    with pytest.raises(RefusedError, match=f"{name}={value}: .*{message}"):
        planned(tree, name, value)


def test_refuses_what_the_machine_lacks(tmp_path: Path) -> None:
    for name, value in (
        ("governor", "performance"),
        ("boost", "off"),
        ("smt", "off"),
        ("idle_states", "off"),
    ):
        with pytest.raises(RefusedError, match=f"{name}={value}: "):
            planned(KernelFiles(tmp_path), name, value)
    for name, value in (("preemption", "none"), ("base_slice", "1ms"), ("features", "WARP")):
        with pytest.raises(RefusedError, match="mount -t debugfs"):
            planned(KernelFiles(tmp_path), name, value)


def test_a_refusal_takes_back_what_was_already_changed(tree: KernelFiles, kept: Journal) -> None:
    arrangement = Arrangement(kept)
    arrangement.arrange({"perf_paranoia": "2"})
    assert tree.read(f"{KERNEL}/perf_event_paranoid") == "2"
    with pytest.raises(RefusedError, match="smt=half"):
        arrangement.arrange({"perf_paranoia": "1", "smt": "half"})
    assert tree.read(f"{KERNEL}/perf_event_paranoid") == "4"


def test_what_the_kernel_grants_is_read_back(
    kept: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockyard.machine.journal.write", lambda *_: None)
    with pytest.raises(RefusedError, match=r"is 4 instead of 2; the kernel\s+granted"):
        Arrangement(kept).arrange({"perf_paranoia": "2"})


def test_doctor_fixes_and_undoes(tree: KernelFiles) -> None:
    wishes = fixing.wanted(["context_switches", "base_slice=7ms", "perf_paranoia=2", "smt=half"])
    found = {each.setting: each.outcome for each in fixing.fix(wishes, tree)}
    assert found == {"perf_paranoia": "in force", "base_slice": "changed", "smt": "refused"}
    assert tree.read(f"{KERNEL}/perf_event_paranoid") == "2"
    assert tree.read(f"{DEBUG}/base_slice_ns") == "7000000"
    assert fixing.undo(tree) == fixing.Undone(["perf_paranoia", "base_slice"], [], [])
    assert tree.read(f"{KERNEL}/perf_event_paranoid") == "4"
    assert tree.read(f"{DEBUG}/base_slice_ns") == "1400000"
    with pytest.raises(UsageError, match="--fix steal: not a problem that lockyard can fix"):
        fixing.wanted(["steal"])
    with pytest.raises(UsageError, match=r"give huge_pages=VALUE, where VALUE is: always, madv"):
        fixing.wanted(["huge_pages"])


def test_doctor_names_a_refused_setting_once_and_the_remedy_of_a_journal_that_fails(
    tree: KernelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("lockyard.machine.journal.write", read_only)
    (found,) = fixing.fix([("base_slice", "7ms")], tree)
    assert found.reason.startswith(f"{DEBUG}/base_slice_ns cannot be set to 7000000 (Read-only")
    monkeypatch.setattr("lockyard.machine.journal._locked", read_only)
    with pytest.raises(MissingCapabilityError, match="make /run/lockyard a folder that can be wri"):
        fixing.fix([("base_slice", "7ms")], tree)


def test_doctor_says_which_settings_it_leaves_as_another_program_wants_them(
    tree: KernelFiles,
) -> None:
    fixing.fix(fixing.wanted(["base_slice=7ms", "migration_cost=1ms"]), tree)
    fixing.fix(fixing.wanted(["base_slice=8ms"]), tree)
    tree.at(f"{DEBUG}/migration_cost_ns").write_text("3")
    assert fixing.undo(tree) == fixing.Undone(["base_slice"], ["migration_cost"], [])
    assert tree.read(f"{DEBUG}/base_slice_ns") == "1400000"
    assert tree.read(f"{DEBUG}/migration_cost_ns") == "3"


def test_every_fix_is_a_setting() -> None:
    assert {name for name, _ in FIXES.values()} <= set(SETTINGS)


def test_combines_the_values_of_settings() -> None:
    given = ["idle-states=off,as_found", "huge_pages=never"]
    assert options.machines("--machine", given) == [
        (("idle_states", "off"), ("huge_pages", "never")),
        (("idle_states", "as_found"), ("huge_pages", "never")),
    ]
    assert options.machines("--machine", []) == []
    for word in ("warp=9", "smt", "smt="):
        with pytest.raises(UsageError, match=f"--machine {word}: not a setting"):
            options.machines("--machine", [word])
    with pytest.raises(UsageError, match="given twice"):
        options.machines("--machine", ["smt=on", "smt=off"])


def test_an_isolation_leaves_processors_to_everything_else(tree: KernelFiles) -> None:
    mount = "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n"
    for path, text in (
        ("/proc/self/mountinfo", mount),
        ("/proc/self/cgroup", "0::/\n"),
        ("/cg/cgroup.controllers", "cpuset"),
    ):
        file = tree.at(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    plan = isolation.planned(tree, "2-3")
    assert (plan.cpus, plan.rest, plan.version) == ("2,3", "0,1", 2)
    assert plan.groups == [tree.at("/cg/lockyard.isolated")]
    for value in ("0-3", "7", "x"):
        with pytest.raises(RefusedError, match=f"isolation={value}"):
            isolation.planned(tree, value)
    plan.group.mkdir()
    with pytest.raises(RefusedError, match="exists already"):
        isolation.planned(tree, "2-3")


def test_records_what_the_processors_did(tree: KernelFiles) -> None:
    for cpu in (0, 1):
        for path, text in (
            ("topology/core_id", "0"),
            ("cpuidle/state1/name", "C6"),
            ("cpuidle/state1/time", "1000"),
            ("cpufreq/scaling_cur_freq", f"{cpu + 1}000000"),
            ("thermal_throttle/core_throttle_count", "3"),
        ):
            file = tree.at(f"{CPU}/cpu{cpu}/{path}")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    before = processor_use(tree)
    tree.at(f"{CPU}/cpu1/thermal_throttle/core_throttle_count").write_text("5")
    tree.at(f"{CPU}/cpu1/cpuidle/state1/time").write_text("9999999999")
    found = used_between(before, processor_use(tree))
    assert found["idle_share"] == {"C6": 1.0, "state0": 0.0}
    assert (found["frequency_least_khz"], found["frequency_most_khz"]) == (1_000_000, 2_000_000)
    assert found["throttled"] == 2
    nothing = processor_use(KernelFiles(tree.root / "empty"))
    assert used_between(nothing, nothing) == {
        "idle_share": {},
        "frequency_least_khz": None,
        "frequency_most_khz": None,
        "throttled": None,
    }
