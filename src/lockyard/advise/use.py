# SPDX-License-Identifier: Apache-2.0
"""A use of a lock: how long threads hold it, how long they stay away, and how many there are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard.measure.recording import Recording
from lockyard.measure.work import NO_GAP, NO_HOLD, Work, works

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lockyard.field_kit.contention import Row

# Records of another hold or gap count for a use if they differ by at most this factor: below it,
# the order of locks hardly changes.
NEAR = 1.3
# Times below this are as good as none.
NO_TIME_NS = 5.0


@dataclass(frozen=True)
class Use:
    threads: int
    hold_ns: float
    gap_ns: float
    name: str = ""  # a program's lock; empty if the use was described by options
    recording: Path | None = None  # the program's own lengths

    @property
    def work(self) -> Work:
        """Returns what the threads of a measurement do."""
        if self.recording is not None:
            (found,) = works(NO_HOLD, NO_GAP, [Recording.of(str(self.recording))])
            return found
        return Work(round(self.hold_ns), round(self.gap_ns))

    @property
    def wanted(self) -> float:
        """Returns how many threads would hold the lock at a time if they never waited."""
        whole_ns = self.hold_ns + self.gap_ns
        return self.threads * self.hold_ns / whole_ns if whole_ns else float(self.threads)

    def distance(self, conditions: Mapping[str, Any]) -> float | None:
        """Returns how far a record's conditions are from this use, 0 if they are the same; None if
        the record says nothing about it."""
        if conditions["threads"] != self.threads or _differs_in_kind(conditions):
            return None
        if self.recording is not None:
            return None  # the shape of the lengths matters, too
        hold = _factor(self.hold_ns, conditions.get("hold_ns") or 0)
        gap = _factor(self.gap_ns, conditions.get("gap_ns") or 0)
        return math.log(hold * gap) if max(hold, gap) <= NEAR else None


def of_row(row: Row, recording: Path) -> Use:
    """Returns the use of a profiled lock, with its own lengths in a file."""
    from lockyard.field_kit import lengths

    recording.write_bytes(lengths.csv(row))
    hold_ns, gap_ns = (float(lengths.used(each).mean()) for each in (row.holds, row.gaps))
    return Use(row.threads, hold_ns, gap_ns, row.lock, recording)


def _differs_in_kind(conditions: Mapping[str, Any]) -> bool:
    """Tells whether the record was made under special conditions."""
    special = ("load", "quota_cpus", "slice_ns", "machine", "as_published")
    return (
        any(conditions.get(key) for key in special)
        or conditions.get("policy", "other") != "other"
        or conditions.get("pinning", "none") != "none"
        or conditions.get("lengths", "constant") not in ("constant", "exponential")
    )


def _factor(one: float, other: float) -> float:
    """Returns the ratio of two times, at least 1."""
    first, second = max(one, NO_TIME_NS), max(other, NO_TIME_NS)
    return max(first, second) / min(first, second)
