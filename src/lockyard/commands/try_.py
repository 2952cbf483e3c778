# SPDX-License-Identifier: Apache-2.0
"""Run a program alone and with other locks in turn, and say what each lock gains or loses."""

from __future__ import annotations

from dataclasses import replace

from lockyard.cli.arguments import Json
from lockyard.cli.command import command_of, options_class
from lockyard.cli.trial_options import TrialOptions
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, UsageError
from lockyard.field_kit import preload, trial, trial_document, trial_text


@options_class
class TryOptions(TrialOptions):
    as_json: Json = False


@command_of(
    TryOptions,
    "lockyard try -- make check",
    "lockyard try --mutex mutex,fair_mutex --higher '([0-9.]+) ops/sec' --lower "
    "'P99: ([0-9.]+)' -- db_bench --benchmarks=readrandom",
    "lockyard try --rounds 15 --json -- prog | jq .metrics",
    starts_program=True,
)
def command(options: TryOptions) -> int:
    if options.rounds < trial.FEWEST_ROUNDS:
        raise UsageError(trial.too_few_rounds(options.rounds))
    locks = tuple(dict.fromkeys((preload.CONTROL, *options.mutex)))
    found = trial.measured(replace(options.trial, locks=locks), trial.note)
    trial.end_notes()
    if options.as_json:
        print_document(trial_document.document(found))
    else:
        for line in trial_text.lines(found):
            print(line)  # noqa: T201
    return ExitStatus.DONE
