# SPDX-License-Identifier: Apache-2.0
"""Decides, figure by figure, whether B differs from A, and whether by more than a gate allows.

Each figure is tested by a sign test over its blocks; the chance that any of the tests errs is at
most 5 % (Holm's correction). docs/decisions/0021-compare.md says why.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from lockyard.compare.figures import default_figures, named
from lockyard.compare.gates import not_there
from lockyard.compare.pairing import Apart, paired
from lockyard.stats import CONFIDENCE, block_ratios, holm, ratio_of, sign_test

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.compare.figures import Figure
    from lockyard.compare.gates import Gate
    from lockyard.compare.measurement import Measurement
    from lockyard.compare.pairing import Chosen, Pair
    from lockyard.report.summary import CellSummary
    from lockyard.stats import Ratio

ERROR = 1 - CONFIDENCE  # all tests together
# A ratio this close to 1 counts as 1: clock rates and histogram buckets are no more exact.
RESOLUTION = 0.001


class Verdict(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    MORE = "more"
    LESS = "less"
    NO_DIFFERENCE = "no difference shown"
    TOO_FEW_BLOCKS = "too few blocks"


class Outcome(StrEnum):
    FAILED = "failed"
    PASSED = "passed"  # says only that a failure is not shown
    UNDECIDED = "undecided"


@dataclass
class Finding:
    """The test of one figure of two cells: its own p-value, and the p-value after correction."""

    pair: Pair
    figure: Figure
    gate: Gate | None  # None: the test is for any difference
    a: float  # medians over the blocks
    b: float
    ratio: Ratio
    by_block: bool  # False if the files share no block of the cell
    p: float
    corrected_p: float = 1.0
    together: int = 1

    @property
    def is_shown(self) -> bool:
        return self.corrected_p <= ERROR

    @property
    def sides(self) -> int:
        return 2 if self.gate is None else 1

    @property
    def has_too_few_blocks(self) -> bool:
        return self.ratio.blocks < blocks_needed(self.together, self.sides)

    @property
    def verdict(self) -> Verdict:
        if not self.is_shown:
            return Verdict.TOO_FEW_BLOCKS if self.has_too_few_blocks else Verdict.NO_DIFFERENCE
        more = self.ratio.median > 1
        if self.figure.more_is_better is None:
            return Verdict.MORE if more else Verdict.LESS
        return Verdict.BETTER if more == self.figure.more_is_better else Verdict.WORSE

    @property
    def outcome(self) -> Outcome:
        if self.is_shown:
            return Outcome.FAILED
        return Outcome.UNDECIDED if self.has_too_few_blocks else Outcome.PASSED


@dataclass(frozen=True)
class Unjudged:
    """A gate that cannot be decided in a cell."""

    gate: Gate
    cell: CellSummary
    reason: str


@dataclass
class Comparison:
    apart: list[Apart]  # cells that are not compared
    tests: list[Finding] = field(default_factory=list)
    judged: list[Finding] = field(default_factory=list)  # the tests of the gates
    unjudged: list[Unjudged] = field(default_factory=list)

    @property
    def different(self) -> list[Finding]:
        return [test for test in self.tests if test.is_shown]


def blocks_needed(tests: int, sides: int) -> int:
    """Returns the fewest blocks with which one of so many tests can show a difference."""
    blocks = 1
    while sides / 2**blocks > ERROR / max(tests, 1):
        blocks += 1
    return blocks


def compare(
    a: Measurement, b: Measurement, chosen: Chosen, gates: Sequence[Gate] = ()
) -> Comparison:
    pairs, apart = paired(a, b, chosen)
    found = Comparison(apart)
    for pair in sorted(pairs, key=lambda pair: pair.a.of_machine):
        study = pair.a.study
        of_study = [gate for gate in gates if gate.is_of(study)]
        failure = pair.failure
        if failure:
            found.apart.append(Apart(pair.a, failure))
            # A cell that is unavailable in both files was never part of the comparison.
            if not (pair.a.failure and pair.b.failure):
                found.unjudged += [Unjudged(gate, pair.a, failure) for gate in of_study]
            continue
        values = sorted(a.names[study].values & b.names[study].values)
        other_lengths = pair.other_lengths
        for figure in default_figures(study, pair.a.as_published, values):
            if figure.is_maximum and other_lengths:
                found.apart.append(Apart(pair.a, f"{figure.name}, because {other_lengths}"))
            else:
                found.tests += _tested(pair, figure)
        for gate in of_study:
            figure = named(gate.figure, study, pair.a.as_published)
            if figure.is_maximum and other_lengths:
                found.unjudged.append(Unjudged(gate, pair.a, other_lengths))
            else:
                found.judged += _tested(pair, figure, gate)
    decided = {test.gate for test in found.judged} | {each.gate for each in found.unjudged}
    for gate in gates:
        if gate not in decided:
            raise not_there(gate, a, b)
    _correct(found.tests)
    _correct(found.judged)
    return found


def _tested(pair: Pair, figure: Figure, gate: Gate | None = None) -> Iterator[Finding]:
    """Yields one test, or none if a file lacks the figure or has values below 0 (no ratios)."""
    a, b = _by_block(pair.a, figure), _by_block(pair.b, figure)
    ratios = [1.0 if abs(each - 1) < RESOLUTION else each for each in block_ratios(b, a)]
    ratio = ratio_of(ratios)
    if ratio is None or min((*a.values(), *b.values())) < 0:
        return
    if gate is None:
        beyond = max(sum(each > 1 for each in ratios), sum(each < 1 for each in ratios))
        p = min(1.0, 2 * sign_test(beyond, len(ratios)))
    else:
        p = sign_test(sum(map(gate.is_beyond, ratios)), len(ratios))
    medians = statistics.median(a.values()), statistics.median(b.values())
    yield Finding(pair, figure, gate, *medians, ratio, bool(a.keys() & b.keys()), p)


def _by_block(cell: CellSummary, figure: Figure) -> dict[int, float]:
    found = ((run["block"], run["figures"].get(figure.name)) for run in cell.runs)
    return {block: value for block, value in found if value is not None}


def _correct(tests: Sequence[Finding]) -> None:
    """Corrects the p-values together. Tests with too few blocks even alone can show nothing, so
    they do not count (Tarone 1990)."""
    able = [test for test in tests if test.ratio.blocks >= blocks_needed(1, test.sides)]
    for test, p in zip(able, holm([test.p for test in able]), strict=True):
        test.corrected_p = p
    for test in tests:
        test.together = len(able)
