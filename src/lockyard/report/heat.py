# SPDX-License-Identifier: Apache-2.0
"""Fields of a heat map of parallelism, which is readable without colours too."""

from __future__ import annotations

from rich.text import Text

from lockyard.report.units import MISSING

# Shades from little to much parallelism, so that the map is readable without colours.
SHADES = "·░▒▓█"
NOTHING, ONE_THREAD, ALL_THREADS = (178, 24, 43), (250, 219, 120), (26, 152, 80)


def heat(value: float | None, threads: int) -> Text:
    if value is None:
        return Text(MISSING)
    part = min(max(value / threads, 0.0), 1.0)
    shade = SHADES[round(part * (len(SHADES) - 1))]
    red, green, blue = _colour(value, threads)
    return Text(f"{value:.2f} {shade}", style=f"rgb(0,0,0) on rgb({red},{green},{blue})")


def _colour(value: float, threads: int) -> tuple[int, ...]:
    """Returns red for no work at all, yellow for one thread's work, green for all threads' work."""
    if value < 1 or threads == 1:
        start, end, part = NOTHING, ONE_THREAD if threads > 1 else ALL_THREADS, value
    else:
        start, end, part = ONE_THREAD, ALL_THREADS, (value - 1) / (threads - 1)
    part = min(max(part, 0.0), 1.0)
    return tuple(round(a + (b - a) * part) for a, b in zip(start, end, strict=True))
