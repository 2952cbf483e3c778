# SPDX-License-Identifier: Apache-2.0
"""lockyard try: a program alone and with other locks, in turn."""

from __future__ import annotations

import json
from dataclasses import replace

from lockyard.errors import ExitStatus, UsageError
from lockyard.field_kit import preload, trial, trial_text


def run(wanted: trial.Wanted, as_json: bool) -> ExitStatus:
    if wanted.rounds < trial.FEWEST_ROUNDS:
        raise UsageError(trial.too_few_rounds(wanted.rounds))
    locks = tuple(dict.fromkeys((preload.CONTROL, *wanted.locks)))
    found = trial.measured(replace(wanted, locks=locks), trial.note)
    trial.end_notes()
    if as_json:
        print(json.dumps(trial_text.document(found)))  # noqa: T201
    else:
        for line in trial_text.lines(found):
            print(line)  # noqa: T201
    return ExitStatus.DONE
