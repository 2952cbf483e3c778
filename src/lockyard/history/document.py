# SPDX-License-Identifier: Apache-2.0
"""A history as one JSON document. schema/history.schema.json is generated from these types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from lockyard.documents import AtLeastOne, Count, Share, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.history import query


class Point(Struct, frozen=True):
    """A file of the series."""

    started: Text
    kernel: str
    file: Text
    value: Annotated[float, Meta(description="The median over the runs of the file.")]
    runs: AtLeastOne


class Series(Struct, frozen=True):
    """A figure of one cell on one machine, in the order of time."""

    machine: str
    study: Text
    lock: str | None
    threads: Count
    setting: str
    figure: Text
    unit: str | None
    drifts: Annotated[bool, Meta(description="Shown after correction for all series (Holm).")]
    verdict: Annotated[str, Meta(description="better, worse, more or less, if it drifts.")]
    ratio: Annotated[
        float | None,
        Meta(description="Median of the last third / of the first third; null if the first is 0."),
    ]
    p: Annotated[Share | None, Meta(description="The p-value of no trend (Mann-Kendall).")]
    points: list[Point]


class HistoryDocument(Struct, frozen=True, tag_field="record", tag="history"):
    """Version 1. A reader tolerates keys that are not described here."""

    schema: Literal[1]
    series: list[Series]


def document(found: Sequence[query.Series]) -> HistoryDocument:
    return HistoryDocument(1, [_series(each) for each in found])


def _series(of: query.Series) -> Series:
    trend = of.trend
    return Series(
        machine=of.machine,
        study=of.study,
        lock=of.lock or None,
        threads=of.threads,
        setting=of.setting,
        figure=of.figure.name,
        unit=of.figure.unit or None,
        drifts=of.drifts,
        verdict=of.verdict,
        ratio=trend.ratio if trend else None,
        p=trend.p if trend else None,
        points=[
            Point(point.started, point.kernel, point.file, point.value, point.runs)
            for point in of.points
        ],
    )
