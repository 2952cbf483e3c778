# SPDX-License-Identifier: Apache-2.0
"""Planted stalls, whose causes are known, against what was found: the confusion matrix."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockyard.errors import UsageError
from lockyard.explain.causes import BY_NAME, Cause
from lockyard.explain.stalls import explain
from lockyard.explain.trace import read_trace
from lockyard.report.console import print_line, stdout_console, titled_table
from lockyard.report.units import percent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from lockyard.explain.source import Found
    from lockyard.explain.stalls import Explanation, Stall

TRUTH_SUFFIX = ".truth.jsonl"
RIGHT_SHARE = 0.95
LEAST_OVERLAP = 0.2  # of both together, for a stall to be the planted one


@dataclass(frozen=True)
class Planted:
    cause: Cause
    begin: int  # ticks from the start of the trace
    end: int
    lock: int  # 0: any
    tid: int


@dataclass
class Matrix:
    """How often what was planted was found to be what; None: not found at all."""

    counts: Counter[tuple[Cause, Cause | None]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    outside: int = 0  # planted, but no longer in the rings

    def planted(self, cause: Cause) -> int:
        return sum(n for (planted, _), n in self.counts.items() if planted is cause)

    def right_share(self, cause: Cause) -> float:
        right = sum(
            n
            for (planted, found), n in self.counts.items()
            if planted is cause and found is not None and is_right(planted, found)
        )
        return right / self.planted(cause)

    @property
    def causes(self) -> list[Cause]:
        return [cause for cause in Cause if self.planted(cause)]

    @property
    def holds(self) -> bool:
        return all(self.right_share(cause) >= RIGHT_SHARE for cause in self.causes)


def is_right(planted: Cause, found: Cause) -> bool:
    """Where the whole was planted, its parts are right too."""
    return found is planted or (planted is planted.whole and found.whole is planted)


def matrix_of(found: Found, longer_than_ns: float) -> Matrix:
    matrix = Matrix()
    files = 0
    for source in found.traces:
        side = source.path.with_name(source.path.name + TRUTH_SUFFIX)
        if not side.is_file():
            continue
        files += 1
        trace = read_trace(source.path)
        explanation = explain(trace, longer_than_ns)
        for planted in read_truth(side, trace.start):
            _count(matrix, explanation, planted)
    if not files:
        raise UsageError(
            f"no trace here has a file of its planted causes beside it (<trace>{TRUTH_SUFFIX}), so "
            "nothing can be compared; name traces of planted scenes (docs/explain.md)"
        )
    if not matrix.causes:
        raise UsageError("nothing was planted in the window of the traces; nothing can be compared")
    return matrix


def read_truth(path: Path, start: int) -> list[Planted]:
    found = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            row: dict[str, Any] = json.loads(line)
            found.append(
                Planted(
                    BY_NAME[row["class"]],
                    int(row["begin_ticks"]) - start,
                    int(row["end_ticks"]) - start,
                    int(row["lock"]),
                    int(row["tid"]),
                )
            )
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"{path}, line {number}: is no planted cause; the file is damaged, nothing was "
                "compared; plant again"
            ) from None
    return found


def _count(matrix: Matrix, explanation: Explanation, planted: Planted) -> None:
    trace = explanation.trace
    if planted.begin < trace.begin:
        matrix.outside += 1
        return
    stall = _matching(explanation, planted)
    found = None if stall is None else stall.cause
    # Where the whole was planted, the matrix does not tell its parts.
    if found is not None and is_right(planted.cause, found):
        found = planted.cause
    matrix.counts[planted.cause, found] += 1
    if found is not planted.cause:
        shares = (
            {}
            if stall is None
            else {c.stored: round(stall.share(c), 3) for c in Cause if stall.amounts[c]}
        )
        matrix.wrong.append(
            f"{trace.path.name}: {planted.cause.stored} planted at "
            f"{trace.ns(planted.begin) / 1e6:.3f} ms for "
            f"{trace.ns(planted.end - planted.begin) / 1e6:.3f} ms: "
            f"{'no stall' if stall is None else f'{stall.kind.value} {shares}'}"
        )


def _matching(explanation: Explanation, planted: Planted) -> Stall | None:
    """That stall of the lock which covers most of the planted time, and little else."""
    best, best_overlap = None, LEAST_OVERLAP
    for lock in explanation.locks:
        if planted.lock not in (0, lock.history.address):
            continue
        for stall in lock.stalls:
            common = min(stall.end, planted.end) - max(stall.begin, planted.begin)
            both = max(stall.end, planted.end) - min(stall.begin, planted.begin)
            is_of_thread = planted.tid in (0, explanation.threads[stall.subject].tid)
            # Of waits that began together, the one whose thread is named.
            overlap = common / both + (1e-3 if is_of_thread else 0) if both > 0 else 0.0
            if common > 0 and overlap > best_overlap:
                best, best_overlap = stall, overlap
    return best


def print_matrix(matrix: Matrix) -> None:
    console = stdout_console()
    seen = [cause for cause in Cause if any(found is cause for _, found in matrix.counts)]
    columns: list[Cause | None] = [*dict.fromkeys([*matrix.causes, *seen])]
    if any(found is None for _, found in matrix.counts):
        columns.append(None)
    table = titled_table("planted causes (rows) and what was found (columns)")
    table.add_column("planted", no_wrap=True)
    table.add_column("times", justify="right")
    for column in columns:
        title = "no stall" if column is None else column.stored.replace("_", "\n")
        table.add_column(title, justify="right")
    table.add_column("right", justify="right", no_wrap=True)
    for cause in matrix.causes:
        cells = [matrix.counts.get((cause, column), 0) for column in columns]
        share = matrix.right_share(cause)
        style = "green" if share >= RIGHT_SHARE else "bold red"
        table.add_row(
            cause.stored,
            f"{matrix.planted(cause)}",
            *(str(cell) if cell else "·" for cell in cells),
            f"[{style}]{percent(share)}[/]",
        )
    console.print(table)
    never = [cause.stored for cause in Cause if not matrix.planted(cause)]
    if never:
        print_line(console, f"not planted: {', '.join(never)}")
    if matrix.outside:
        print_line(console, f"left out: {matrix.outside} that the rings do not reach back to")
    verdict = "holds" if matrix.holds else "FAILS"
    print_line(console, f"at least {RIGHT_SHARE:.0%} of every planted cause found: {verdict}")


def matrix_document(matrix: Matrix) -> dict[str, Any]:
    return {
        "schema": 1,
        "record": "confusion_matrix",
        "right_share_wanted": RIGHT_SHARE,
        "holds": matrix.holds,
        "outside": matrix.outside,
        "planted": {
            cause.stored: {
                "times": matrix.planted(cause),
                "right_share": matrix.right_share(cause),
                "found": {
                    "none" if found is None else found.stored: count
                    for (planted, found), count in sorted(
                        matrix.counts.items(), key=lambda each: -each[1]
                    )
                    if planted is cause
                },
            }
            for cause in matrix.causes
        },
        "wrong": matrix.wrong,
    }


def wrong_lines(matrix: Matrix, most: int) -> Sequence[str]:
    rest = len(matrix.wrong) - most
    return [*matrix.wrong[:most], *([f"and {rest} more"] if rest > 0 else [])]
