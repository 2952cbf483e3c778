# SPDX-License-Identifier: Apache-2.0
"""All checks of lockyard doctor, and their combined result."""

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
    """The outcomes by the name of the check; the most severe findings come first."""

    findings: dict[str, Finding]
    fine: dict[str, Fine]
    unknown: dict[str, Unknown]

    def count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings.values())

    @property
    def sentence(self) -> str:
        distorts, limits, notes = (self.count(severity) for severity in Severity)
        parts = [
            _are(distorts, "problem distorts", "problems distort", "measurements here"),
            _are(limits, "capability is", "capabilities are", "unavailable here"),
            f"{notes} note{'' if notes == 1 else 's'}",
            f"{len(self.fine)} checks passed",
        ]
        if self.unknown:
            parts.append(f"{len(self.unknown)} could not run")
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
    """Runs a check. A file in an unknown format must not hide what the other checks find."""
    try:
        return check(facts)
    except (ArithmeticError, LookupError, OSError, ValueError) as error:
        return Unknown(f"the kernel's answer has an unknown format: {error!r}")


def _are(count: int, one: str, several: str, what: str) -> str:
    if count == 0:
        return f"no {one} {what}"
    return f"{count} {one if count == 1 else several} {what}"
