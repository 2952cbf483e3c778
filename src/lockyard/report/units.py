# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them."""

from __future__ import annotations

MISSING = "–"


def duration(ns: float | None) -> str:
    """Three significant digits with the unit that suits."""
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


def ratio(median: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"{_three_digits(median)} [too few blocks]"
    return f"{_three_digits(median)} [{_three_digits(low)}, {_three_digits(high)}]"


def _three_digits(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"
