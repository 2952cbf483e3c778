# SPDX-License-Identifier: Apache-2.0
"""Predict what another lock would give a program: record the holds and gaps of its locks, and
measure other locks with them on this machine. With --verify, also run it with these locks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import command_of, option, options_class
from lockyard.cli.trial_options import TrialOptions
from lockyard.commands import profile
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, UsageError
from lockyard.field_kit import (
    prediction,
    prediction_document,
    prediction_text,
    preload,
    profile_files,
    trial,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockyard.field_kit.contention import Contention


@options_class
class PredictOptions(TrialOptions):
    source: Annotated[
        Path | None,
        option(
            "FILE", "Read this profile instead of profiling the program.", FILE, names=("--from",)
        ),
    ] = None
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Run the program with each lock, and compare with the prediction."
        ),
    ] = False
    most: Annotated[
        int,
        typer.Option(
            "--most", metavar="N", min=1, help="How many of the program's locks to measure."
        ),
    ] = 3
    as_json: Json = False


@command_of(
    PredictOptions,
    "lockyard predict --higher '([0-9.]+) ops/sec' --verify -- db_bench --benchmarks=readrandom",
    "lockyard predict --from profile.jsonl --mutex mutex",
    "lockyard predict --json -- prog | jq .locks",
    starts_program=True,
)
def command(options: PredictOptions) -> int:
    wanted, as_json = options.trial, options.as_json
    _check(options)
    for lock in wanted.locks:
        preload.library(lock)  # raises if there is none
    profiled = _profiled(options)
    found = prediction.predicted(profiled, wanted.locks, options.most, wanted.rounds, wanted.seed)
    if not as_json:
        _print(prediction_text.lines(found))
    tried = trial.measured(wanted, trial.note) if options.verify else None
    if as_json:
        print_document(prediction_document.document(found, tried))
    elif tried is not None:
        trial.end_notes()
        _print(prediction_text.verified(found, tried))
    return ExitStatus.DONE


def _check(options: PredictOptions) -> None:
    if not options.program and (options.source is None or options.verify):
        raise UsageError(
            "predict runs one program, and none was given; add it after '--', or give a profile "
            "with --from and leave --verify out"
        )
    if options.rounds < trial.FEWEST_ROUNDS:
        raise UsageError(trial.too_few_rounds(options.rounds))


def _profiled(options: PredictOptions) -> Contention:
    """Returns the process that waited most."""
    if options.source is not None:
        if not profile_files.is_profile(options.source):
            raise UsageError(
                f"{options.source}: the file has no profile; name one that 'lockyard profile -o' "
                "has written"
            )
        return max(profile_files.read(options.source), key=lambda each: each.wait_ns)
    status, processes = profile.recorded(options.program or (), stdout=sys.stderr)
    if status != 0:
        raise trial.FailedRunError(
            f"the program ended with status {status} under profile, so nothing is predicted; "
            "correct its arguments"
        )
    return processes[0]


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)  # noqa: T201
    sys.stdout.flush()
