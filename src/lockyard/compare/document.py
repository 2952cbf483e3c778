# SPDX-License-Identifier: Apache-2.0
"""A comparison as one JSON document. schema/compare.schema.json is generated from these types."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lockyard.compare.comparison import Outcome, Verdict
from lockyard.compare.environment_diff import Weight
from lockyard.documents import AtLeastOne, Count, Share

if TYPE_CHECKING:
    from lockyard.compare.comparison import Comparison, Finding
    from lockyard.compare.environment_diff import EnvironmentDifference
    from lockyard.compare.measurement import Measurement
    from lockyard.report.summary import CellSummary

LockOfB = str | None
Unit = Literal["ns", "per_s", "share"] | None
Median = Annotated[float, Meta(description="Median over the blocks.")]
Ratio = Annotated[
    float | None,
    Meta(description="Median of the ratios B / A of the blocks; null if A is 0 and B is not."),
]
Low = Annotated[
    float | None,
    Meta(
        description="The 95 % interval of this ratio alone; null if there are too few blocks, or "
        "where it has no bound."
    ),
]
ByBlock = Annotated[
    bool,
    Meta(
        description="False if the files share no block of the cell; then blocks are paired in "
        "order."
    ),
]
P = Annotated[
    Share,
    Meta(description="The p-value of no difference; for a gate, of a change up to its limit."),
]
CorrectedP = Annotated[
    Share,
    Meta(description="Corrected for all tests (Holm); a difference is shown at 0.05 or less."),
]
CorrectedWith = Annotated[Count, Meta(description="The number of figures tested together.")]


class File(Struct, frozen=True):
    path: str
    environment: Annotated[str | None, Meta(description="The hash of the environment.")]
    seed: int | None
    runs: Annotated[AtLeastOne, Meta(description="Valid runs.")]
    files: Annotated[AtLeastOne, Meta(description="Files in the folder, or 1.")]


class Difference(Struct, frozen=True):
    key: str
    a: Any
    b: Any
    weight: Weight


class ComparedCell(Struct, frozen=True):
    study: str
    lock: str | None
    conditions: dict[str, Any]


class Compared(ComparedCell, frozen=True):
    """A figure of two cells."""

    lock_of_b: LockOfB
    figure: str
    unit: Unit
    a: Median
    b: Median
    ratio: Ratio
    low: Low
    high: Low
    blocks: AtLeastOne
    paired_by_block: ByBlock
    p: P
    corrected_p: CorrectedP
    corrected_with: CorrectedWith
    verdict: Verdict


class JudgedGate(ComparedCell, frozen=True, kw_only=True):
    """A gate in a cell, with the figures of its test; or with the reason why there are none."""

    gate: str
    outcome: Outcome
    reason: str | None = None
    lock_of_b: LockOfB | UnsetType = UNSET
    figure: str | UnsetType = UNSET
    unit: Unit | UnsetType = UNSET
    a: Median | UnsetType = UNSET
    b: Median | UnsetType = UNSET
    ratio: Ratio | UnsetType = UNSET
    low: Low | UnsetType = UNSET
    high: Low | UnsetType = UNSET
    blocks: AtLeastOne | UnsetType = UNSET
    paired_by_block: ByBlock | UnsetType = UNSET
    p: P | UnsetType = UNSET
    corrected_p: CorrectedP | UnsetType = UNSET
    corrected_with: CorrectedWith | UnsetType = UNSET


class NotCompared(ComparedCell, frozen=True):
    reason: str


class ComparisonDocument(Struct, frozen=True, tag_field="record", tag="comparison", kw_only=True):
    """Version 1. A reader tolerates keys that are not described here."""

    schema: Literal[1]
    a: File
    b: File
    notes: list[str]
    environment: Annotated[
        list[Difference],
        Meta(description="The differences between the environment records."),
    ]
    compared: list[Compared]
    gates: Annotated[list[JudgedGate], Meta(description="Each gate in each cell.")]
    not_compared: list[NotCompared]


def document(
    a: Measurement,
    b: Measurement,
    found: Comparison,
    environment: list[EnvironmentDifference],
    notes: list[str],
) -> ComparisonDocument:
    judged = [
        JudgedGate(**_test(test), gate=test.gate.text, outcome=test.outcome)
        for test in found.judged
        if test.gate is not None
    ]
    unjudged = [
        JudgedGate(
            **_cell(each.cell), gate=each.gate.text, outcome=Outcome.UNDECIDED, reason=each.reason
        )
        for each in found.unjudged
    ]
    return ComparisonDocument(
        schema=1,
        a=_file(a),
        b=_file(b),
        notes=notes,
        environment=[Difference(each.key, each.a, each.b, each.weight) for each in environment],
        compared=[Compared(**_test(test), verdict=test.verdict) for test in found.tests],
        gates=[*judged, *unjudged],
        not_compared=[NotCompared(**_cell(each.cell), reason=each.reason) for each in found.apart],
    )


def _file(measured: Measurement) -> File:
    return File(
        path=str(measured.path),
        environment=measured.environment.get("environment"),
        seed=measured.seed,
        runs=measured.runs,
        files=measured.files,
    )


def _cell(cell: CellSummary) -> dict[str, Any]:
    return {"study": cell.study, "lock": cell.lock or None, "conditions": cell.conditions}


def _test(test: Finding) -> dict[str, Any]:
    return {
        **_cell(test.pair.a),
        "lock_of_b": test.pair.b.lock or None,
        "figure": test.figure.name,
        "unit": test.figure.unit or None,
        "a": test.a,
        "b": test.b,
        "ratio": _finite(test.ratio.median),
        "low": _finite(test.ratio.low),
        "high": _finite(test.ratio.high),
        "blocks": test.ratio.blocks,
        "paired_by_block": test.by_block,
        "p": test.p,
        "corrected_p": test.corrected_p,
        "corrected_with": test.together,
    }


def _finite(value: float | None) -> float | None:
    """Replaces infinity (a value in B, zero in A), which JSON lacks, by None."""
    return None if value is None or math.isinf(value) else value
