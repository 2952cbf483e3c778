# SPDX-License-Identifier: Apache-2.0
"""Write the runs of record files as one table, in CSV or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockyard.cli.arguments import FILE
from lockyard.cli.command import command_of, option, options_class
from lockyard.errors import ExitStatus, UsageError
from lockyard.measure.session import say
from lockyard.records import read_records
from lockyard.records.rows import Row, rows_of
from lockyard.records.tables import write_csv, write_parquet


@options_class
class ExportOptions:
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Record files.", show_default=False),
    ]
    csv: Annotated[
        Path | None, option("FILE", "Write CSV.", FILE, shown="standard output, without --parquet")
    ] = None
    parquet: Annotated[
        Path | None, option("FILE", "Write Parquet; needs lockyard[history].", FILE, shown=False)
    ] = None


@command_of(
    ExportOptions,
    "lockyard export records.jsonl > runs.csv",
    "lockyard export records/*.jsonl --parquet runs.parquet",
)
def command(options: ExportOptions) -> int:
    for target in (options.csv, options.parquet):
        if target is not None and any(_is_same(target, source) for source in options.files):
            raise UsageError(
                f"{target} holds the records that are exported and would be overwritten, so "
                "nothing was written; name another file"
            )
    rows: list[Row] = []
    for source in options.files:
        content = read_records(source)
        for warning in content.warnings:
            say(warning)
        rows += rows_of(content.runs, content.environment, str(source))
    if not rows:
        names = ", ".join(map(str, options.files))
        raise UsageError(f"{names}: no run, so there is nothing to export; measure with --out")
    if options.parquet is not None:
        write_parquet(rows, options.parquet, f"{options.parquet} cannot be written")
    if options.csv is not None or options.parquet is None:
        write_csv(rows, options.csv)
    return ExitStatus.DONE


def _is_same(target: Path, source: Path) -> bool:
    return target.exists() and source.exists() and target.samefile(source)
