# SPDX-License-Identifier: Apache-2.0
"""The options of commands that run a program with several locks: `try` and `predict`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from lockyard import options as parse
from lockyard.cli.arguments import Program, Seed
from lockyard.cli.command import option, options_class
from lockyard.field_kit.trial import Wanted, metric_of


@options_class
class TrialOptions:
    program: Program = None
    mutex: Annotated[
        Sequence[str],
        option(
            "NAMES",
            "The locks to try; the control glibc is always added.",
            partial(parse.names, known="names of locks"),
            shown="mutex,fair_mutex",
        ),
    ] = ("mutex", "fair_mutex")
    higher: Annotated[
        list[str] | None,
        option("REGEX", "Pattern of the output, whose group is a figure that should be high."),
    ] = None
    lower: Annotated[
        list[str] | None, option("REGEX", "The same for a figure that should be low.")
    ] = None
    rounds: Annotated[int, option("N", "How often the program runs alone and with each lock.")] = 7
    seed: Seed = None

    @property
    def trial(self) -> Wanted:
        metrics = [metric_of(text, is_lower_better=False) for text in self.higher or ()]
        metrics += [metric_of(text, is_lower_better=True) for text in self.lower or ()]
        return Wanted(
            command=tuple(self.program or ()),
            locks=tuple(self.mutex),
            metrics=tuple(metrics),
            rounds=self.rounds,
            seed=parse.random_seed() if self.seed is None else self.seed,
        )
