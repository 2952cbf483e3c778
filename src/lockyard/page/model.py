# SPDX-License-Identifier: Apache-2.0
"""The content of a page: sections of advice, facts, tables and charts, without any HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# How many digits the charts keep, far below what a pixel shows.
DIGITS = 5

Unit = Literal["ns", "per_s", "percent", "times", "nines", "number"]
# Sources of a series. A reader tells them apart by the marker, not by the colour.
Role = Literal["measured", "published", "simulated", "ideal"]


@dataclass(frozen=True)
class Axis:
    title: str
    unit: Unit = "number"
    log: bool = False
    names: Sequence[str] = ()  # from top to bottom; empty if the axis has numbers
    zero: bool = False  # the axis begins at 0


@dataclass(frozen=True)
class Series:
    """Points of one name. `mark` is the lock whose colour, dash and marker the points have."""

    name: str
    x: Sequence[Any]
    y: Sequence[Any]
    mark: str = ""
    role: Role = "measured"
    low: Sequence[float | None] = ()  # low and high are on the axis of the values
    high: Sequence[float | None] = ()
    notes: Sequence[str] = ()  # one for each point, shown on hover and saved


@dataclass(frozen=True)
class Chart:
    """A chart that assets/charts.js draws. `summary` is its alternative in words."""

    kind: Literal["lines", "dots", "points", "heat", "stack", "timeline"]
    title: str
    summary: str
    x: Axis
    y: Axis
    series: Sequence[Series] = ()
    subtitle: str = ""
    data: dict[str, Any] = field(default_factory=dict)  # what only this kind needs
    wide: bool = False


@dataclass(frozen=True)
class Choice:
    """Charts of which the reader sees one at a time, by the name of what tells them apart."""

    label: str
    charts: dict[str, Chart]


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    open: bool = False


@dataclass(frozen=True)
class Advice:
    """A sentence to act on, and its evidence."""

    text: str
    evidence: str = ""


@dataclass(frozen=True)
class Facts:
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Remark:
    text: str


@dataclass(frozen=True)
class Missing:
    """Names a chart that has no records, and the command that would measure them."""

    what: str
    command: str


@dataclass(frozen=True)
class Execution:
    """A failing execution: steps in order, each in the lane of its thread."""

    title: str
    verdict: str
    lanes: Sequence[str]
    steps: Sequence[dict[str, Any]]  # lane (None: no lane), where, text; edges: earlier steps
    command: str = ""


Block = Chart | Choice | Table | Advice | Facts | Remark | Missing | Execution


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]
    lead: str = ""

    @property
    def charts(self) -> Iterator[Chart]:
        for block in self.blocks:
            if isinstance(block, Chart):
                yield block
            elif isinstance(block, Choice):
                yield from block.charts.values()


@dataclass(frozen=True)
class Page:
    title: str
    subtitle: str
    sections: Sequence[Section]
    marked: Sequence[str] = ()  # what the charts mark: locks and ways to wait
    locks: Sequence[str] = ()  # marks that the reader can highlight
    chosen: Sequence[str] = ()  # locks highlighted at first; by default all


def short(value: float | None) -> float | None:
    """Returns the value with as many digits as a chart needs."""
    return None if value is None else float(f"{value:.{DIGITS}g}")
