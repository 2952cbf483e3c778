# SPDX-License-Identifier: Apache-2.0
"""How the time of a measurement was spent, according to its records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockyard.harness import Record

# The values that hold the time in which the threads of a run did the study's work. A study of the
# machine, whose values in ns are its figures, has measured_s instead.
MEASURED_NS = ("run_ns", "plain_run_ns", "capacity_run_ns", "counting_run_ns")


@dataclass(frozen=True)
class Overhead:
    measured_s: float
    around_runs_s: float  # starting and ending runs
    between_runs_s: float  # planning, writing records, starting harnesses; without requested rests

    @property
    def total_s(self) -> float:
        return self.measured_s + self.around_runs_s + self.between_runs_s

    @property
    def overhead_share(self) -> float:
        return (self.around_runs_s + self.between_runs_s) / self.total_s if self.total_s else 0.0


def overhead_of(records: Iterable[Record]) -> Overhead | None:
    """Sums up the runs that ended well. Returns None if a record lacks the time between runs, as
    older versions left it out."""
    ended = [record for record in records if record["status"] == "ok"]
    if not ended or any("between_s" not in record for record in ended):
        return None
    measured_s = sum(_measured_s(record) for record in ended)
    spent_s = sum(record["spent_s"] for record in ended)
    between_s = sum(record["between_s"] for record in ended)
    return Overhead(measured_s, spent_s - measured_s, between_s)


def _measured_s(record: Record) -> float:
    """Returns the measured time, at most the whole: two kinds of clocks took the times."""
    values = record["values"]
    found_s = sum(values.get(key) or 0.0 for key in MEASURED_NS) * 1e-9
    return float(min(found_s + values.get("measured_s", 0.0), record["spent_s"]))
