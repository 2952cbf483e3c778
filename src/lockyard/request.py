# SPDX-License-Identifier: Apache-2.0
"""What somebody wants measured, before anything is planned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockyard.conditions import Conditions
from lockyard.work import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lockyard.catalog import Lock
    from lockyard.conditions import Pinning
    from lockyard.work import Work


@dataclass(frozen=True)
class Request:
    """What the command line asked for; nothing where it left the choice to the study."""

    threads: Sequence[int]
    pinning: Pinning = "none"
    conditions: Sequence[Conditions] = (Conditions(),)
    work: Sequence[Work] = (NONE,)
    usual_gap: bool = True  # nobody gave one: the study's own, where it has one
    sleepers: int | None = None
    ways: Sequence[str] = ()  # to wait; all, if none is named
    pools: Sequence[Lock] = ()  # what is measured in place of locks where the study has pools
    shared: Sequence[Lock] = ()  # the same where it has readers
    writers: Sequence[int] = ()  # of the threads, where it has readers
    bursts: Sequence[int] = ()
    recovering: Sequence[Lock] = ()  # the same where it can measure only some
    workloads: Sequence[str] = ()  # of the studies that have them; all, if none is named
    parameters: Mapping[str, Sequence[float]] = field(default_factory=dict)  # else the usual ones
    usual_locks: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of studies, by name
    usual_conditions: Mapping[str, Sequence[Conditions]] = field(default_factory=dict)  # the same
    budget_s: float | None = None
    runs: int | None = None
    loops: int | None = None
    as_published: bool = False
