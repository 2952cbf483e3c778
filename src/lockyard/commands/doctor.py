# SPDX-License-Identifier: Apache-2.0
"""lockyard doctor: what would distort measurements here, and how to fix it."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from lockyard.doctor import fixing
from lockyard.doctor.checks import examine
from lockyard.doctor.facts import collect
from lockyard.doctor.findings import Severity
from lockyard.errors import ExitStatus, UsageError
from lockyard.machine.settings import FIXES
from lockyard.machine.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.doctor.checks import Diagnosis

SCHEMA = 1


def check_words(names: Sequence[str], to_fix: bool, every: bool, to_undo: bool) -> None:
    """Refuses combinations of options that contradict each other or have no effect."""
    if to_undo and (to_fix or names or every):
        raise UsageError(
            "--undo takes every fix back, so it needs no names and no --fix; drop one of them"
        )
    if (names or every) and not to_fix:
        raise UsageError("names and --all say what to fix: add --fix")
    if to_fix and bool(names) == every:
        raise UsageError(f"--fix: name what to fix ({', '.join(FIXES)}), or give --all, not both")


def fix(names: Sequence[str], every: bool, as_json: bool) -> ExitStatus:
    """Changes the named settings, or all that the examination finds fault with."""
    if every:
        names = [name for name in examine(collect()).findings if name in FIXES]
    done = fixing.fix(fixing.wanted(names), Tree())
    if as_json:
        found = [dataclasses.asdict(each) for each in done]
        print(json.dumps({"schema": SCHEMA, "record": "fixes", "fixes": found}))  # noqa: T201
    else:
        for each in done:
            why = f": {each.reason}" if each.reason else ""
            print(f"{each.outcome:9} {each.setting}={each.value}{why}")  # noqa: T201
        if not done:
            print("nothing to fix")  # noqa: T201
        if any(each.outcome == "changed" for each in done):
            print("to undo: lockyard doctor --undo")  # noqa: T201
    refused = any(each.outcome == "refused" for each in done)
    return ExitStatus.MISSING_CAPABILITY if refused else ExitStatus.DONE


def undo(as_json: bool) -> ExitStatus:
    names, problems = fixing.undo(Tree())
    if as_json:
        document = {"schema": SCHEMA, "record": "undone", "settings": names, "problems": problems}
        print(json.dumps(document))  # noqa: T201
    else:
        print(f"restored: {', '.join(names) or 'nothing was changed'}")  # noqa: T201
        for problem in problems:
            print(f"not restored: {problem}")  # noqa: T201
    return ExitStatus.MISSING_CAPABILITY if problems else ExitStatus.DONE


def run(as_json: bool) -> ExitStatus:
    """Returns the exit status: findings do not fail; a harness that cannot start does."""
    facts = collect()
    diagnosis = examine(facts)
    environment = {
        **facts.described,
        "harness": facts.harness,
        "pressure_cpu": facts.tree.read("/proc/pressure/cpu"),
    }
    if as_json:
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
