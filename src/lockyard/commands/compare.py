# SPDX-License-Identifier: Apache-2.0
"""Show what differs between A and B, and fail if a figure has provably changed too much."""

from __future__ import annotations

import statistics
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from lockyard import harness
from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import command_of, option, options_class
from lockyard.compare import gates
from lockyard.compare.comparison import Comparison, Outcome, compare
from lockyard.compare.environment_diff import Weight, differences
from lockyard.compare.pairing import chosen
from lockyard.compare.reading import read_two
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, UsageError
from lockyard.measure.noise import NOISE_STUDY
from lockyard.measure.session import say
from lockyard.page.arguments import PageFile
from lockyard.page.wanted import WantedPage
from lockyard.report.units import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.compare.environment_diff import EnvironmentDifference
    from lockyard.compare.measurement import Distributions, Measurement

# A larger share of the processors' time than an idle machine uses itself.
BUSY_SHARE = 0.05


@options_class
class CompareOptions:
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="The records to compare with: a file, or a folder of files.",
            show_default=False,
            click_type=FILE,
        ),
    ]
    b: Annotated[
        Path | None,
        typer.Argument(
            metavar="B",
            help="The records to judge, likewise.",
            show_default="A, for two of its locks",
            click_type=FILE,
        ),
    ] = None
    fail_if: Annotated[
        list[str] | None,
        option(
            "'[STUDY.]FIGURE > +N%'",
            "End with status 4 if a figure of B provably exceeds this change from A; repeat "
            "the option for more gates.",
            shown=False,
            complete=completions.figures,
        ),
    ] = None
    study: Annotated[
        str,
        option(
            "NAME,…",
            "Compare only these studies.",
            shown="all",
            complete=completions.studies_listed,
        ),
    ] = ""
    locks: Annotated[
        str,
        option(
            "OF_A,OF_B", "Compare this lock of A with that lock of B.", shown="each with itself"
        ),
    ] = ""
    page: PageFile = None
    shape: Annotated[
        str,
        option(
            "text|markdown",
            "Markdown is for a comment on a pull request.",
            click.Choice(["text", "markdown"]),
            names=("--format",),
        ),
    ] = "text"
    as_json: Json = False


@command_of(
    CompareOptions,
    "lockyard compare before.jsonl after.jsonl",
    "lockyard compare before.jsonl after.jsonl --fail-if 'wait.p99 > +5%' --fail-if "
    "'throughput.rate < -5%'",
    "lockyard compare before/ after/ --format markdown > comment.md",
    "lockyard compare in.jsonl --locks std::mutex,mutex",
    "lockyard compare a.jsonl b.jsonl --json | jq '.compared[] | select(.corrected_p <= 0.05)'",
)
def command(options: CompareOptions) -> int:
    choice = chosen(options.study, options.locks, alone=options.b is None)
    b = options.b or options.a
    page = WantedPage(options.page)
    page.check()
    catalog = harness.catalog()
    asked = gates.parse(options.fail_if or (), catalog)
    with _shown_reading((options.a, b)):
        left, right = read_two((options.a, b), asked, catalog, _distributions(page))
    for warning in (*left.warnings, *right.warnings):
        say(warning)
    environment = differences(left.environment, right.environment)
    notes = _notes(left, right, environment)
    if asked:
        _check_one_machine(left, right, environment)
    found = compare(left, right, choice, asked)
    if options.as_json:
        from lockyard.compare.document import document

        print_document(document(left, right, found, environment, notes))
    elif options.shape == "markdown":
        from lockyard.compare.markdown import print_markdown

        print_markdown(left, right, found, environment, notes)
    else:
        from lockyard.compare.text import print_comparison

        print_comparison(left, right, found, environment, notes)
    if page.path is not None:
        from lockyard.page.of_comparison import page_of

        page.write(page_of(left, right, found, environment, notes))
    return status(found)


def _distributions(page: WantedPage) -> Distributions:
    """Returns the histograms that are wanted: none without a page, since adding them up takes a
    while."""
    if page.path is None:
        return {}
    from lockyard.page.of_comparison import DISTRIBUTIONS

    return DISTRIBUTIONS


def status(found: Comparison) -> ExitStatus:
    outcomes = {test.outcome for test in found.judged}
    if Outcome.FAILED in outcomes:
        return ExitStatus.CHECK_FAILED
    if found.unjudged or Outcome.UNDECIDED in outcomes:
        return ExitStatus.INCONCLUSIVE
    return ExitStatus.DONE


def _check_one_machine(
    a: Measurement, b: Measurement, environment: Sequence[EnvironmentDifference]
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


def _notes(
    a: Measurement, b: Measurement, environment: Sequence[EnvironmentDifference]
) -> list[str]:
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


def _lost_share(measuring: Measurement) -> float:
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

    with Console(stderr=True, emoji=False).status(
        f"reading {' and '.join(str(path) for path in paths)}"
    ):
        yield
