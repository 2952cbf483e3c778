# SPDX-License-Identifier: Apache-2.0
"""Values of the command line, with what is wrong about them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from lockyard.plan import Pinning

SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0}
MAX_THREADS = 4096
MAX_SEED = 2**63


def duration_s(option: str, text: str) -> float:
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)(ms|s|m)", text.strip())
    if match is None or float(match[1]) == 0:
        raise UsageError(
            f"{option} {text}: is no duration above 0; give a number with its unit, as in "
            "500ms, 2s or 1m"
        )
    return float(match[1]) * SECONDS[match[2]]


def threads(text: str) -> list[int]:
    return [_thread_count(part) for part in text.split(",")]


def _thread_count(text: str) -> int:
    if not text.strip().isdecimal() or not 1 <= int(text) <= MAX_THREADS:
        raise UsageError(
            f"--threads {text}: each number of threads is from 1 to {MAX_THREADS}; "
            "separate several by commas, as in 1,4,16"
        )
    return int(text)


def positive(option: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise UsageError(f"{option} {value}: must be at least 1")
    return value


def names(text: str) -> list[str]:
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise UsageError("--locks: names no lock; give seeds, all, or names from 'lockyard list'")
    return found


def pinning(text: str) -> Pinning:
    if text in ("none", "compact", "spread"):
        return text
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise UsageError(f"--pin {text}: is none, compact, spread, or processor numbers, as in 0,2")
    return tuple(int(part) for part in parts)


def seed(value: int | None) -> int:
    """A seed of chance where none is given; it is printed, so that a run can be repeated."""
    if value is None:
        return int.from_bytes(os.urandom(4), "little")
    if not 0 <= value < MAX_SEED:
        raise UsageError(f"--seed {value}: must be from 0 to {MAX_SEED - 1}")
    return value
