# SPDX-License-Identifier: Apache-2.0
"""Prints numbers with units for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockyard.stats import Ratio

MISSING = "–"


def duration(ns: float | None) -> str:
    """Returns three significant digits in a suitable unit."""
    if ns is None:
        return MISSING
    if ns == 0:
        return "0"
    for limit, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms")):
        if abs(ns) < limit * 0.9995:
            return f"{_three_digits(ns / (limit / 1e3))} {unit}"
    return f"{_three_digits(ns / 1e9)} s"


def percent(share: float | None) -> str:
    return MISSING if share is None else f"{share * 100:.1f} %"


def rate(per_s: float | None) -> str:
    """Returns three significant digits in a suitable unit per second."""
    if per_s is None:
        return MISSING
    for limit, unit in ((1e3, "/s"), (1e6, "k/s"), (1e9, "M/s")):
        if per_s < limit * 0.9995:
            return f"{_three_digits(per_s / (limit / 1e3))} {unit}"
    return f"{_three_digits(per_s / 1e9)} G/s"


def energy(joules: float) -> str:
    """Returns three significant digits in a suitable unit."""
    if joules == 0:
        return "0"
    for limit, unit in ((1e-6, "nJ"), (1e-3, "µJ"), (1.0, "mJ")):
        if abs(joules) < limit * 0.9995:
            return f"{_three_digits(joules / (limit / 1e3))} {unit}"
    return f"{_three_digits(joules)} J"


def ratio(found: Ratio) -> str:
    text = ratio_and_interval(found)
    shown = found.low is None or found.shows_difference
    return text if shown else f"{text} no difference shown"


def ratio_and_interval(found: Ratio) -> str:
    """Returns the ratio and its own interval, not corrected for other comparisons."""
    if found.low is None or found.high is None:
        return f"{_three_digits(found.median)} [too few blocks]"
    low, high = _three_digits(found.low), _three_digits(found.high)
    return f"{_three_digits(found.median)} [{low}, {high}]"


def _three_digits(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"
