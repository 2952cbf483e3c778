# SPDX-License-Identifier: Apache-2.0
"""Show what would distort measurements here, what is not permitted, and how to fix it."""

from __future__ import annotations

from lockyard.cli.arguments import Json
from lockyard.cli.command import command_of, options_class
from lockyard.doctor.checks import examine
from lockyard.doctor.document import document
from lockyard.doctor.facts import collect
from lockyard.documents import print_document
from lockyard.errors import ExitStatus


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
        print_document(document(diagnosis, environment))
    else:
        from lockyard.doctor.text import print_diagnosis

        print_diagnosis(diagnosis, environment)
    return ExitStatus.DONE if facts.harness is not None else ExitStatus.MISSING_CAPABILITY
