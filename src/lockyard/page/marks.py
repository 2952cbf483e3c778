# SPDX-License-Identifier: Apache-2.0
"""Marks: each lock has a colour, a dash and a marker, the same ones in every chart of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HUES = 8  # as many as assets/page.css has colours
DASHES = ("solid", "7px,3px", "2px,3px", "12px,4px", "7px,3px,2px,3px", "12px,4px,2px,4px")
MARKERS = (
    "circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down", "star",
)  # fmt: skip

Mark = dict[str, int | str]


def marks_of(locks: Sequence[str], order: Sequence[str]) -> dict[str, Mark]:
    """Returns the mark of each lock. A lock prefers the colour of its place in `order`, so that it
    has the same colour on most pages; locks that share a colour differ in dash and marker."""
    places = {name: place for place, name in enumerate(order)}
    taken: set[int] = set()
    found: dict[str, Mark] = {}
    for name in sorted(locks, key=lambda each: places.get(each, len(places))):
        layer = len(taken) // HUES
        wanted = places.get(name, len(taken))
        slots = (layer * HUES + (wanted + step) % HUES for step in range(HUES))
        slot = next(each for each in slots if each not in taken)
        taken.add(slot)
        hue, turn = slot % HUES, slot % HUES + slot // HUES
        found[name] = {
            "hue": hue,
            "dash": DASHES[turn % len(DASHES)],
            "marker": MARKERS[turn % len(MARKERS)],
        }
    return found
