# SPDX-License-Identifier: Apache-2.0
"""The findings as one JSON document. schema/doctor.schema.json is generated from these types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from lockyard.doctor.findings import Severity
from lockyard.doctor.fixing import Fix
from lockyard.documents import Count, Text

if TYPE_CHECKING:
    from lockyard.doctor.checks import Diagnosis


class Summary(Struct, frozen=True):
    """The sentence of the text, and the number of findings of each kind."""

    sentence: str
    distorts: Count
    limits: Count
    note: Count
    fine: Count
    unknown: Count


class NamedFinding(Struct, frozen=True):
    name: Text
    severity: Severity
    cause: Text
    consequence: Text
    remedy: Annotated[
        str | None,
        Meta(
            description="One shell command; null if no command fixes it; about_remedy then says "
            "why."
        ),
    ]
    about_remedy: str
    evidence: dict[str, Any]


class NamedFine(Struct, frozen=True):
    name: Text
    text: Text


class NamedUnknown(Struct, frozen=True):
    name: Text
    reason: Text


class DoctorDocument(Struct, frozen=True, tag_field="record", tag="doctor", kw_only=True):
    schema: Literal[1]
    summary: Summary
    findings: Annotated[list[NamedFinding], Meta(description="The most severe come first.")]
    fine: list[NamedFine]
    unknown: Annotated[list[NamedUnknown], Meta(description="Checks that could not run.")]
    environment: dict[str, Any]


class FixesDocument(Struct, frozen=True, tag_field="record", tag="fixes"):
    """The output with --fix."""

    schema: Literal[1]
    fixes: list[Fix]


class UndoneDocument(Struct, frozen=True, tag_field="record", tag="undone"):
    """The output with --undo."""

    schema: Literal[1]
    settings: list[str]
    left: Annotated[
        list[str],
        Meta(description="Settings that another program has changed since, which stay."),
    ]
    problems: list[str]


def document(diagnosis: Diagnosis, environment: dict[str, Any]) -> DoctorDocument:
    return DoctorDocument(
        schema=1,
        summary=Summary(
            diagnosis.sentence,
            **{severity.value: diagnosis.count(severity) for severity in Severity},
            fine=len(diagnosis.fine),
            unknown=len(diagnosis.unknown),
        ),
        findings=[NamedFinding(name, **vars(each)) for name, each in diagnosis.findings.items()],
        fine=[NamedFine(name, each.text) for name, each in diagnosis.fine.items()],
        unknown=[NamedUnknown(name, each.reason) for name, each in diagnosis.unknown.items()],
        environment=environment,
    )
