# SPDX-License-Identifier: Apache-2.0
"""The options of the conditions of a measurement. docs/conditions.md describes the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.command import option, options_class
from lockyard.machine.conditions import NO_LOAD, Deadline, Load, RequestedConditions

PANEL = "Conditions"


@options_class
class ConditionOptions:
    policy: Annotated[
        Sequence[str] | None,
        option(
            "other|batch|idle|fifo|rr|deadline,…",
            "Scheduling policies, one cell each.",
            parse.policies,
            shown="as lockyard was started; in priority fifo, if permitted",
            complete=completions.policies,
            panel=PANEL,
        ),
    ] = None
    priority: Annotated[
        int | None,
        option(
            "1..99",
            "Real-time priority, for the policies fifo and rr.",
            parse.priority,
            shown="1, or lockyard's own",
            panel=PANEL,
        ),
    ] = None
    nice: Annotated[
        int | None,
        option(
            "-20..19",
            "Nice value, for the policies other and batch.",
            parse.nice,
            shown="as lockyard was started",
            panel=PANEL,
        ),
    ] = None
    slice_: Annotated[
        Sequence[int] | None,
        option(
            "TIME,…",
            "Time slices for the policies other and batch, 100us to 100ms, one cell each.",
            parse.slices_ns,
            names=("--slice",),
            shown="the kernel's",
            panel=PANEL,
        ),
    ] = None
    deadline: Annotated[
        Deadline | None,
        option(
            "RUNTIME/DEADLINE/PERIOD",
            "Reservation for the policy deadline, as in 3ms/10ms/10ms.",
            parse.deadline,
            shown="equal shares of 80 % in 10 ms",
            panel=PANEL,
        ),
    ] = None
    load: Annotated[
        Load,
        option(
            "N|build[:N]",
            "Number of busy threads that another process runs meanwhile; or a build of this "
            "project's headers, with 16 or N compilers at a time.",
            parse.load,
            shown="0",
            panel=PANEL,
        ),
    ] = NO_LOAD
    load_nice: Annotated[
        int | None,
        option(
            "-20..19",
            "Nice value of the threads that --load adds.",
            parse.nice,
            shown="as lockyard was started",
            panel=PANEL,
        ),
    ] = None
    timer_slack: Annotated[
        int | None,
        option(
            "TIME",
            "How late the kernel may fire a timer.",
            parse.timer_slack_ns,
            shown="the kernel's",
            panel=PANEL,
        ),
    ] = None
    autogroup: Annotated[
        bool | None,
        option(
            "on|off",
            "Whether the scheduler groups processes by session; restored afterwards.",
            parse.switch,
            shown="as it is",
            panel=PANEL,
        ),
    ] = None
    quota: Annotated[
        float | None,
        option(
            "PROCESSORS",
            "Processor time that all threads share, limited by a control group.",
            parse.quota_cpus,
            shown="none",
            panel=PANEL,
        ),
    ] = None
    rest: Annotated[
        float | None,
        option(
            "TIME",
            "Pause before each run, as in 60ms.",
            parse.duration_s,
            shown="none",
            panel=PANEL,
        ),
    ] = None

    machine: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE,…",
            "Settings of the whole machine, one cell for each value; restored afterwards. "
            "Several --machine are combined. docs/conditions.md lists them.",
            complete=completions.machine_settings,
            panel=PANEL,
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
