# SPDX-License-Identifier: Apache-2.0
"""What the time of a measuring went into, as its records tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockyard.harness import Record

# Lengths of the parts of a run in which its threads did what the study is about. A study of the
# machine, whose values in ns are its figures, has the same as measured_s.
MEASURED_NS = ("run_ns", "plain_run_ns", "capacity_run_ns", "counting_run_ns")


@dataclass(frozen=True)
class Accounts:
    measured_s: float
    around_runs_s: float  # a run's own start and end
    between_runs_s: float  # planning, keeping records, starting harnesses; no rest that was asked

    @property
    def total_s(self) -> float:
        return self.measured_s + self.around_runs_s + self.between_runs_s

    @property
    def overhead_share(self) -> float:
        return (self.around_runs_s + self.between_runs_s) / self.total_s if self.total_s else 0.0


def accounts_of(records: Iterable[Record]) -> Accounts | None:
    """Of the runs that came to their end. Nothing if a record does not tell: an older version left
    out what was between the runs."""
    ended = [record for record in records if record["status"] == "ok"]
    if not ended or any("between_s" not in record for record in ended):
        return None
    measured_s = sum(_measured_s(record) for record in ended)
    spent_s = sum(record["spent_s"] for record in ended)
    between_s = sum(record["between_s"] for record in ended)
    return Accounts(measured_s, spent_s - measured_s, between_s)


def _measured_s(record: Record) -> float:
    """Clocks of two kinds took these: no part is longer than the whole."""
    values = record["values"]
    found_s = sum(values.get(key) or 0.0 for key in MEASURED_NS) * 1e-9
    return float(min(found_s + values.get("measured_s", 0.0), record["spent_s"]))
