# SPDX-License-Identifier: Apache-2.0
"""What another lock would give a program: its locks, measured on this machine with the holds and
gaps that were recorded in the program.

In the study throughput, each thread repeats gap, lock, hold, unlock. A gap is everything that a
thread of the program does between two turns, so the ratio of two locks' rates is the predicted
ratio of the program's throughput, if only this lock is swapped. The product over the locks is the
prediction for all.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard import harness
from lockyard.errors import UsageError
from lockyard.field_kit import lengths
from lockyard.machine.conditions import inherited
from lockyard.measure import session
from lockyard.measure.plan import plan_cells
from lockyard.measure.recording import Recording
from lockyard.measure.request import Request
from lockyard.measure.work import NO_GAP, NO_HOLD, works
from lockyard.stats import Ratio, mean_ratio, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.field_kit.contention import Contention, Row

STUDY = "throughput"
PLAIN = "pthread_mutex[normal]"
RUN_S = 0.15
SMALL_SHARE = 0.01  # A lock that cost less of the run is not worth a prediction.
_Rates = dict[int, float]  # operations per second by block


@dataclass
class Placed:
    """A lock of the program, and how this machine's locks do with its lengths."""

    row: Row
    hold_ns: float  # means
    gap_ns: float
    program_per_s: float  # acquisitions
    rates: dict[str, _Rates] = field(default_factory=dict)

    @property
    def wanted(self) -> float:
        """Returns how many threads would hold the lock at a time if they never waited."""
        return self.row.threads * self.hold_ns / (self.hold_ns + self.gap_ns)

    @property
    def model_per_s(self) -> float:
        return statistics.median(self.rates[PLAIN].values())

    def ratio(self, lock: str) -> Ratio | None:
        return paired_ratio(self.rates[lock], self.rates[PLAIN])


@dataclass
class Prediction:
    locks: tuple[str, ...]
    placed: list[Placed]
    left_out: list[Row]  # locks that cost something, with too few samples
    load: float

    def ratio(self, lock: str) -> Ratio | None:
        """Returns the predicted ratio of the program's throughput."""
        pairs = [(each.rates[lock], each.rates[PLAIN]) for each in self.placed]
        found = mean_ratio(pairs)
        if found is None or len(pairs) == 1:
            return found
        # The mean of n ratios, to the power of n, is their product.
        low, high = (None if x is None else x ** len(pairs) for x in (found.low, found.high))
        return Ratio(found.median ** len(pairs), low, high, found.blocks)


def predicted(
    of: Contention, locks: Sequence[str], most: int, rounds: int, seed: int
) -> Prediction:
    """Measures the program's most costly mutexes, up to `most`, with each lock."""
    elapsed_ns = of.process.elapsed_ns
    costly = [
        row
        for row in of.rows
        if row.kind == "mutex" and row.threads > 1 and row.wait_ns > SMALL_SHARE * elapsed_ns
    ]
    known = [row for row in costly if lengths.is_known(row)][:most]
    if not known:
        raise lengths.TooFewLengthsError(_why_nothing(costly))
    placed = [_placed(row, elapsed_ns) for row in known]
    for each in placed:
        each.rates = _rates(each.row, (PLAIN, *locks), rounds, seed)
    left_out = [row for row in costly if row not in known]
    return Prediction(tuple(locks), placed, left_out, os.getloadavg()[0])


def _why_nothing(costly: list[Row]) -> str:
    if not costly:
        return (
            "threads waited for no mutex during more than 1 % of the run, so another lock would "
            "change nothing; look at 'lockyard profile' for other waits"
        )
    return (
        f"{costly[0].lock} has fewer than {lengths.FEWEST} sampled holds or gaps, so nothing can "
        "be predicted; run the program for longer (one acquisition of 16 to 512 is sampled), or "
        "try the locks with 'lockyard try'"
    )


def _placed(row: Row, elapsed_ns: float) -> Placed:
    hold_ns, gap_ns = (float(lengths.used(each).mean()) for each in (row.holds, row.gaps))
    return Placed(row, hold_ns, gap_ns, row.acquisitions / row.objects / elapsed_ns * 1e9)


def _rates(row: Row, locks: Sequence[str], rounds: int, seed: int) -> dict[str, _Rates]:
    catalog = harness.catalog()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lengths.csv"
        path.write_bytes(lengths.csv(row))
        work = works(NO_HOLD, NO_GAP, [Recording.of(str(path))])
        request = Request(
            [row.threads], conditions=[inherited()], work=work, runs=rounds,
            budget_s=RUN_S * rounds,
        )  # fmt: skip
        studies, chosen = catalog.select_studies([STUDY]), catalog.select_locks(locks)
        plan = session.Plan("predict", plan_cells(studies, chosen, request), seed, PLAIN)
        measured = session.measure(plan, None, to_stdout=False, refuse_unavailable=True)
    if measured.interrupted:
        raise KeyboardInterrupt
    found: dict[str, _Rates] = {}
    for run in measured.runs:
        if run["status"] == "ok":
            rates = found.setdefault(run["lock"], {})
            rates[run["block"]] = run["values"]["operations_per_s"]
    if missing := [lock for lock in locks if lock not in found]:
        raise UsageError(
            f"{', '.join(missing)} could not be measured here, so nothing is predicted; choose "
            "others with --mutex"
        )
    return found
