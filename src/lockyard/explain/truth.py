# SPDX-License-Identifier: Apache-2.0
"""Compares injected stalls, whose causes are known, with the causes found: a confusion matrix."""

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
LEAST_OVERLAP = 0.2  # the least common share of time of an injected stall and a matching one


@dataclass(frozen=True)
class Injected:
    cause: Cause
    begin: int  # ticks from the start of the trace
    end: int
    lock: int  # 0: any
    tid: int


@dataclass
class Matrix:
    """Counts each injected cause by the cause that was found; None: no stall was found."""

    counts: Counter[tuple[Cause, Cause | None]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    outside: int = 0  # injected stalls that the rings no longer contain

    def injected(self, cause: Cause) -> int:
        return sum(n for (injected, _), n in self.counts.items() if injected is cause)

    def right_share(self, cause: Cause) -> float:
        right = sum(
            n
            for (injected, found), n in self.counts.items()
            if injected is cause and found is not None and is_right(injected, found)
        )
        return right / self.injected(cause)

    @property
    def causes(self) -> list[Cause]:
        return [cause for cause in Cause if self.injected(cause)]

    @property
    def holds(self) -> bool:
        return all(self.right_share(cause) >= RIGHT_SHARE for cause in self.causes)


def is_right(injected: Cause, found: Cause) -> bool:
    """Tells whether the found cause is the injected cause or a part of it."""
    return found is injected or (injected is injected.whole and found.whole is injected)


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
        for injected in read_truth(side, trace.start):
            _count(matrix, explanation, injected)
    if not files:
        raise UsageError(
            f"no trace here has a file of injected causes next to it (<trace>{TRUTH_SUFFIX}), so "
            "nothing can be compared; name traces with injected stalls (docs/explain.md)"
        )
    if not matrix.causes:
        raise UsageError(
            "no stall was injected in the window of the traces, so nothing can be compared; "
            "inject again"
        )
    return matrix


def read_truth(path: Path, start: int) -> list[Injected]:
    found = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            row: dict[str, Any] = json.loads(line)
            found.append(
                Injected(
                    BY_NAME[row["class"]],
                    int(row["begin_ticks"]) - start,
                    int(row["end_ticks"]) - start,
                    int(row["lock"]),
                    int(row["tid"]),
                )
            )
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"{path}, line {number}: not an injected cause, so the file is damaged and nothing "
                "was compared; inject again"
            ) from None
    return found


def _count(matrix: Matrix, explanation: Explanation, injected: Injected) -> None:
    trace = explanation.trace
    if injected.begin < trace.begin:
        matrix.outside += 1
        return
    stall = _matching(explanation, injected)
    found = None if stall is None else stall.cause
    # Where a cause as a whole was injected, the matrix does not distinguish its parts.
    if found is not None and is_right(injected.cause, found):
        found = injected.cause
    matrix.counts[injected.cause, found] += 1
    if found is not injected.cause:
        shares = (
            {}
            if stall is None
            else {c.stored: round(stall.share(c), 3) for c in Cause if stall.amounts[c]}
        )
        matrix.wrong.append(
            f"{trace.path.name}: {injected.cause.stored} injected at "
            f"{trace.ns(injected.begin) / 1e6:.3f} ms for "
            f"{trace.ns(injected.end - injected.begin) / 1e6:.3f} ms: "
            f"{'no stall' if stall is None else f'{stall.kind.value} {shares}'}"
        )


def _matching(explanation: Explanation, injected: Injected) -> Stall | None:
    """Returns the lock's stall that covers most of the injected time, and little else."""
    best, best_overlap = None, LEAST_OVERLAP
    for lock in explanation.locks:
        if injected.lock not in (0, lock.history.address):
            continue
        for stall in lock.stalls:
            common = min(stall.end, injected.end) - max(stall.begin, injected.begin)
            both = max(stall.end, injected.end) - min(stall.begin, injected.begin)
            is_of_thread = injected.tid in (0, explanation.threads[stall.subject].tid)
            # If several waits began together, the wait of the named thread matches.
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
    table = titled_table("injected causes (rows) and found causes (columns)")
    table.add_column("injected", no_wrap=True)
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
            f"{matrix.injected(cause)}",
            *(str(cell) if cell else "·" for cell in cells),
            f"[{style}]{percent(share)}[/]",
        )
    console.print(table)
    never = [cause.stored for cause in Cause if not matrix.injected(cause)]
    if never:
        print_line(console, f"not injected: {', '.join(never)}")
    if matrix.outside:
        print_line(
            console, f"left out: {matrix.outside} injected stalls older than the rings' events"
        )
    verdict = "holds" if matrix.holds else "FAILS"
    print_line(console, f"at least {RIGHT_SHARE:.0%} of every injected cause found: {verdict}")


def wrong_lines(matrix: Matrix, most: int) -> Sequence[str]:
    rest = len(matrix.wrong) - most
    return [*matrix.wrong[:most], *([f"and {rest} more"] if rest > 0 else [])]
