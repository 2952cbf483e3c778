# SPDX-License-Identifier: Apache-2.0
"""What `lockyard measure` is asked to do, derived from the values of its options."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard import options
from lockyard.machine.conditions import Asked, inherited, variants
from lockyard.measure.parameters import parsed
from lockyard.measure.request import Request
from lockyard.measure.work import NO_TIME, works
from lockyard.user_locks.given import given as own_locks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lockyard.user_locks.given import Given


@dataclass(frozen=True)
class Choice:
    """The locks, pools and studies to measure, by their names on the command line."""

    studies: Sequence[str]
    locks: Sequence[str]
    locks_or_all: Sequence[str]  # all if no lock was named, for studies that measure few locks
    pools: Sequence[str]
    # The locks measured in addition to a study's default ones; None if locks were named.
    beside_usual: Sequence[str] | None = None
    policy_given: bool = True  # or one of its parameters, so that a study's default is not used


@dataclass(frozen=True)
class Sweep:
    """Every combination of a choice of locks and a condition."""

    choice: Choice
    request: Request
    where: str = field(default="", compare=False)  # its place in the scenario file, if any


@dataclass(frozen=True)
class Measuring:
    sweeps: Sequence[Sweep]
    seed: int
    out: Path | None
    against: str | None
    own: Given | None = None  # the user's locks, measured in every sweep


def measuring_of(given: Mapping[str, Any]) -> Measuring:
    """Returns what one command line asks for; the keys of `given` are the command's parameters."""
    return whole_of(given, [sweep_of(given)])


def whole_of(given: Mapping[str, Any], sweeps: Sequence[Sweep]) -> Measuring:
    """Adds what applies to all sweeps together."""
    return Measuring(
        sweeps,
        seed=options.seed(given["seed"]),
        out=Path(given["out"]) if given["out"] else None,
        against=given["against"] or None,
        own=own_locks(given["lock"] or [], given["include"] or [], given["flags"]),
    )


def sweep_of(given: Mapping[str, Any]) -> Sweep:
    others = ["peers"] if given["peers"] else []
    named = options.names("--locks", given["locks"]) if given["locks"] else []
    asked = _asked_of(given)
    choice = Choice(
        studies=options.studies(list(given["studies"] or ())),
        locks=[*(named or ["seeds"]), *others],
        locks_or_all=[*(named or ["all"]), *others],
        pools=[*options.names("--pools", given["pools"]), *others],
        beside_usual=None if named else others,
        policy_given=asked != Asked(others=asked.others, machines=asked.machines),
    )
    return Sweep(choice, _request_of(given, asked))


def _asked_of(given: Mapping[str, Any]) -> Asked:
    policy, slices, deadline = given["policy"], given["slice_"], given["deadline"]
    return Asked(
        policies=options.policies(policy) if policy else (),
        slices_ns=options.slices_ns(slices) if slices else (),
        priority=given["priority"],
        nice=options.nice("--nice", given["nice"]),
        deadline=options.deadline(deadline) if deadline else None,
        others=options.surroundings(
            given["load"],
            given["load_nice"],
            given["timer_slack"],
            given["autogroup"],
            given["quota"],
            given["rest"],
        ),
        machines=options.machines(given["machine"] or ()),
    )


def _request_of(given: Mapping[str, Any], asked: Asked) -> Request:
    return Request(
        threads=options.threads(given["threads"] or str(os.cpu_count() or 1)),
        pinning=options.pinning(given["pin"]),
        conditions=variants(asked, inherited()),
        work=works(given["hold"] or NO_TIME, given["gap"] or NO_TIME, given["lengths"]),
        usual_gap=not given["gap"],
        ways=options.ways(given["ways"]) if given["ways"] else (),
        parameters=parsed(given["set_"] or ()),
        budget_s=options.duration_s("--for", given["for_"]) if given["for_"] else None,
        runs=options.positive("--runs", given["runs"]),
        loops=options.positive("--loops", given["loops"]),
        as_published=given["as_published"],
    )
