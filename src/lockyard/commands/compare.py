# SPDX-License-Identifier: Apache-2.0
"""lockyard compare: compares two measurements and judges what changed."""

from __future__ import annotations

import json
import statistics
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lockyard import harness
from lockyard.compare import gates
from lockyard.compare.circumstances import Weight, differences
from lockyard.compare.comparison import Comparison, Outcome, compare
from lockyard.compare.reading import read_two
from lockyard.errors import ExitStatus, UsageError
from lockyard.measure.noise import NOISE_STUDY
from lockyard.measure.session import say
from lockyard.page.wanted import WantedPage
from lockyard.report.units import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lockyard.compare.circumstances import EnvironmentDifference
    from lockyard.compare.measuring import Measuring
    from lockyard.compare.pairing import Chosen

# A larger share of the processors' time than an idle machine uses itself.
BUSY_SHARE = 0.05


def run(  # noqa: PLR0913 - one parameter for each part of the request
    a: Path,
    b: Path,
    chosen: Chosen,
    fail_if: Sequence[str],
    as_json: bool,
    page: WantedPage | None = None,
) -> ExitStatus:
    page = page or WantedPage()
    page.check()
    catalog = harness.catalog()
    asked = gates.parse(fail_if, catalog)
    with _shown_reading((a, b)):
        left, right = read_two((a, b), asked, catalog)
    for warning in (*left.warnings, *right.warnings):
        say(warning)
    environment = differences(left.environment, right.environment)
    notes = _notes(left, right, environment)
    if asked:
        _check_one_machine(left, right, environment)
    found = compare(left, right, chosen, asked)
    if as_json:
        from lockyard.compare.document import document

        print(json.dumps(document(left, right, found, environment, notes)))  # noqa: T201
    else:
        from lockyard.compare.text import print_comparison

        print_comparison(left, right, found, environment, notes)
    if page.path is not None:
        from lockyard.page.of_comparison import page_of

        page.write(page_of(left, right, found, environment, notes))
    return status(found)


def status(found: Comparison) -> ExitStatus:
    outcomes = {test.outcome for test in found.judged}
    if Outcome.FAILED in outcomes:
        return ExitStatus.CHECK_FAILED
    if found.unjudged or Outcome.UNDECIDED in outcomes:
        return ExitStatus.INCONCLUSIVE
    return ExitStatus.DONE


def _check_one_machine(
    a: Measuring, b: Measuring, environment: Sequence[EnvironmentDifference]
) -> None:
    """Raises UsageError where a gate would judge machines instead of locks."""
    unknown = [str(each.path) for each in (a, b) if not each.environment]
    if unknown:
        raise UsageError(
            f"{' and '.join(unknown)}: no environment record, so --fail-if might judge two "
            "machines; measure again, or compare without --fail-if"
        )
    machine = [each.key for each in environment if each.weight is Weight.MACHINE]
    if machine:
        raise UsageError(
            f"{a.path} and {b.path} come from different machines ({', '.join(machine)} differ), so "
            "--fail-if would judge the machines, not the locks; measure both on one machine, or "
            "compare without --fail-if"
        )


def _notes(a: Measuring, b: Measuring, environment: Sequence[EnvironmentDifference]) -> list[str]:
    """Returns what a reader has to know before any figure."""
    notes = []
    if a.path.samefile(b.path):
        notes.append("A and B are the same file")
    elif a.seed != b.seed:
        notes.append(
            f"the seeds differ ({a.seed} and {b.seed}): blocks with the same number differ in the "
            "locks' places in memory and in the order of runs"
        )
    notes += [
        f"{file} has no environment record, so it is unknown whether the environments differ"
        for file, measuring in (("A", a), ("B", b))
        if not measuring.environment
    ]
    lost = _lost_share(a), _lost_share(b)
    if max(lost) > BUSY_SHARE:
        of_a, of_b = map(percent, lost)
        notes.append(
            f"the machine was busy: the study noise lost {of_a} of the time in A and {of_b} in B, "
            "so a difference may come from the machine"
        )
    if any(each.weight is Weight.MACHINE for each in environment):
        notes.append("A and B come from different machines, so a difference may be the machines'")
    return notes


def _lost_share(measuring: Measuring) -> float:
    """Returns the share of time lost to other processes, 0 where the study noise did not run."""
    runs = (run for cell in measuring.cells if cell.study == NOISE_STUDY for run in cell.runs)
    found = [share for run in runs if (share := run["figures"].get("lost_share")) is not None]
    return statistics.median(found) if found else 0.0


@contextmanager
def _shown_reading(paths: Sequence[Path]) -> Iterator[None]:
    """Shows on a terminal that files are being read, since large files take a while."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"reading {' and '.join(str(path) for path in paths)}"):
        yield
