# SPDX-License-Identifier: Apache-2.0
"""Checks of the clocks and timers that measurements use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.doctor.findings import Finding, Fine, Outcome, Severity, Unknown
from lockyard.machine import environment
from lockyard.report import clock as told
from lockyard.report.units import duration

if TYPE_CHECKING:
    from lockyard.doctor.facts import Facts

CLOCKS = "/sys/devices/system/clocksource/clocksource0"
# Clock sources that are read without a system call.
QUICK_SOURCES = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
DEFAULT_TIMER_SLACK_NS = 50_000


def clock_source(facts: Facts) -> Outcome:
    current = facts.kernel.read(f"{CLOCKS}/current_clocksource")
    if current is None:
        return Unknown("the kernel does not report its clock source")
    if current in QUICK_SOURCES:
        return Fine(f"the kernel's clock is {current}")
    offered = (facts.kernel.read(f"{CLOCKS}/available_clocksource") or "").split()
    evidence = {"current": current, "available": offered}
    better = next((name for name in QUICK_SOURCES if name in offered), None)
    return Finding(
        Severity.DISTORTS,
        f"the kernel's clock is {current}, which takes a system call to read",
        "each clock read costs about a microsecond, in locks with time limits and in the harness",
        facts.write(better, f"{CLOCKS}/current_clocksource") if better else None,
        "" if better else "the kernel offers no faster clock; 'dmesg | grep -i tsc' shows why",
        evidence,
    )


def tsc(facts: Facts) -> Outcome:
    """Checks the time-stamp counter, which the harness reads where it can."""
    if facts.harness is not None:
        is_invariant, source = facts.harness["clock"]["tsc_invariant"], _source(facts)
    else:
        flags = (environment.cpuinfo(facts.kernel, "flags") or "").split()
        is_invariant, source = {"constant_tsc", "nonstop_tsc"} <= set(flags), "unknown"
        if not flags:
            return Unknown("the harness does not start and /proc/cpuinfo lists no flags")
    if is_invariant and source in ("tsc", "unknown"):
        return Fine("the time-stamp counter always runs at one rate")
    kind = told.refusal(facts.harness["clock"]) if facts.harness else told.NOT_INVARIANT
    cause = "the harness does not use the time-stamp counter"
    if kind == told.NOT_INVARIANT:
        cause = "the time-stamp counter changes its rate or stops in deep sleep"
    elif facts.harness is not None:
        cause = f"{cause}: {told.why_refused(facts.harness['clock'])}"
    return Finding(
        Severity.DISTORTS,
        cause,
        "the harness reads CLOCK_MONOTONIC_RAW instead, so short times are mostly clock reads",
        None,
        _remedy(kind),
        {"tsc_invariant": is_invariant, "harness_clock": source, "refused": kind},
    )


def _remedy(refusal: str) -> str:
    if refusal in told.OF_BUSY_MACHINES:
        return "the machine is too busy to compare its cores: end other programs and try again"
    if refusal == told.APART:
        return "the check clock_skew says what to do"
    return (
        "the processor or the hypervisor decides; for a virtual machine, ask for an invariant tsc "
        "(QEMU: -cpu host,+invtsc)"
    )


def clock_skew(facts: Facts) -> Outcome:
    if facts.harness is None:
        return Unknown("the harness measures it and does not start")
    clock = facts.harness["clock"]
    evidence = {key: clock[key] for key in clock if key.startswith("skew")}
    skew = told.skew(clock)
    if clock["skew_pairs_apart"] > 0:
        return Finding(
            Severity.DISTORTS,
            f"the cores' counters differ by up to {skew}",
            "times between two cores are wrong by as much",
            None,
            "firmware or hypervisor set the counters: restart the machine, or use --pin with one "
            "processor",
            evidence,
        )
    if clock["skew_pairs"] < clock["skew_pairs_wanted"]:
        return Unknown(f"only {told.compared_pairs(clock)} could be compared")
    if clock.get("skew_pairs_wide", 0) > 0:
        return Unknown(told.too_wide(clock))
    return Fine(f"the cores' counters agree: they differ by at most {skew}")


def timer_slack(facts: Facts) -> Outcome:
    slack_ns = facts.kernel.number("/proc/self/timerslack_ns")
    if slack_ns is None:
        return Unknown("the kernel does not report it (Linux 4.6 and later do)")
    if slack_ns == DEFAULT_TIMER_SLACK_NS:
        return Fine("timers may fire up to 50 µs late, the default")
    return Finding(
        Severity.DISTORTS if slack_ns > DEFAULT_TIMER_SLACK_NS else Severity.NOTE,
        f"timer slack is {duration(slack_ns)} instead of 50 µs",
        "sleeps and timed waits end up to that much late, so figures differ from other shells'",
        "echo 0 >/proc/$$/timerslack_ns",
        "for this shell and what it starts",
        {"timerslack_ns": slack_ns},
    )


def _source(facts: Facts) -> str:
    return str(facts.harness["clock"]["source"]) if facts.harness else "unknown"
