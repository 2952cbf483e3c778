# SPDX-License-Identifier: Apache-2.0
"""Names a cell for the reader: its threads, and the conditions that set it apart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard.report.units import duration, rate

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from lockyard.report.summary import CellSummary

# Conditions are named only where they differ from this, or vary within a study.
DEFAULTS = {
    "pinning": "none",
    "policy": "other",
    "priority": 0,
    "nice": 0,
    "load": 0,
    "load_nice": 0,
    "autogroup": True,
    "rest_s": 0.0,
    "machine": {},
    "hold_ns": 0,
    "gap_ns": 0,
    "lengths": "constant",
    "sleepers": 1,
}
# Between the parts of a cell's name.
SEPARATOR = " · "
# Conditions that a cell's name shows in a form of their own.
NAMED_APART = ("threads", "as_published", "parameters")
# Suffixes of names that are units, with the function that prints the number; longer ones first.
UNITS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_per_s", rate),
    ("_percent", lambda value: f"{value:g} %"),
    ("_ns", duration),
    ("_us", lambda value: duration(value * 1e3)),
    ("_ms", lambda value: duration(value * 1e6)),
    ("_s", lambda value: duration(value * 1e9)),
)


@dataclass(frozen=True)
class Naming:
    varying: frozenset[tuple[str, str]]  # study and condition

    @classmethod
    def of(cls, cells: Iterable[CellSummary]) -> Naming:
        values: dict[tuple[str, str], set[str]] = {}
        for cell in cells:
            for key, value in _named(cell).items():
                if value is not None:
                    values.setdefault((cell.study, key), set()).add(json.dumps(value))
        return cls(frozenset(where for where, found in values.items() if len(found) > 1))

    def conditions(self, cell: CellSummary, besides: Container[str] = ()) -> list[str]:
        """Returns the conditions that a reader cannot take for granted, except `besides`, which are
        shown elsewhere; parameters of the study come last."""
        return [
            _in_words(key, value)
            for key, value in _named(cell).items()
            if value is not None
            and key not in besides
            and (key, value) != ("priority", 0)  # a policy without priorities
            and (self._varies(cell, key) or value != DEFAULTS.get(key))
        ]

    def differences(self, cell: CellSummary) -> list[str]:
        """Returns the conditions that are not the same in all cells of the study."""
        return self.conditions(cell, {key for key in _named(cell) if not self._varies(cell, key)})

    def _varies(self, cell: CellSummary, key: str) -> bool:
        return (cell.study, key) in self.varying

    def setting(self, cell: CellSummary) -> str:
        what = "processor" if cell.of_machine else "thread"
        return SEPARATOR.join([counted(cell.threads, what), *self.conditions(cell)])


def _named(cell: CellSummary) -> dict[str, Any]:
    conditions = {key: each for key, each in cell.conditions.items() if key not in NAMED_APART}
    return {**conditions, **cell.parameters}


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _in_words(key: str, value: Any) -> str:
    if key == "machine":
        return ", ".join(f"{name} {setting}" for name, setting in value.items()) or "as found"
    if key == "deadline":
        return "deadline " + "/".join(duration(part) for part in value.values())
    if isinstance(value, list):
        value = ",".join(str(part) for part in value)
    if isinstance(value, bool):
        value = "on" if value else "off"
    if key == "quota_cpus":
        return f"quota of {value:g} processor{'' if value == 1 else 's'}"
    for suffix, shown in UNITS:
        if key.endswith(suffix):
            key, value = key.removesuffix(suffix), shown(value)
            break
    if isinstance(value, float):
        value = f"{value:g}"
    return f"{key.replace('_', ' ')} {value}"
