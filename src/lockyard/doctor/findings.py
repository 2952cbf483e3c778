# SPDX-License-Identifier: Apache-2.0
"""The outcomes of a check: a finding, a pass, or unknown."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How much a finding matters, the most severe first."""

    DISTORTS = "distorts"  # figures are wrong or scattered
    LIMITS = "limits"  # something cannot be measured at all
    NOTE = "note"  # figures are right, but may not hold for the machine that the reader has in mind


@dataclass(frozen=True)
class Finding:
    severity: Severity
    cause: str
    consequence: str
    # One shell command and a remark on it; or None and the reason why no command helps.
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
