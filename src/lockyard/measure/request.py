# SPDX-License-Identifier: Apache-2.0
"""The request: what `lockyard measure` is to measure, before anything is planned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockyard.machine.conditions import Conditions
from lockyard.measure.work import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lockyard.catalog import Lock
    from lockyard.machine.conditions import Pinning
    from lockyard.measure.work import Work
    from lockyard.user_locks.lock_spec import UserLocks


@dataclass(frozen=True)
class Request:
    """What the command line asks for; empty or None where it leaves the choice to the study."""

    threads: Sequence[int]
    pinning: Pinning = "none"
    conditions: Sequence[Conditions] = (Conditions(),)
    work: Sequence[Work] = (NONE,)
    default_gap: bool = True  # no gap was given, so a study uses its default gap if it has one
    ways: Sequence[str] = ()  # ways to wait; empty: all
    pools: Sequence[Lock] = ()  # measured instead of locks by studies of worker pools
    shared: Sequence[Lock] = ()  # measured instead of locks by studies of readers
    recovering: Sequence[Lock] = ()  # for studies that measure only some locks
    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)  # others: the defaults
    default_locks: Mapping[str, Sequence[str]] = field(default_factory=dict)  # defaults by study
    default_conditions: Mapping[str, Sequence[Conditions]] = field(default_factory=dict)  # likewise
    budget_s: float | None = None
    runs: int | None = None
    loops: int | None = None
    as_published: bool = False


@dataclass(frozen=True)
class Choice:
    """The locks, pools and studies to measure, by their names on the command line."""

    studies: Sequence[str]
    locks: Sequence[str]
    locks_or_all: Sequence[str]  # all if no lock was named, for studies that measure few locks
    pools: Sequence[str]
    # The locks measured in addition to a study's default ones; None if locks were named.
    added_to_defaults: Sequence[str] | None = None
    policy_given: bool = True  # or one of its parameters, so that a study's default is not used


@dataclass(frozen=True)
class Sweep:
    """Every combination of a choice of locks and a condition."""

    choice: Choice
    request: Request
    where: str = field(default="", compare=False)  # its place in the scenario file, if any


@dataclass(frozen=True)
class MeasureRequest:
    sweeps: Sequence[Sweep]
    seed: int
    out: Path | None
    against: str | None
    user_locks: UserLocks | None = None  # the user's locks, measured in every sweep
