# SPDX-License-Identifier: Apache-2.0
"""Say which lock to use on this machine for given hold and gap times, with the runner-up and the
price, from records or from a measurement made now."""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockyard import harness, options
from lockyard.advise import evidence
from lockyard.advise.choice import Advice, advised
from lockyard.advise.use import Use, of_row
from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json, Seed
from lockyard.cli.command import command_of, option, options_class
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, UsageError
from lockyard.measure import session
from lockyard.measure.work import length_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lockyard.catalog import Catalog, Lock
    from lockyard.field_kit.contention import Row

# The locks of a program that are worth advice: those that cost most, and at least this share of
# its run.
MOST_LOCKS = 3
SMALL_SHARE = 0.01


@dataclass(frozen=True)
class Wanted:
    hold: str
    gap: str
    threads: int | None
    by_tail: bool
    profile: Path | None
    records: Sequence[Path]
    locks: str
    budget_s: float
    may_measure: bool
    seed: int


@options_class
class AdviseOptions:
    hold: Annotated[
        str, option("0|TIME", "How long a thread holds the lock, as in 300ns.", shown=False)
    ] = ""
    gap: Annotated[
        str, option("0|TIME", "How long a thread does other work before each call.", shown="0")
    ] = ""
    threads: Annotated[int | None, option("N", "How many threads use the lock.", shown=False)] = (
        None
    )
    tail: Annotated[
        bool, typer.Option("--tail", help="Choose by the longest of 1000 waits, not by throughput.")
    ] = False
    from_profile: Annotated[
        Path | None,
        option(
            "FILE",
            "Advise on the most costly locks in this profile of a program ('lockyard profile -o').",
            FILE,
            shown=False,
        ),
    ] = None
    records: Annotated[
        list[Path] | None,
        option(
            "FILE|FOLDER",
            "Records of this machine; missing figures are measured.",
            names=("--from",),
            shown=False,
        ),
    ] = None
    locks: Annotated[
        str,
        option(
            "NAME,…",
            "The locks to choose from: names, seeds, ours, peers or all.",
            complete=completions.locks,
        ),
    ] = "ours,std::mutex"
    for_: Annotated[
        float,
        option(
            "TIME",
            "About how long to measure, if that is necessary.",
            options.duration_s,
            names=("--for",),
            shown="20s",
        ),
    ] = 20.0
    no_measure: Annotated[
        bool,
        typer.Option(
            "--no-measure", help="Fail if the records lack figures, instead of measuring."
        ),
    ] = False
    seed: Seed = None
    as_json: Json = False

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            self.hold,
            self.gap,
            self.threads,
            self.tail,
            self.from_profile,
            self.records or (),
            self.locks,
            self.for_,
            not self.no_measure,
            options.random_seed() if self.seed is None else self.seed,
        )


@command_of(
    AdviseOptions,
    "lockyard advise --hold 300ns --gap 5us --threads 12",
    "lockyard advise --hold 20us --threads 4 --tail --locks ours",
    "lockyard advise --hold 1us --gap 10us --threads 8 --from records.jsonl",
    "lockyard advise --from-profile profile.jsonl",
)
def command(given: AdviseOptions) -> int:
    wanted, as_json = given.wanted, given.as_json
    catalog = harness.catalog()
    locks = _candidates(catalog, wanted.locks)
    remarks: list[str] = []
    with tempfile.TemporaryDirectory(prefix="lockyard-advise-") as folder:
        uses = list(_uses(wanted, Path(folder)))
        answers = _answers(uses, wanted, locks, catalog, remarks)
    left = uses[len(answers) :]
    if left:
        named = ", ".join(each.name for each in left)
        remarks.append(f"Interrupted, so nothing is advised for {named}: ask again.")
    from lockyard.advise import document, text

    if as_json:
        print_document(document.document(answers, remarks))
    else:
        text.print_advice(answers, list(dict.fromkeys(remarks)))
    is_interrupted = bool(left) or answers[-1].is_interrupted
    return ExitStatus.INTERRUPTED if is_interrupted else ExitStatus.DONE


def _answers(
    uses: Iterable[Use],
    wanted: Wanted,
    locks: Sequence[Lock],
    catalog: Catalog,
    remarks: list[str],
) -> list[Advice]:
    """Returns advice for each use, or until Ctrl-C. Raises KeyboardInterrupt if there is none."""
    answers: list[Advice] = []
    try:
        for use in uses:
            answers.append(_advice(use, wanted, locks, catalog, remarks))
            if answers[-1].is_interrupted:
                break
    except KeyboardInterrupt:
        if not answers:
            raise
    return answers


def _candidates(catalog: Catalog, names: str) -> list[Lock]:
    """Returns the locks that exclude and whose libraries are there."""
    chosen = catalog.select_locks(options.names("--locks", names))
    missing = catalog.missing_locks
    found = [lock for lock in chosen if lock.excludes and lock.name not in missing]
    if not found:
        raise UsageError(
            f"--locks {names}: none of these is a lock that excludes other threads and can be "
            "measured here; name others"
        )
    return found


def _uses(wanted: Wanted, folder: Path) -> Iterator[Use]:
    described = bool(wanted.hold or wanted.gap or wanted.threads)
    if wanted.profile is not None:
        if described:
            raise UsageError(
                "--from-profile has the holds, gaps and threads of a program, so --hold, --gap and "
                "--threads would have no effect; drop one of the two"
            )
        for number, row in enumerate(_costly(wanted.profile)):
            yield of_row(row, folder / f"{number}.csv")
        return
    if not wanted.hold or wanted.threads is None:
        raise UsageError(
            "say how the lock is used: --hold TIME and --threads N, and --gap TIME if threads do "
            "other work in between; or give --from-profile FILE, which lockyard profile -o writes"
        )
    if not 1 <= wanted.threads <= options.MAX_THREADS:
        raise UsageError(f"--threads {wanted.threads}: must be from 1 to {options.MAX_THREADS}")
    yield Use(
        wanted.threads, length_ns("--hold", wanted.hold), length_ns("--gap", wanted.gap or "0")
    )


def _costly(path: Path) -> list[Row]:
    """Returns the mutexes of a profile that made threads wait most, with enough samples."""
    from lockyard.field_kit import lengths, profile_files

    if not os.access(path, os.R_OK):
        raise UsageError(
            f"{path}: the file cannot be read, so nothing is known of the program; name a profile "
            "that 'lockyard profile -o' has written, and check its permissions"
        )
    if not profile_files.is_profile(path):
        raise UsageError(
            f"{path}: the file has no profile; name one that 'lockyard profile -o' has written"
        )
    processes = profile_files.read(path)
    rows = [
        row
        for process in processes
        for row in process.rows
        if row.threads > 1 and row.wait_ns > SMALL_SHARE * process.process.elapsed_ns
    ]
    known = [row for row in sorted(rows, key=lambda row: -row.cost_ns) if lengths.is_known(row)]
    if not known:
        raise UsageError(
            f"{path}: no lock made threads wait for more than {SMALL_SHARE:.0%} of the run and has "
            f"{lengths.FEWEST} sampled holds and gaps, so another lock would change nothing, or "
            "nothing is known of it; profile the program for longer"
        )
    return known[:MOST_LOCKS]


def _advice(
    use: Use, wanted: Wanted, locks: Sequence[Lock], catalog: Catalog, remarks: list[str]
) -> Advice:
    cells, said = evidence.recorded(wanted.records, use, catalog)
    remarks += said
    source, interrupted = "from records", False
    if evidence.lacking(cells, locks):
        if not wanted.may_measure:
            raise UsageError(
                "the records do not have this use for all of these locks, so nothing is advised; "
                "drop --no-measure, or name the locks that were measured with --locks"
                + "".join(f"\n{each}" for each in said)
            )
        plan = evidence.planned(use, locks, wanted.budget_s, wanted.by_tail, catalog)
        cells, interrupted = evidence.measured(plan, wanted.seed)
        source = "measured now"
        if interrupted and evidence.lacking(cells, locks):
            named = f" for {use.name}" if use.name else ""
            session.say(
                f"not every lock has been measured, so nothing is advised{named}; ask again"
            )
            raise KeyboardInterrupt
        if os.getloadavg()[0] > 2 * len(os.sched_getaffinity(0)):
            remarks.append(
                f"The machine is busy (load {os.getloadavg()[0]:.1f}), so its neighbours may "
                "decide these figures: ask again when it is quiet."
            )
    found = advised(use, cells, locks, wanted.by_tail, source)
    found = replace(found, is_interrupted=interrupted)
    remarks += _doubts(found)
    return found


def _doubts(of: Advice) -> Iterator[str]:
    """Yields what is not shown because the measurement was too short."""
    if of.is_interrupted:
        yield "Interrupted, so the figures are from the runs until then."
    few = [each.lock.name for each in of.ranked if len(each.rate.runs) < evidence.RUNS]
    if few and not of.is_interrupted:
        yield (
            f"Fewer than {evidence.RUNS} runs of {', '.join(few)} fitted into the time, so no "
            "difference to them is shown: give a longer --for, or fewer --locks."
        )
    unknown = [each.lock.name for each in of.ranked if math.isinf(each.tail_ns)]
    if unknown and of.by_tail:
        yield (
            f"Too few waits of {', '.join(unknown)} for the {100 * of.tails.share:g}th percentile, "
            "so the longest wait decides their order: give a longer --for."
        )
