# SPDX-License-Identifier: Apache-2.0
"""Pairs the cells of two measurements that are compared with each other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.errors import UsageError
from lockyard.report.units import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.compare.measurement import Measurement
    from lockyard.report.summary import CellSummary

# Runs whose lengths differ by at most this factor have comparable maxima.
LENGTHS_ALIKE = 1.1
# Error messages list at most this many names of each file.
NAMES_SHOWN = 5


@dataclass(frozen=True)
class Chosen:
    """The part of the files that is compared."""

    studies: Sequence[str] = ()  # empty: all
    locks: tuple[str, str] | None = None  # a lock of A and a lock of B; None: each with itself


@dataclass(frozen=True)
class Pair:
    a: CellSummary
    b: CellSummary

    @property
    def lock(self) -> str:
        return self.a.lock if self.a.lock == self.b.lock else f"{self.a.lock} → {self.b.lock}"

    @property
    def failure(self) -> str:
        """Says why figures of this pair would be meaningless; empty if they are not."""
        found = []
        for file, cell in (("A", self.a), ("B", self.b)):
            if cell.failure:
                runs = f"after {len(cell.runs)} runs" if cell.runs else "no run"
                found.append(f"{runs} in {file} {cell.failure}")
            elif not cell.checks_hold:
                found.append(f"BROKEN in {file}: its checks failed")
        return "; ".join(found)

    @property
    def other_lengths(self) -> str:
        """Says why maxima cannot be compared (runs of different length); empty if they can."""
        a, b = (cell.runs[0]["conditions"] for cell in (self.a, self.b))
        if a.get("bound") == b.get("bound") == "loops":
            is_same, of_a, of_b = a.get("loops") == b.get("loops"), a.get("loops"), b.get("loops")
            return "" if is_same else f"runs have {of_a} loops in A and {of_b} in B"
        a_s, b_s = a.get("duration_s"), b.get("duration_s")
        if a_s is None or b_s is None or max(a_s, b_s) <= LENGTHS_ALIKE * min(a_s, b_s):
            return ""
        return f"runs last {duration(a_s * 1e9)} in A and {duration(b_s * 1e9)} in B"


@dataclass(frozen=True)
class Apart:
    cell: CellSummary
    reason: str


def chosen(studies: str, locks: str, alone: bool) -> Chosen:
    """Returns the choice that the command line makes."""
    of_a, comma, of_b = (part.strip() for part in locks.partition(","))
    if locks and not (of_a and comma and of_b and "," not in of_b):
        raise UsageError(
            f"--locks {locks}: must name two locks, one of A and one of B; separate them by a "
            "comma, as in std::mutex,mutex"
        )
    if alone and not locks:
        raise UsageError(
            "only one file was given, so there is nothing to compare it with; give a second file "
            "(lockyard compare A B), or two locks of the one (lockyard compare A --locks "
            "std::mutex,mutex)"
        )
    names = tuple(name.strip() for name in studies.split(",")) if studies else ()
    return Chosen(names, (of_a, of_b) if locks else None)


def called(cell: CellSummary) -> str:
    of = f" of {cell.lock}" if cell.lock else ""
    return f"{cell.study}{of} × {cell.threads}"


def paired(a: Measurement, b: Measurement, chosen: Chosen) -> tuple[list[Pair], list[Apart]]:
    left, right = (_by_key(_of(each, chosen, side), chosen) for side, each in enumerate((a, b)))
    pairs = [Pair(cell, right[key]) for key, cell in left.items() if key in right]
    apart = [
        Apart(cell, f"only in {file}")
        for file, cells, others in (("A", left, right), ("B", right, left))
        for key, cell in cells.items()
        if key not in others
    ]
    if not pairs:
        raise UsageError(
            f"{a.path} and {b.path} have no cell in common (a study of a lock under the same "
            f"conditions), so nothing can be compared: A has {_listed(left.values())}; B has "
            f"{_listed(right.values())}; measure both in the same way, or name two locks by --locks"
        )
    return pairs, apart


def _of(measuring: Measurement, chosen: Chosen, side: int) -> list[CellSummary]:
    """Returns the chosen cells; raises UsageError if the file has none of a chosen name."""
    cells = measuring.cells
    for study in chosen.studies:
        _check("--study", study, measuring, (cell.study for cell in cells))
    if chosen.studies:
        cells = [cell for cell in cells if cell.study in chosen.studies]
    if chosen.locks is not None:
        lock = chosen.locks[side]
        _check("--locks", lock, measuring, (cell.lock for cell in cells if cell.lock))
        cells = [cell for cell in cells if cell.lock == lock]
    return cells


def _check(option: str, name: str, measuring: Measurement, known: Iterable[str]) -> None:
    there = dict.fromkeys(known)
    if name not in there:
        raise UsageError(
            f"{option}: {measuring.path} holds no '{name}', so nothing was compared; choose from "
            f"{', '.join(there)}"
        )


def _by_key(cells: Iterable[CellSummary], chosen: Chosen) -> dict[str, CellSummary]:
    return {key_of(cell, with_lock=chosen.locks is None): cell for cell in cells}


def key_of(cell: CellSummary, with_lock: bool = True) -> str:
    """Returns the key of a cell; a condition without a value counts as absent, as in old
    records."""
    conditions = {k: v for k, v in cell.conditions.items() if v not in (None, {}, [])}
    return json.dumps([cell.study, cell.lock if with_lock else None, conditions], sort_keys=True)


def _listed(cells: Iterable[CellSummary]) -> str:
    names = list(dict.fromkeys(map(called, cells)))
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more or "none"
