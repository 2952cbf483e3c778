# SPDX-License-Identifier: Apache-2.0
"""lockyard export: the runs of record files as one table, in CSV or Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.errors import ExitStatus, UsageError
from lockyard.measure.session import say
from lockyard.records import read_records
from lockyard.records.rows import Row, rows_of
from lockyard.records.tables import write_csv, write_parquet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def run(sources: Sequence[Path], csv: Path | None, parquet: Path | None) -> ExitStatus:
    """Writes both forms if both are named, and CSV to standard output if none is."""
    for target in (csv, parquet):
        if target is not None and any(_is_same(target, source) for source in sources):
            raise UsageError(
                f"{target} holds the records that are exported and would be overwritten, so "
                "nothing was written; name another file"
            )
    rows: list[Row] = []
    for source in sources:
        content = read_records(source)
        for warning in content.warnings:
            say(warning)
        rows += rows_of(content.runs, content.environment, str(source))
    if not rows:
        names = ", ".join(map(str, sources))
        raise UsageError(f"{names}: no run, so there is nothing to export; measure with --out")
    if parquet is not None:
        write_parquet(rows, parquet, f"{parquet} cannot be written")
    if csv is not None or parquet is None:
        write_csv(rows, csv)
    return ExitStatus.DONE


def _is_same(target: Path, source: Path) -> bool:
    return target.exists() and source.exists() and target.samefile(source)
