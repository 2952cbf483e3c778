# SPDX-License-Identifier: Apache-2.0
"""lockyard try: a program alone and with other locks, in turn."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

from lockyard.errors import ExitStatus, UsageError
from lockyard.field_kit import preload, trial, trial_text


def run(wanted: trial.Wanted, as_json: bool) -> ExitStatus:
    if wanted.rounds < trial.FEWEST_ROUNDS:
        raise UsageError(
            f"--rounds {wanted.rounds}: fewer than {trial.FEWEST_ROUNDS} rounds give no interval "
            f"of 95 %; give {trial.FEWEST_ROUNDS} or more"
        )
    locks = tuple(dict.fromkeys((preload.CONTROL, *wanted.locks)))
    found = trial.measured(replace(wanted, locks=locks), _note)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)  # noqa: T201
    if as_json:
        print(json.dumps(trial_text.document(found)))  # noqa: T201
    else:
        for line in trial_text.lines(found):
            print(line)  # noqa: T201
    return ExitStatus.DONE


def _note(round_: int, name: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[Kround {round_ + 1}: {name}", end="", file=sys.stderr)  # noqa: T201
