# SPDX-License-Identifier: Apache-2.0
"""The options of what threads do, next to the conditions under which they do it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.command import Parsed, options_class
from lockyard.cli.condition_options import ConditionOptions
from lockyard.measure.work import Distribution, Gap, distributions, gaps, holds_ns

WORK = "Work"


@options_class
class WorkOptions(ConditionOptions):
    hold: Annotated[
        Sequence[int] | None,
        typer.Option(
            metavar="0|TIME,…",
            help="Time that a thread holds the lock, or that a task takes, as in 200ns, one cell "
            "each.",
            show_default="0",
            click_type=Parsed(holds_ns),
            rich_help_panel=WORK,
        ),
    ] = None
    gap: Annotated[
        Sequence[Gap] | None,
        typer.Option(
            metavar="0|TIME|Nx,…",
            help="Time that a thread spends without the lock before each call, or time between "
            "bursts; 10x means ten times --hold.",
            show_default="0; in workers 1ms",
            click_type=Parsed(gaps),
            rich_help_panel=WORK,
        ),
    ] = None
    lengths: Annotated[
        Sequence[Distribution],
        typer.Option(
            metavar="constant|exponential|bimodal|recorded:FILE,…",
            help="Distribution of hold and gap times, with the given mean; or the times recorded "
            "in FILE, as CSV or JSON Lines.",
            show_default="constant",
            click_type=Parsed(distributions),
            rich_help_panel=WORK,
        ),
    ] = ("constant",)
    ways: Annotated[
        Sequence[str],
        typer.Option(
            metavar="NAME,…",
            help="Which ways to wait, in wakeup; 'lockyard list --json' shows them.",
            show_default="all",
            click_type=Parsed(parse.ways),
            autocompletion=completions.ways,
            rich_help_panel=WORK,
        ),
    ] = ()
