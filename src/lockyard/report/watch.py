# SPDX-License-Identifier: Apache-2.0
"""Shares of time that the watchers of the study `noise` saw, and reasons to discard a share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard.report.units import duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.summary import CellSummary

# A watcher that ran for a smaller part of the requested time saw only what the machine left over:
# the time in which it did not run is the noise itself, and is missing from its figures.
LEAST_WATCHED = 0.5
# The kernel counts steal in ticks; over fewer than ten ticks, one tick is more than 10 %.
TICK_NS = 10e6
LEAST_TICKS = 10
# The kernel's clock and the harness's clock agree to better than this.
CLOCKS_AGREE = 0.01
MOST_NAMED = 4  # processors
NOT_REPORTED = "the kernel does not report it"


@dataclass(frozen=True)
class Share:
    """A share of time between 0 and 1, or the reason why it is unavailable."""

    part: float | None
    reason: str = ""

    def __str__(self) -> str:
        return percent(self.part) if self.part is not None else "unavailable"

    @property
    def explained(self) -> str:
        return f"{self} ({self.reason})" if self.reason else str(self)


@dataclass(frozen=True)
class _Entry:
    """The record of one core in one run."""

    core: dict[str, Any]
    asked_ns: float | None  # None in records that lack it

    def period_ns(self, key: str) -> float:
        """Returns the time over which the kernel counted `key`. Records of older versions lack it;
        the time watched, which is a part of it, stands in."""
        return float(self.core.get(f"{key}_period_ns", self.core["watched_ns"]))


@dataclass(frozen=True)
class Watch:
    """One core, or several cores, in all runs of a cell."""

    entries: tuple[_Entry, ...]

    @property
    def watched_ns(self) -> float:
        return sum(float(each.core["watched_ns"]) for each in self.entries)

    @property
    def longest_ns(self) -> float:
        return max(float(each.core["longest_ns"]) for each in self.entries)

    @property
    def gaps_per_s(self) -> float:
        return sum(int(each.core["gaps"]) for each in self.entries) / (self.watched_ns / 1e9)

    @property
    def shortfall(self) -> str:
        """Says why the watcher's figures mean nothing; empty if they are valid."""
        return _shortfall("watched", self.watched_ns, self.entries)

    @property
    def lost(self) -> Share:
        if self.shortfall:
            return Share(None, self.shortfall)
        return _share(sum(each.core["lost_ns"] for each in self.entries), self.watched_ns)

    @property
    def steal(self) -> Share:
        known, period_ns = self._known("steal")
        if known and period_ns < LEAST_TICKS * TICK_NS:
            ticks = f"ticks of {duration(TICK_NS)} are too coarse for {duration(period_ns)}"
            return Share(None, ticks)
        return self._counted("steal")

    @property
    def run_delay(self) -> Share:
        return self._counted("run_delay")

    def _known(self, key: str) -> tuple[list[_Entry], float]:
        """Returns the entries that have `key`, and the time over which it was counted."""
        known = [each for each in self.entries if each.core.get(f"{key}_ns") is not None]
        return known, sum(each.period_ns(key) for each in known)

    def _counted(self, key: str) -> Share:
        """Returns the kernel's count as a share of the time over which it counted."""
        known, period_ns = self._known(key)
        if not known:
            return Share(None, NOT_REPORTED)
        if too_short := _shortfall("counted over", period_ns, known):
            return Share(None, too_short)
        return _share(sum(float(each.core[f"{key}_ns"]) for each in known), period_ns)


def watches_of(cell: CellSummary) -> dict[int, Watch]:
    """Returns the watch of each core, by the core's number."""
    by_cpu: dict[int, list[_Entry]] = {}
    for run in cell.runs:
        asked_s = run.get("conditions", {}).get("duration_s")
        asked_ns = None if asked_s is None else asked_s * 1e9
        for core in run["values"].get("cores", []):
            by_cpu.setdefault(core["cpu"], []).append(_Entry(core, asked_ns))
    return {cpu: Watch(tuple(by_cpu[cpu])) for cpu in sorted(by_cpu)}


def listed(cpus: Sequence[int]) -> str:
    """Names the first processors and counts the others."""
    named = ", ".join(f"cpu{cpu}" for cpu in cpus[:MOST_NAMED])
    more = len(cpus) - MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named


def together(watches: Iterable[Watch]) -> Watch:
    return Watch(tuple(entry for watch in watches for entry in watch.entries))


def _shortfall(done: str, period_ns: float, entries: Iterable[_Entry]) -> str:
    asked = [each.asked_ns for each in entries if each.asked_ns is not None]
    if period_ns <= 0:
        return f"{done} no time"
    if period_ns < LEAST_WATCHED * sum(asked):
        return f"{done} {duration(period_ns)} of the {duration(sum(asked))} requested"
    return ""


def _share(part_ns: float, period_ns: float) -> Share:
    if part_ns > period_ns * (1 + CLOCKS_AGREE):
        counted = f"{duration(part_ns)} were counted in {duration(period_ns)}"
        return Share(None, f"{counted}, which is impossible")
    return Share(min(part_ns / period_ns, 1.0))
