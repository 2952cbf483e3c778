# SPDX-License-Identifier: Apache-2.0
"""Differences between the environments of two measurements, and which of them matter."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Weight(StrEnum):
    MACHINE = "another machine"
    MATTERS = "matters"
    PASSING = "passing"  # differs between any two measurements


# The first entry whose prefix fits a key decides; a key that fits none matters.
WEIGHTS = (
    ("record", Weight.PASSING),
    ("schema", Weight.PASSING),
    ("environment", Weight.PASSING),  # the hash of everything permanent
    ("started_unix_s", Weight.PASSING),
    ("load_average", Weight.PASSING),
    ("steal_ticks", Weight.PASSING),
    ("clock.source", Weight.MATTERS),
    ("clock.tsc_invariant", Weight.MATTERS),
    ("clock.", Weight.PASSING),  # measured each time
    ("cpu.model", Weight.MACHINE),
    ("system.architecture", Weight.MACHINE),
    ("harness.topology.usable", Weight.MATTERS),
    ("harness.topology", Weight.MACHINE),
)


@dataclass(frozen=True)
class EnvironmentDifference:
    key: str
    a: Any
    b: Any
    weight: Weight


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[EnvironmentDifference]:
    """Returns the differences between two environment records, the weightiest first. A key that one
    record lacks is None there; without two records, there are no differences."""
    if not a or not b:
        return []
    left, right = dict(_flat(a)), dict(_flat(b))
    found = [
        EnvironmentDifference(key, left.get(key), right.get(key), _weight(key))
        for key in dict.fromkeys((*left, *right))
        if left.get(key) != right.get(key)
    ]
    return sorted(found, key=lambda each: list(Weight).index(each.weight))


def _flat(document: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _weight(key: str) -> Weight:
    return next((weight for begin, weight in WEIGHTS if key.startswith(begin)), Weight.MATTERS)
