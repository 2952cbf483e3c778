# SPDX-License-Identifier: Apache-2.0
"""A comparison as one JSON document, in the form of schema/compare.schema.json."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lockyard.compare.comparison import Comparison, Finding
    from lockyard.compare.environment_diff import EnvironmentDifference
    from lockyard.compare.measurement import Measurement
    from lockyard.report.summary import CellSummary


def document(
    a: Measurement,
    b: Measurement,
    found: Comparison,
    environment: list[EnvironmentDifference],
    notes: list[str],
) -> dict[str, Any]:
    return {
        "schema": 1,
        "record": "comparison",
        "a": _measuring(a),
        "b": _measuring(b),
        "notes": notes,
        "environment": [
            {"key": each.key, "a": each.a, "b": each.b, "weight": each.weight}
            for each in environment
        ],
        "compared": [{**_test(test), "verdict": test.verdict} for test in found.tests],
        "gates": [
            *(
                {**_test(test), "gate": test.gate.text, "outcome": test.outcome, "reason": None}
                for test in found.judged
                if test.gate is not None
            ),
            *(
                {
                    **_cell(each.cell),
                    "gate": each.gate.text,
                    "outcome": "undecided",
                    "reason": each.reason,
                }
                for each in found.unjudged
            ),
        ],
        "not_compared": [{**_cell(each.cell), "reason": each.reason} for each in found.apart],
    }


def _measuring(measuring: Measurement) -> dict[str, Any]:
    return {
        "path": str(measuring.path),
        "environment": measuring.environment.get("environment"),
        "seed": measuring.seed,
        "runs": measuring.runs,
        "files": measuring.files,
    }


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
