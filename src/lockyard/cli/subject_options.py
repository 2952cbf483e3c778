# SPDX-License-Identifier: Apache-2.0
"""The options of what is measured, next to what its threads do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.command import option, options_class
from lockyard.cli.work_options import WorkOptions
from lockyard.errors import UsageError
from lockyard.measure.request import Choice
from lockyard.user_locks.arguments import UserLockOptions


@options_class
class SubjectOptions(UserLockOptions, WorkOptions):
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to measure; 'lockyard list' shows the studies.",
            autocompletion=completions.studies,
            show_default=False,
        ),
    ] = None
    locks: Annotated[
        Sequence[str] | None,
        option(
            "seeds|ours|peers|variants|all|NAME,…",
            "Which locks: groups and names; all means ours and the system's. Of these, "
            "readers measures the locks that can be shared, and recovery the resilient locks.",
            parse.names,
            shown="seeds; in readers and recovery all; in priority a few of either kind",
            complete=completions.locks,
        ),
    ] = None
    pools: Annotated[
        Sequence[str],
        option(
            "seeds|ours|peers|all|NAME,…",
            "Which worker pools the study workers measures: groups and names; all means ours "
            "and the system's.",
            parse.names,
            shown="all",
            complete=completions.pools,
        ),
    ] = ("all",)
    peers: Annotated[
        bool,
        typer.Option(
            "--peers",
            help="Add other libraries' locks and pools; 'lockyard list --peers' shows them.",
        ),
    ] = False

    @property
    def choice(self) -> Choice:
        if not self.studies:
            raise UsageError(
                "nothing to measure: name a study ('lockyard list' shows them), or continue a file "
                "with --resume FILE"
            )
        peers = ["peers"] if self.peers else []
        return Choice(
            studies=self.studies,
            locks=[*(self.locks or ["seeds"]), *peers],
            locks_or_all=[*(self.locks or ["all"]), *peers],
            pools=[*self.pools, *peers],
            added_to_defaults=None if self.locks else peers,
            policy_given=self.names_a_policy,
        )
