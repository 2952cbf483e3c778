# SPDX-License-Identifier: Apache-2.0
"""Show what would distort measurements here, what is not permitted, and how to fix it."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from lockyard.cli.arguments import Json
from lockyard.cli.command import command_of, options_class
from lockyard.doctor.checks import examine
from lockyard.doctor.facts import collect
from lockyard.doctor.findings import Severity
from lockyard.errors import ExitStatus

if TYPE_CHECKING:
    from lockyard.doctor.checks import Diagnosis

SCHEMA = 1


@options_class
class DoctorOptions:
    as_json: Json = False


@command_of(DoctorOptions, "lockyard doctor", "lockyard doctor --json | jq '.findings[].remedy'")
def command(options: DoctorOptions) -> int:
    """Returns the exit status: findings do not fail; a harness that cannot start does."""
    facts = collect()
    diagnosis = examine(facts)
    environment = {
        **facts.described,
        "harness": facts.harness,
        "pressure_cpu": facts.kernel.read("/proc/pressure/cpu"),
    }
    if options.as_json:
        print(json.dumps(document(diagnosis, environment)))  # noqa: T201
    else:
        from lockyard.doctor.text import print_diagnosis

        print_diagnosis(diagnosis, environment)
    return ExitStatus.DONE if facts.harness is not None else ExitStatus.MISSING_CAPABILITY


def document(diagnosis: Diagnosis, environment: dict[str, Any]) -> dict[str, Any]:
    """Returns the document that schema/doctor.schema.json describes."""
    return {
        "schema": SCHEMA,
        "record": "doctor",
        "summary": {
            "sentence": diagnosis.sentence,
            **{severity.value: diagnosis.count(severity) for severity in Severity},
            "fine": len(diagnosis.fine),
            "unknown": len(diagnosis.unknown),
        },
        "findings": [
            {"name": name, **dataclasses.asdict(each)} for name, each in diagnosis.findings.items()
        ],
        "fine": [{"name": name, "text": each.text} for name, each in diagnosis.fine.items()],
        "unknown": [
            {"name": name, "reason": each.reason} for name, each in diagnosis.unknown.items()
        ],
        "environment": environment,
    }
