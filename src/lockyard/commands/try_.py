# SPDX-License-Identifier: Apache-2.0
"""Run a program alone and with other locks in turn, and say what each lock gains or loses."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer

from lockyard import options as parse
from lockyard.cli.arguments import Json, Program, Seed
from lockyard.cli.command import Parsed, command_of, options_class
from lockyard.errors import ExitStatus, UsageError
from lockyard.field_kit import preload, trial, trial_text


@options_class
class TryOptions:
    program: Program = None
    mutex: Annotated[
        Sequence[str],
        typer.Option(
            "--mutex",
            metavar="NAMES",
            help="The locks to try; the control glibc is always added.",
            show_default="mutex,fair_mutex",
            click_type=Parsed(partial(parse.names, known="names of locks")),
        ),
    ] = ("mutex", "fair_mutex")
    higher: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REGEX",
            help="A figure in the program's output, in parentheses, that should be high.",
        ),
    ] = None
    lower: Annotated[
        list[str] | None,
        typer.Option(metavar="REGEX", help="The same for a figure that should be low."),
    ] = None
    rounds: Annotated[
        int,
        typer.Option(metavar="N", help="How often the program runs alone and with each lock."),
    ] = 7
    seed: Seed = None
    as_json: Json = False

    @property
    def wanted(self) -> trial.Wanted:
        metrics = [trial.metric_of(text, is_lower_better=False) for text in self.higher or ()]
        metrics += [trial.metric_of(text, is_lower_better=True) for text in self.lower or ()]
        return trial.Wanted(
            command=tuple(self.program or ()),
            locks=tuple(dict.fromkeys((preload.CONTROL, *self.mutex))),
            metrics=tuple(metrics),
            rounds=self.rounds,
            seed=parse.random_seed() if self.seed is None else self.seed,
        )


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
        raise UsageError(
            f"--rounds {options.rounds}: fewer than {trial.FEWEST_ROUNDS} rounds give no interval "
            f"of 95 %; give {trial.FEWEST_ROUNDS} or more"
        )
    found = trial.measured(options.wanted, _note)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)  # noqa: T201
    if options.as_json:
        print(json.dumps(trial_text.document(found)))  # noqa: T201
    else:
        for line in trial_text.lines(found):
            print(line)  # noqa: T201
    return ExitStatus.DONE


def _note(round_: int, name: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[Kround {round_ + 1}: {name}", end="", file=sys.stderr)  # noqa: T201
