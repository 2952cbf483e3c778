# SPDX-License-Identifier: Apache-2.0
"""lockyard predict: what another lock would give a program, by its profile, and what it gives."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.commands import profile
from lockyard.errors import ExitStatus, UsageError
from lockyard.field_kit import prediction, prediction_text, preload, profile_files, trial

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lockyard.field_kit.contention import Contention


@dataclass(frozen=True)
class Wanted:
    trial: trial.Wanted  # the program may be missing if a profile is given
    source: Path | None
    verify: bool
    most_locks: int


def run(wanted: Wanted, as_json: bool) -> ExitStatus:
    _check(wanted)
    for lock in wanted.trial.locks:
        preload.library(lock)  # raises if there is none
    profiled = _profiled(wanted)
    found = prediction.predicted(
        profiled, wanted.trial.locks, wanted.most_locks, wanted.trial.rounds, wanted.trial.seed
    )
    if not as_json:
        _print(prediction_text.lines(found))
    tried = trial.measured(wanted.trial, trial.note) if wanted.verify else None
    if as_json:
        print(json.dumps(prediction_text.document(found, tried)))  # noqa: T201
    elif tried is not None:
        trial.end_notes()
        _print(prediction_text.verified(found, tried))
    return ExitStatus.DONE


def _check(wanted: Wanted) -> None:
    if not wanted.trial.command and (wanted.source is None or wanted.verify):
        raise UsageError(
            "predict runs one program, and none was given; add it behind '--', or give a profile "
            "with --from and leave --verify out"
        )
    if wanted.trial.rounds < trial.FEWEST_ROUNDS:
        raise UsageError(trial.too_few_rounds(wanted.trial.rounds))


def _profiled(wanted: Wanted) -> Contention:
    """Returns the process that waited most."""
    if wanted.source is not None:
        if not profile_files.is_profile(wanted.source):
            raise UsageError(
                f"{wanted.source}: the file has no profile; name one that 'lockyard profile -o' "
                "has written"
            )
        return max(profile_files.read(wanted.source), key=lambda each: each.wait_ns)
    status, processes = profile.recorded(wanted.trial.command, stdout=sys.stderr)
    if status != 0:
        raise trial.FailedRunError(
            f"{wanted.trial.command[0]} ended with status {status} under profile, so nothing is "
            "predicted; correct its arguments"
        )
    return processes[0]


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)  # noqa: T201
    sys.stdout.flush()
