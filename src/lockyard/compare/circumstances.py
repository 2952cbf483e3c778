# SPDX-License-Identifier: Apache-2.0
"""In what the circumstances of two measurings differ, and which of it matters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Weight(StrEnum):
    MACHINE = "another machine"
    MATTERS = "matters"
    PASSING = "passing"  # differs between any two measurings


# By the beginning of a key; the first that fits. What is not known to pass, matters.
WEIGHTS = (
    ("record", Weight.PASSING),
    ("schema", Weight.PASSING),
    ("environment", Weight.PASSING),  # the hash of all that lasts
    ("started_unix_s", Weight.PASSING),
    ("load_average", Weight.PASSING),
    ("steal_ticks", Weight.PASSING),
    ("clock.source", Weight.MATTERS),
    ("clock.tsc_invariant", Weight.MATTERS),
    ("clock.", Weight.PASSING),  # measured anew each time
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
    """Of two environment records, what weighs most first; a key that one lacks is null there. Where
    a file has no such record, nothing is known of any key."""
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
