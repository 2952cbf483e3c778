# SPDX-License-Identifier: Apache-2.0
"""Queries the cache: one series for each figure of a cell on a machine, one point for each file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from lockyard.compare.figures import Figure
from lockyard.errors import UsageError
from lockyard.extras import optional
from lockyard.history.cache import WHY
from lockyard.history.drift import Trend, drifting, trend_of
from lockyard.records.tables import EXTRA, quoted, rows_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# What identifies a series.
KEYS = ("machine", "study", "lock", "threads", "setting", "cell", "figure", "unit", "better")
# Error messages list at most this many names.
NAMES_SHOWN = 12
BETTER = {"more": True, "less": False}


@dataclass(frozen=True)
class Wanted:
    """The part of the history that is shown; empty: all."""

    machines: Sequence[str] = ()  # parts of names
    kernels: Sequence[str] = ()  # beginnings of versions
    locks: Sequence[str] = ()
    studies: Sequence[str] = ()
    figures: Sequence[str] = ()
    since: datetime | None = None


@dataclass(frozen=True)
class Point:
    started: str
    kernel: str
    file: str
    value: float  # the median over the runs of the file
    runs: int


@dataclass
class Series:
    machine: str
    study: str
    lock: str
    threads: int
    setting: str
    figure: Figure
    points: list[Point] = field(default_factory=list)
    trend: Trend | None = None
    drifts: bool = False

    @property
    def name(self) -> str:
        of = f" of {self.lock}" if self.lock else ""
        setting = f" · {self.setting}" if self.setting else ""
        return f"{self.study}: {self.figure.name}{of} × {self.threads}{setting}"

    @property
    def verdict(self) -> str:
        if self.trend is None or not self.drifts:
            return "" if self.trend and self.trend.files > 1 else "one file"
        better = self.figure.more_is_better
        if better is None:
            return "more" if self.trend.ratio > 1 else "less"
        return "better" if (self.trend.ratio > 1) is better else "worse"


def since(text: str, now: datetime) -> datetime:
    """Returns the moment that a date, or a number of days or weeks before now, means."""
    ago = re.fullmatch(r"(\d+)\s*([dw])", text.strip())
    try:
        if ago is not None:
            return now - timedelta(days=int(ago[1]) * (7 if ago[2] == "w" else 1))
        found = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since {text}: neither a date nor a time before now; write 2026-01-31, 30d or 6w"
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def series_of(files: Sequence[Path], wanted: Wanted) -> list[Series]:
    """Raises UsageError if nothing matches, with what there is."""
    duckdb = optional("duckdb", EXTRA, WHY)
    source = f"read_parquet([{', '.join(quoted(str(each)) for each in files)}])"
    with duckdb.connect() as base:
        rows = rows_in(
            base,
            f"SELECT {', '.join(KEYS)}, file, any_value(started) AS started, "  # noqa: S608
            f"any_value(kernel) AS kernel, median(value) AS value, count(*) AS runs "
            f"FROM {source} WHERE {_condition(wanted)} "
            f"GROUP BY {', '.join(KEYS)}, file ORDER BY started, file",
            *_values(wanted),
        )
        if not rows:
            raise _nothing(base, source, wanted)
    return _judged(_grouped(rows))


def _condition(wanted: Wanted) -> str:
    parts = ["true"]
    for column, values, test in (
        ("machine", wanted.machines, "contains(lower({}), lower(?))"),
        ("kernel", wanted.kernels, "starts_with({}, ?)"),
        ("lock", wanted.locks, "{} = ?"),
        ("study", wanted.studies, "{} = ?"),
        ("figure", wanted.figures, "{} = ?"),
    ):
        if values:
            parts.append(f"({' OR '.join(test.format(column) for _ in values)})")
    if wanted.since is not None:
        parts.append("started >= ?")
    return " AND ".join(parts)


def _values(wanted: Wanted) -> list[Any]:
    moment = [wanted.since.astimezone(UTC).isoformat(timespec="seconds")] if wanted.since else []
    return [
        *wanted.machines,
        *wanted.kernels,
        *wanted.locks,
        *wanted.studies,
        *wanted.figures,
        *moment,
    ]


def _nothing(base: Any, source: str, wanted: Wanted) -> UsageError:
    """Returns an error that names what the history has instead."""
    there = []
    for column, values in (
        ("machine", wanted.machines),
        ("kernel", wanted.kernels),
        ("lock", wanted.locks),
        ("study", wanted.studies),
        ("figure", wanted.figures),
    ):
        if values:
            sql = f"SELECT DISTINCT {column} AS name FROM {source} ORDER BY name"  # noqa: S608
            names = [str(row["name"]) for row in rows_in(base, sql)]
            more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
            there.append(f"{column}: {', '.join(names[:NAMES_SHOWN])}{more}")
    if wanted.since is not None:
        latest = rows_in(base, f"SELECT max(started) AS latest FROM {source}")  # noqa: S608
        there.append(f"the latest file is of {latest[0]['latest']}")
    return UsageError(f"no run matches, so nothing is shown; the records have {'; '.join(there)}")


def _grouped(rows: Sequence[dict[str, Any]]) -> list[Series]:
    found: dict[tuple[Any, ...], Series] = {}
    for row in rows:
        key = tuple(row[name] for name in KEYS)
        if key not in found:
            figure = Figure(
                row["figure"], row["unit"], BETTER.get(row["better"]), of=lambda _record: None
            )
            found[key] = Series(
                row["machine"],
                row["study"],
                row["lock"] or "",
                row["threads"],
                row["setting"],
                figure,
            )
        point = Point(row["started"], row["kernel"], row["file"], row["value"], row["runs"])
        found[key].points.append(point)
    return list(found.values())


def _judged(found: list[Series]) -> list[Series]:
    for series in found:
        series.trend = trend_of([point.value for point in series.points])
    trends = [series.trend for series in found if series.trend is not None]
    for series, drifts in zip(found, drifting(trends), strict=True):
        series.drifts = drifts
    found.sort(key=lambda each: (each.machine, each.study, each.setting, each.threads, each.lock))
    return found
