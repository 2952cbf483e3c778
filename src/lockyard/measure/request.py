# SPDX-License-Identifier: Apache-2.0
"""The request: what is to be measured, before anything is planned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockyard.machine.conditions import Conditions
from lockyard.measure.work import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lockyard.catalog import Lock
    from lockyard.machine.conditions import Pinning
    from lockyard.measure.work import Work


@dataclass(frozen=True)
class Request:
    """What the command line asks for; empty or None where it leaves the choice to the study."""

    threads: Sequence[int]
    pinning: Pinning = "none"
    conditions: Sequence[Conditions] = (Conditions(),)
    work: Sequence[Work] = (NONE,)
    usual_gap: bool = True  # no gap was given, so a study uses its default gap if it has one
    ways: Sequence[str] = ()  # ways to wait; empty: all
    pools: Sequence[Lock] = ()  # measured instead of locks by studies of worker pools
    shared: Sequence[Lock] = ()  # measured instead of locks by studies of readers
    recovering: Sequence[Lock] = ()  # for studies that measure only some locks
    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)  # others: the defaults
    usual_locks: Mapping[str, Sequence[str]] = field(default_factory=dict)  # defaults by study
    usual_conditions: Mapping[str, Sequence[Conditions]] = field(default_factory=dict)  # likewise
    budget_s: float | None = None
    runs: int | None = None
    loops: int | None = None
    as_published: bool = False
