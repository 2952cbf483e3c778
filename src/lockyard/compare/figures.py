# SPDX-License-Identifier: Apache-2.0
"""The figures of a run by which two measurements are compared, and their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lockyard.records.histogram import percentile_of
from lockyard.report.columns import by_value
from lockyard.report.summary import CellSummary
from lockyard.report.units import MISSING, duration, percent, rate
from lockyard.studies import layout_of, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lockyard.harness import Record
    from lockyard.report.columns import Compared

PERCENTILE = re.compile(r"(?:(?P<histogram>\w+)\.)?p(?P<percent>\d{1,2}(?:\.\d+)?)")


@dataclass(frozen=True)
class Figure:
    name: str
    unit: str
    more_is_better: bool | None  # None: neither direction is known to be better
    of: Callable[[Record], float | None]
    is_maximum: bool = False  # a maximum grows with the length of a run

    def text(self, value: float | None) -> str:
        shown = {"ns": duration, "per_s": rate, "share": percent}.get(self.unit)
        if shown is not None:
            return shown(value)
        return MISSING if value is None else f"{value:.4g}"


# The duration of a run and its settings are not results.
NO_RESULTS = re.compile(r"run_ns|cpu_ns|.*_threshold_ns")


def default_figures(study: str, as_published: bool, values: Iterable[str]) -> tuple[Figure, ...]:
    """Returns the figures that are compared by default; for a study without a table of locks, all
    values that have a unit."""
    with_unit = (key for key in values if _unit(key) and not NO_RESULTS.fullmatch(key))
    return headline(study, as_published) or tuple(_of_value(key) for key in with_unit)


@cache
def headline(study: str, as_published: bool) -> tuple[Figure, ...]:
    """Returns the figures by which a report's tables compare the locks of the study."""
    layout = layout_of(study, as_published)
    if layout is None:
        return tuple(_of_layout(each) for each in shown(study).compared)
    compared = [layout.compared, *layout.also_compared]
    if layout.maxima is not None:
        compared.append(by_value("longest", layout.maxima))
    return tuple(_of_layout(each) for each in compared)


@cache
def named(name: str, study: str, as_published: bool) -> Figure:
    """Returns the figure that a user names: a table heading, a percentile, or a value of the
    records. In a run without such a figure, its value is None."""
    for figure in headline(study, as_published):
        if figure.name == name:
            return figure
    found = PERCENTILE.fullmatch(name)
    if found is None:
        return _of_value(name)
    share = float(found["percent"]) / 100
    of_histogram = found["histogram"]

    def of(record: Record) -> float | None:
        histogram = main_histogram(study, record["histograms"], of_histogram)
        return None if histogram is None else percentile_of(record["histograms"][histogram], share)

    return Figure(name, "ns", more_is_better=False, of=of)


def main_histogram(study: str, histograms: Record, asked: str | None = None) -> str | None:
    """Returns the histogram that an unqualified percentile means: the study's own, or the only
    one."""
    if asked is not None:
        return asked if asked in histograms else None
    if study in histograms:
        return study
    return next(iter(histograms)) if len(histograms) == 1 else None


def number(value: object) -> float | None:
    """Returns the value if it is a number; flags, lists and None are not figures."""
    return value if type(value) in (int, float) else None  # type: ignore[return-value]


def _of_layout(compared: Compared) -> Figure:
    def of(record: Record) -> float | None:
        conditions = record["conditions"]
        run = CellSummary(
            record["study"], record["lock"] or "", conditions["threads"], conditions, [record]
        )
        return number(compared.of(run).get(record["block"]))

    unit = _unit(compared.key) if compared.key else "ns"
    return Figure(compared.title, unit, compared.more_is_better, of, _is_maximum(compared.key))


@cache
def _of_value(key: str) -> Figure:
    unit = _unit(key)
    better = {"ns": False, "per_s": True}.get(unit)
    return Figure(
        key, unit, better, lambda record: number(record["values"].get(key)), _is_maximum(key)
    )


def _is_maximum(key: str) -> bool:
    return key.endswith("_max_ns") or key == "longest_ns"


def _unit(key: str) -> str:
    """Returns the unit that a name ends with."""
    if "_per_s" in key:
        return "per_s"
    return next((unit for unit in ("ns", "share") if key.endswith(f"_{unit}")), "")
