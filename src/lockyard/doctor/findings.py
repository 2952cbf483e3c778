# SPDX-License-Identifier: Apache-2.0
"""What a check comes to: a finding, or that all is well, or that it could not be made."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """Most severe first."""

    SPOILS = "spoils"  # figures come out wrong or scattered
    LIMITS = "limits"  # something cannot be measured at all
    NOTE = "note"  # figures are right, but of another machine than one may think


@dataclass(frozen=True)
class Finding:
    severity: Severity
    cause: str
    consequence: str
    # One shell command, and what to know about it; or none, and why there is none.
    remedy: str | None
    about_remedy: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fine:
    text: str


@dataclass(frozen=True)
class Unknown:
    reason: str


Outcome = Finding | Fine | Unknown
