# SPDX-License-Identifier: Apache-2.0
"""Prints the diagnosis: one sentence, then the findings, then the checks that passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from lockyard.doctor.findings import Severity
from lockyard.report.console import stdout_console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockyard.doctor.checks import Diagnosis
    from lockyard.doctor.findings import Finding

STYLES = {Severity.DISTORTS: "bold red", Severity.LIMITS: "yellow", Severity.NOTE: "cyan"}


def print_diagnosis(diagnosis: Diagnosis, environment: dict[str, Any]) -> None:
    console = stdout_console()
    for line in _lines(diagnosis, environment):
        # A command that is broken into two lines could not be copied.
        console.print(line, highlight=False, soft_wrap=True)


def _lines(diagnosis: Diagnosis, environment: dict[str, Any]) -> Iterator[Text]:
    yield Text(f"{diagnosis.sentence[0].upper()}{diagnosis.sentence[1:]}.", "bold")
    for name, finding in diagnosis.findings.items():
        yield Text()
        yield from _finding(name, finding)
    for title, rest in (
        ("fine", {name: each.text for name, each in diagnosis.fine.items()}),
        ("unknown", {name: each.reason for name, each in diagnosis.unknown.items()}),
        ("environment", dict(_environment(environment))),
    ):
        if rest:
            yield Text()
            yield Text(title, "bold")
        for name, text in rest.items():
            yield Text(f"  {name:20} {text}")


def _finding(name: str, finding: Finding) -> Iterator[Text]:
    yield Text.assemble((finding.severity, STYLES[finding.severity]), f"  {name}: {finding.cause}")
    yield Text(f"  {finding.consequence}")
    if finding.remedy is None:
        yield Text(f"  no command fixes it: {finding.about_remedy}")
        return
    yield Text(f"  fix{f' ({finding.about_remedy})' if finding.about_remedy else ''}:")
    yield Text(f"    {finding.remedy}", "bold")


def _environment(environment: dict[str, Any]) -> Iterator[tuple[str, str]]:
    system, cpu = environment["system"], environment["cpu"]
    yield (
        "machine",
        f"{cpu['model']}, {environment['limits']['processors_usable']} processors usable",
    )
    yield "kernel", f"Linux {system['kernel']} {system['kernel_version']}, {system['libc']}"
    yield (
        "memory",
        f"huge pages {system['transparent_hugepages']}, address randomisation {system['aslr']}",
    )
    yield "mitigations", ", ".join(_mitigations(cpu["mitigations"])) or "none"
    if environment["pressure_cpu"]:
        yield "pressure on cpu", environment["pressure_cpu"].splitlines()[0]
    if environment["harness"]:
        yield (
            "harness",
            f"{environment['harness']['compiler']} {environment['harness']['compiler_flags']}",
        )


def _mitigations(found: dict[str, str | None]) -> Iterator[str]:
    for name, state in found.items():
        if state and state.startswith("Mitigation"):
            yield name
