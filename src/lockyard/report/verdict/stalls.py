# SPDX-License-Identifier: Apache-2.0
"""Sentences about the longest stalls with the most threads: the worst lock and the best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.report.naming import counted
from lockyard.report.units import duration
from lockyard.report.verdict.setting import (
    ENOUGH_RUNS,
    Sentence,
    Setting,
    groups,
    longest_of_equal_runs,
    shown_longer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.summary import CellSummary
    from lockyard.report.verdict.machine import Machine

# The verdict advises against a lock whose longest stalls are shown to be this many times as long.
CLEARLY = 2.0
# The number of such sentences in one report, the worst first.
AT_MOST = 3
# The number of other locks that are named as equally bad.
OTHERS_AT_MOST = 2


@dataclass(frozen=True)
class Stall:
    """The values of a study that hold its stalls, and the words for them."""

    key: str
    histogram: str
    words: str


WAIT = Stall("wait_max_ns", "wait", "waits of")
STALLS = {
    ("wait", False): WAIT,
    ("wait", True): WAIT,
    ("idle", False): Stall("idle_wanted_max_ns", "idle_wanted", "free but wanted for"),
    ("idle", True): Stall("idle_published_max_ns", "idle_published", "idle, wanted or not, for"),
}


def worst_stalls(
    cells: Sequence[CellSummary], setting: Setting, machine: Machine
) -> list[Sentence]:
    """Returns the worst of each study and then the worst of what is left."""
    found = [ranking for study in ("wait", "idle") for ranking in _rankings(cells, study, setting)]
    found.sort(key=lambda ranking: ranking.worst_ns, reverse=True)
    firsts = {ranking.worst.study: ranking for ranking in reversed(found)}
    rest = [ranking for ranking in found if ranking not in firsts.values()]
    chosen = [*firsts.values(), *rest][:AT_MOST]
    return [ranking.sentence(machine) for ranking in found if ranking in chosen]


def _rankings(cells: Iterable[CellSummary], study: str, setting: Setting) -> Iterable[Ranking]:
    """Yields rankings of the study's own form, or of the published form if only that exists."""
    of_study = [cell for cell in cells if cell.study == study]
    most = max((cell.threads for cell in of_study), default=0)
    candidates = [cell for cell in of_study if cell.threads == most]
    honest = [cell for cell in candidates if not cell.as_published]
    for group in groups(honest or candidates):
        stall = STALLS[study, group[0].as_published]
        measured = [cell for cell in group if cell.maximum(stall.key) is not None]
        if measured and (most > 1 or study == "wait"):
            yield Ranking(stall, measured, setting)


class Ranking:
    """The locks of one study under the same conditions, ordered by their longest stalls."""

    def __init__(self, stall: Stall, cells: Sequence[CellSummary], setting: Setting) -> None:
        self.stall = stall
        self.setting = setting
        self.cells = sorted(cells, key=self._longest_ns, reverse=True)
        self.worst = self.cells[0]
        self.worst_ns = self._longest_ns(self.worst)
        alive = [cell for cell in self.cells if not cell.failure] or self.cells
        known = [cell for cell in alive if len(cell.runs) >= ENOUGH_RUNS] or alive
        self.shortest = self._shortest(known)
        ours = [cell for cell in known if setting.is_ours(cell)]
        self.shortest_of_ours = self._shortest(ours) if ours else self.shortest

    def _longest_ns(self, cell: CellSummary) -> float:
        return cell.maximum(self.stall.key) or 0.0

    def _shortest(self, cells: Sequence[CellSummary]) -> CellSummary:
        longest = longest_of_equal_runs(cells, self.stall.key)
        return min(zip(longest, range(len(cells)), cells, strict=True))[2]

    def sentence(self, machine: Machine) -> Sentence:
        around = self.setting.circumstances(self.worst)
        if self.worst_ns == 0:
            return Sentence(
                "No lock was free but wanted for longer than the threshold.",
                self.setting.names(self.cells),
                tuple(around),
            )
        text, reasons, named = self._judged()
        evidence = [*around, *reasons, *machine.comparison(self.worst, self.worst_ns)]
        return Sentence(text, self.setting.names(named), tuple(evidence))

    def _judged(self) -> tuple[str, list[str], list[CellSummary]]:
        """Returns the finding, the evidence for it, and the cells that it names."""
        worst, best = self.worst, self.shortest
        happened = f"{self.stall.words} up to {duration(self.worst_ns)}"
        if worst.threads == 1:
            reasons = ["no other thread wanted the lock", self._how_often()]
            return f"{worst.lock}: {happened}.", reasons, [worst]
        if best is worst:
            return f"{worst.lock}: {happened}.", [self._how_often()], [worst]
        least = f"at most {duration(self._longest_ns(best))}"
        if not shown_longer(worst, best, self.stall.key, CLEARLY):
            runs = min(len(worst.runs), len(best.runs))
            reasons = [self._how_often(), self._why_open(runs)]
            advice = "No lock stands out"
            if runs < ENOUGH_RUNS:
                advice = f"Measure at least {ENOUGH_RUNS} runs"
            text = f"{advice}: {happened} with {worst.lock}, {least} with {best.lock}."
            return text, reasons, [worst, best]
        reasons, named = self._against_worst()
        return f"Do not use {worst.lock}: {happened}, with {best.lock} {least}.", reasons, named

    def _why_open(self, runs: int) -> str:
        if runs < ENOUGH_RUNS:
            return f"{counted(runs, 'run')} {'is' if runs == 1 else 'are'} too few to compare them"
        return f"paired by block, the first is not shown to be {CLEARLY:.0f} times as bad"

    def _against_worst(self) -> tuple[list[str], list[CellSummary]]:
        as_bad = [
            cell
            for cell in self.cells[1:]
            if 2 * self._longest_ns(cell) >= self.worst_ns
            and shown_longer(cell, self.shortest, self.stall.key, CLEARLY)
        ][:OTHERS_AT_MOST]
        reasons = [self._how_often()]
        if as_bad:
            each = ", ".join(f"{cell.lock} ({duration(self._longest_ns(cell))})" for cell in as_bad)
            reasons.append(f"do not use {each} either")
        reasons.append(f"{self.shortest.lock} in {counted(len(self.shortest.runs), 'run')}")
        named = [self.worst, *as_bad, self.shortest]
        ours = self.shortest_of_ours
        if ours not in named:
            named.append(ours)
            reasons.append(f"best of ours: {ours.lock}, at most {duration(self._longest_ns(ours))}")
        return reasons, named

    def _how_often(self) -> str:
        """Tells a stall of every run from a stall that came once."""
        values = self.worst.by_block(self.stall.key).values()
        often = sum(2 * value >= self.worst_ns for value in values)
        if len(values) < ENOUGH_RUNS:
            return f"only {counted(len(values), 'run')}"
        text = f"at least half of that in {often} of {counted(len(values), 'run')}"
        p999 = self.worst.histogram(self.stall.histogram).percentile(0.999)
        return text if p999 is None else f"{text}, p99.9 {duration(p999)}"
