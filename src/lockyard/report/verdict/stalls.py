# SPDX-License-Identifier: Apache-2.0
"""The longest stalls with the most threads: whose they were, and which lock stayed short."""

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

# A lock is advised against where its longest stalls are shown to be over so many times as long.
CLEARLY = 2.0
# Sentences of this kind in one report, the worst first.
AT_MOST = 3
# Locks as bad as the worst that are named beside it.
OTHERS_AT_MOST = 2


@dataclass(frozen=True)
class Stall:
    """How a study speaks of its longest stalls."""

    key: str
    histogram: str
    happened: str
    never: str


WAIT = Stall(
    "wait_max_ns",
    "wait",
    "a thread waited {time} for {lock}",
    "no thread waited longer than {time} for {lock}",
)
STALLS = {
    ("wait", False): WAIT,
    ("wait", True): WAIT,
    ("idle", False): Stall(
        "idle_wanted_max_ns",
        "idle_wanted",
        "{lock} lay idle for {time} although a thread wanted it",
        "{lock} never lay idle for longer than {time}",
    ),
    ("idle", True): Stall(
        "idle_published_max_ns",
        "idle_published",
        "{lock} lay idle for {time}, wanted or not",
        "{lock} never lay idle for longer than {time}",
    ),
}


def worst_stalls(
    cells: Sequence[CellSummary], setting: Setting, machine: Machine
) -> list[Sentence]:
    """The worst of each study, then what else is bad."""
    found = [ranking for study in ("wait", "idle") for ranking in _rankings(cells, study, setting)]
    found.sort(key=lambda ranking: ranking.worst_ns, reverse=True)
    firsts = {ranking.worst.study: ranking for ranking in reversed(found)}
    rest = [ranking for ranking in found if ranking not in firsts.values()]
    chosen = [*firsts.values(), *rest][:AT_MOST]
    return [ranking.sentence(machine) for ranking in found if ranking in chosen]


def _rankings(cells: Iterable[CellSummary], study: str, setting: Setting) -> Iterable[Ranking]:
    """Of the honest form where there is one, else of the published one."""
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
    """The locks of one study under the same conditions, by their longest stall."""

    def __init__(self, stall: Stall, cells: Sequence[CellSummary], setting: Setting) -> None:
        self.stall = stall
        self.setting = setting
        self.cells = sorted(cells, key=self._longest_ns, reverse=True)
        self.worst = self.cells[0]
        self.worst_ns = self._longest_ns(self.worst)
        alive = [cell for cell in self.cells if not cell.trouble] or self.cells
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
        under = self.setting.under(self.worst)
        if self.worst_ns == 0:
            return Sentence(
                f"{under}, no lock lay idle for more than the threshold while it was wanted.",
                self.setting.names(self.cells),
            )
        text, named = self._judged(under)
        return Sentence(
            f"{text}{machine.beside(self.worst, self.worst_ns)}.", self.setting.names(named)
        )

    def _judged(self, under: str) -> tuple[str, list[CellSummary]]:
        happened = self._in_words(self.stall.happened, self.worst, "up to ")
        happened = f"{happened} ({self._how_often()})"
        if self.worst.threads == 1:
            return f"{under}, nobody else wanting the lock, {happened}", [self.worst]
        if self.shortest is self.worst:
            return f"{under}, {happened}", [self.worst]
        if not shown_longer(self.worst, self.shortest, self.stall.key, CLEARLY):
            best = self._in_words(self.stall.never, self.shortest)
            runs = min(len(self.worst.runs), len(self.shortest.runs))
            why = (
                f"{counted(runs, 'run')} are too few to tell the two apart"
                if runs < ENOUGH_RUNS
                else f"run by run the one is not shown to be {CLEARLY:.0f} times as bad"
            ).replace("1 run are", "1 run is")
            return f"{under}, {happened}, and {best}; {why}", [self.worst, self.shortest]
        return self._advice(under, happened)

    def _advice(self, under: str, happened: str) -> tuple[str, list[CellSummary]]:
        as_bad = [
            cell
            for cell in self.cells[1:]
            if 2 * self._longest_ns(cell) >= self.worst_ns
            and shown_longer(cell, self.shortest, self.stall.key, CLEARLY)
        ][:OTHERS_AT_MOST]
        nor = "".join(f", nor {cell.lock} ({duration(self._longest_ns(cell))})" for cell in as_bad)
        best = self._in_words(self.stall.never, self.shortest)
        named = [self.worst, *as_bad, self.shortest]
        if self.shortest_of_ours not in named:
            named.append(self.shortest_of_ours)
            best += (
                f", and of ours {self.shortest_of_ours.lock} did best with "
                f"{duration(self._longest_ns(self.shortest_of_ours))}"
            )
        runs = f"in {counted(len(self.shortest.runs), 'run')}"
        return f"{under}, do not use {self.worst.lock}{nor}: {happened}; {runs} {best}", named

    def _in_words(self, template: str, cell: CellSummary, before: str = "") -> str:
        return template.format(lock=cell.lock, time=f"{before}{duration(self._longest_ns(cell))}")

    def _how_often(self) -> str:
        """A worst case that comes in every run is another matter than one that came once."""
        values = self.worst.by_block(self.stall.key).values()
        often = sum(2 * value >= self.worst_ns for value in values)
        if len(values) < ENOUGH_RUNS:
            return f"only {counted(len(values), 'run')}"
        text = f"over half of that in {often} of {counted(len(values), 'run')}"
        p999 = self.worst.histogram(self.stall.histogram).percentile(0.999)
        return text if p999 is None else f"{text}, p99.9 {duration(p999)}"
