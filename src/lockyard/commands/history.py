# SPDX-License-Identifier: Apache-2.0
"""lockyard history: what the record files of a folder say together, and what drifts."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lockyard.errors import ExitStatus, UsageError
from lockyard.history.cache import cached
from lockyard.history.query import series_of
from lockyard.measure.session import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from lockyard.history.query import Series, Wanted


def run(folder: Path, wanted: Wanted, as_plot: bool, as_json: bool) -> ExitStatus:
    with _shown_reading() as on_file:
        cache = cached(folder, on_file)
    for warning in cache.warnings:
        say(warning)
    if not cache.files:
        raise UsageError(
            f"{folder}: no valid run in {cache.records} record files, so it has no history; "
            "measure with --out"
        )
    found = series_of(cache.files, wanted)
    if as_json:
        print(json.dumps(_document(found)))  # noqa: T201
    else:
        from lockyard.history.text import print_history

        print_history(folder, cache, found, as_plot)
    return ExitStatus.DONE


def _document(found: Sequence[Series]) -> dict[str, Any]:
    return {"schema": 1, "record": "history", "series": [_series(each) for each in found]}


def _series(of: Series) -> dict[str, Any]:
    trend = of.trend
    return {
        "machine": of.machine,
        "study": of.study,
        "lock": of.lock or None,
        "threads": of.threads,
        "setting": of.setting,
        "figure": of.figure.name,
        "unit": of.figure.unit or None,
        "drifts": of.drifts,
        "verdict": of.verdict,
        "ratio": trend.ratio if trend else None,
        "p": trend.p if trend else None,
        "points": [
            {
                "started": point.started,
                "kernel": point.kernel,
                "file": point.file,
                "value": point.value,
                "runs": point.runs,
            }
            for point in of.points
        ],
    }


@contextmanager
def _shown_reading() -> Iterator[Callable[[Path], None]]:
    """Names on a terminal the file that is read into the cache."""
    if not sys.stderr.isatty():
        yield lambda _path: None
        return
    from rich.console import Console

    with Console(stderr=True).status("looking for new records") as status:
        yield lambda path: status.update(f"reading {path}")
