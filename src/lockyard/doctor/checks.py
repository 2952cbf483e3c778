# SPDX-License-Identifier: Apache-2.0
"""All checks, and what they come to together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lockyard.doctor import (
    clock,
    installation,
    neighbours,
    permissions,
    processors,
    scheduler,
)
from lockyard.doctor.facts import Facts
from lockyard.doctor.findings import Finding, Fine, Outcome, Severity, Unknown

Check = Callable[[Facts], Outcome]

CHECKS: tuple[Check, ...] = (
    installation.harness,
    processors.governor,
    processors.boost,
    processors.idle_states,
    processors.smt,
    processors.virtualisation,
    processors.container,
    processors.steal,
    clock.clock_source,
    clock.tsc,
    clock.clock_skew,
    clock.timer_slack,
    scheduler.cpu_quota,
    scheduler.usable_processors,
    scheduler.isolated_processors,
    scheduler.started_policy,
    scheduler.realtime_throttle,
    scheduler.autogroup,
    scheduler.preemption,
    permissions.realtime,
    permissions.negative_nice,
    permissions.membarrier,
    permissions.context_switches,
    permissions.tracepoints,
    permissions.quota_condition,
    neighbours.busy_neighbours,
    neighbours.load_average,
    neighbours.memory,
    installation.own_locks,
    installation.compiler,
    installation.cmake,
    installation.pkg_config,
)


@dataclass(frozen=True)
class Diagnosis:
    """By the name of the check; findings most severe first."""

    findings: dict[str, Finding]
    fine: dict[str, Fine]
    unknown: dict[str, Unknown]

    def count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings.values())

    @property
    def sentence(self) -> str:
        spoils, limits, notes = (self.count(severity) for severity in Severity)
        parts = [
            f"{_things(spoils)} will spoil measurements",
            f"{_things(limits)} cannot be had here",
            f"{notes} {'is' if notes == 1 else 'are'} worth knowing",
            f"{len(self.fine)} checks are fine",
        ]
        if self.unknown:
            parts.append(f"{len(self.unknown)} could not be made")
        return ", ".join(parts)


def examine(facts: Facts) -> Diagnosis:
    outcomes = {check.__name__: _outcome(check, facts) for check in CHECKS}
    findings = {name: each for name, each in outcomes.items() if isinstance(each, Finding)}
    order = list(Severity)
    return Diagnosis(
        dict(sorted(findings.items(), key=lambda item: order.index(item[1].severity))),
        {name: each for name, each in outcomes.items() if isinstance(each, Fine)},
        {name: each for name, each in outcomes.items() if isinstance(each, Unknown)},
    )


def _outcome(check: Check, facts: Facts) -> Outcome:
    """A file of another shape than the check knows must not hide what the others find."""
    try:
        return check(facts)
    except (ArithmeticError, LookupError, OSError, ValueError) as error:
        return Unknown(f"what the kernel says has an unknown form: {error!r}")


def _things(count: int) -> str:
    return {0: "nothing", 1: "1 thing"}.get(count, f"{count} things")
