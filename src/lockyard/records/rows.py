# SPDX-License-Identifier: Apache-2.0
"""Runs as rows of a table: one row for each run, one column for each scalar of its record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockyard.records.histogram import percentile_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lockyard.harness import Record

PLAIN = ("study", "lock", "cell", "block", "run", "status", "reason", "spent_s", "environment")
PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999))
Scalar = str | int | float | bool | None
Row = dict[str, Scalar]


def rows_of(runs: Iterable[Record], environment: Mapping[str, Any], source: str) -> Iterable[Row]:
    """Yields a row for each run; a column has the keys of the record, joined by dots."""
    around = {"file": source, **_machine(environment)}
    for run in runs:
        row: Row = {**around, **{key: _scalar(run.get(key)) for key in PLAIN}}
        conditions = dict(run["conditions"])
        parameters = conditions.pop("parameters", None) or {}
        for prefix, values in (
            ("conditions", conditions),
            ("parameters", parameters),
            ("values", run["values"]),
            ("checks", run["checks"]),
        ):
            row |= {f"{prefix}.{key}": _scalar(each) for key, each in values.items()}
        for name, histogram in run["histograms"].items():
            unit = histogram.get("unit", "ns")
            for title, share in PERCENTILES:
                row[f"{name}.{title}_{unit}"] = percentile_of(histogram, share)
        yield row


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Returns the names of all columns, in the order in which they first occur."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _machine(environment: Mapping[str, Any]) -> Row:
    if not environment:
        return {"machine": None, "kernel": None, "started_unix_s": None}
    return {
        "machine": str(environment.get("cpu", {}).get("model")),
        "kernel": str(environment.get("system", {}).get("kernel")),
        "started_unix_s": environment.get("started_unix_s"),
    }


def _scalar(value: Any) -> Scalar:
    """Returns the value itself, or a list as text; other structures have no column."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list) and all(isinstance(each, int | str) for each in value):
        return ",".join(map(str, value))
    return None
