# SPDX-License-Identifier: Apache-2.0
"""The options of what threads do, next to the conditions under which they do it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.command import option, options_class
from lockyard.cli.condition_options import ConditionOptions
from lockyard.measure.work import Distribution, Gap, distributions, gaps, holds_ns

WORK = "Work"


@options_class
class WorkOptions(ConditionOptions):
    hold: Annotated[
        Sequence[int] | None,
        option(
            "0|TIME,…",
            "Time that a thread holds the lock, or that a task takes, as in 200ns, one cell each.",
            holds_ns,
            shown="0",
            panel=WORK,
        ),
    ] = None
    gap: Annotated[
        Sequence[Gap] | None,
        option(
            "0|TIME|Nx,…",
            "Time that a thread spends without the lock before each call, or time between "
            "bursts; 10x means ten times --hold.",
            gaps,
            shown="0; in workers 1ms",
            panel=WORK,
        ),
    ] = None
    lengths: Annotated[
        Sequence[Distribution],
        option(
            "constant|exponential|bimodal|recorded:FILE,…",
            "Distribution of hold and gap times, with the given mean; or the times recorded "
            "in FILE, as CSV or JSON Lines.",
            distributions,
            shown="constant",
            panel=WORK,
        ),
    ] = ("constant",)
    ways: Annotated[
        Sequence[str],
        option(
            "NAME,…",
            "Ways of waiting, in wakeup; 'lockyard list --json' shows them.",
            parse.ways,
            shown="all",
            complete=completions.ways,
            panel=WORK,
        ),
    ] = ()
