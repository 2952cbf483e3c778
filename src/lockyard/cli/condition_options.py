# SPDX-License-Identifier: Apache-2.0
"""The options of the conditions of a measurement. docs/conditions.md describes the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.command import Parsed, options_class
from lockyard.machine.conditions import NO_LOAD, Deadline, Load, RequestedConditions

PANEL = "Conditions"


@options_class
class ConditionOptions:
    policy: Annotated[
        Sequence[str] | None,
        typer.Option(
            metavar="other|batch|idle|fifo|rr|deadline,…",
            help="Scheduling policies, one cell each.",
            show_default="as lockyard was started; in priority fifo, if permitted",
            click_type=Parsed(parse.policies),
            autocompletion=completions.policies,
            rich_help_panel=PANEL,
        ),
    ] = None
    priority: Annotated[
        int | None,
        typer.Option(
            metavar="1..99",
            help="Real-time priority, for the policies fifo and rr.",
            show_default="1, or lockyard's own",
            click_type=Parsed(parse.priority),
            rich_help_panel=PANEL,
        ),
    ] = None
    nice: Annotated[
        int | None,
        typer.Option(
            metavar="-20..19",
            help="Nice value, for the policies other and batch.",
            show_default="as lockyard was started",
            click_type=Parsed(parse.nice),
            rich_help_panel=PANEL,
        ),
    ] = None
    slice_: Annotated[
        Sequence[int] | None,
        typer.Option(
            "--slice",
            metavar="TIME,…",
            help="Time slices for the policies other and batch, 100us to 100ms, one cell each.",
            show_default="the kernel's",
            click_type=Parsed(parse.slices_ns),
            rich_help_panel=PANEL,
        ),
    ] = None
    deadline: Annotated[
        Deadline | None,
        typer.Option(
            metavar="RUNTIME/DEADLINE/PERIOD",
            help="Reservation for the policy deadline, as in 3ms/10ms/10ms.",
            show_default="equal shares of 80 % in 10 ms",
            click_type=Parsed(parse.deadline),
            rich_help_panel=PANEL,
        ),
    ] = None
    load: Annotated[
        Load,
        typer.Option(
            metavar="N|build[:N]",
            help="Number of busy threads that another process runs meanwhile; or a build of this "
            "project's headers, with 16 or N compilers at a time.",
            show_default="0",
            click_type=Parsed(parse.load),
            rich_help_panel=PANEL,
        ),
    ] = NO_LOAD
    load_nice: Annotated[
        int | None,
        typer.Option(
            metavar="-20..19",
            help="Nice value of the threads that --load adds.",
            show_default="as lockyard was started",
            click_type=Parsed(parse.nice),
            rich_help_panel=PANEL,
        ),
    ] = None
    timer_slack: Annotated[
        int | None,
        typer.Option(
            metavar="TIME",
            help="How late the kernel may fire a timer.",
            show_default="the kernel's",
            click_type=Parsed(parse.timer_slack_ns),
            rich_help_panel=PANEL,
        ),
    ] = None
    autogroup: Annotated[
        bool | None,
        typer.Option(
            metavar="on|off",
            help="Whether the scheduler groups processes by session; restored afterwards.",
            show_default="as it is",
            click_type=Parsed(parse.switch),
            rich_help_panel=PANEL,
        ),
    ] = None
    quota: Annotated[
        float | None,
        typer.Option(
            metavar="PROCESSORS",
            help="Processor time that all threads share, limited by a control group.",
            show_default="none",
            click_type=Parsed(parse.quota_cpus),
            rich_help_panel=PANEL,
        ),
    ] = None
    rest: Annotated[
        float | None,
        typer.Option(
            metavar="TIME",
            help="Pause before each run, as in 60ms.",
            show_default="none",
            click_type=Parsed(parse.duration_s),
            rich_help_panel=PANEL,
        ),
    ] = None

    machine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE,…",
            help="Settings of the whole machine, one cell for each value; restored afterwards. "
            "Several --machine are combined. docs/conditions.md lists them.",
            autocompletion=completions.machine_settings,
            rich_help_panel=PANEL,
        ),
    ] = None

    @property
    def names_a_policy(self) -> bool:
        """Tells whether a policy or one of its parameters was given."""
        given = (self.policy, self.priority, self.nice, self.slice_, self.deadline)
        return any(each is not None for each in given)

    @property
    def conditions(self) -> RequestedConditions:
        return RequestedConditions(
            policies=self.policy or (),
            slices_ns=self.slice_ or (),
            priority=self.priority,
            nice=self.nice,
            deadline=self.deadline,
            load=self.load,
            load_nice=self.load_nice,
            timer_slack_ns=self.timer_slack,
            autogroup=self.autogroup,
            quota_cpus=self.quota,
            rest_s=self.rest,
            machines=parse.machines("--machine", self.machine or ()),
        )
