# SPDX-License-Identifier: Apache-2.0
"""Writes rows as CSV or Parquet; a file is written under another name and then renamed."""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.errors import OutputClosedError, UsageError
from lockyard.extras import optional
from lockyard.records.rows import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from lockyard.records.rows import Row

TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}
EXTRA = "history"


def write_csv(rows: Sequence[Row], path: Path | None) -> None:
    """Writes to standard output if there is no path."""
    if path is None:
        try:
            _write_csv(rows, sys.stdout)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise OutputClosedError("standard output is closed") from None
        return
    with replaced(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        _write_csv(rows, file)


def _write_csv(rows: Sequence[Row], file: TextIO) -> None:
    writer = csv.DictWriter(file, columns_of(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def write_parquet(rows: Sequence[Row], path: Path, what: str) -> None:
    """Raises MissingCapabilityError without DuckDB; `what` says what cannot be written then."""
    duckdb = optional("duckdb", EXTRA, f"{what}; CSV needs nothing more")
    types = _types(rows)
    with tempfile.TemporaryDirectory() as folder, replaced(path) as temporary:
        lines = Path(folder) / "rows.jsonl"
        with lines.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        columns = ", ".join(f"{quoted(name)}: '{kind}'" for name, kind in types.items())
        with duckdb.connect() as base:
            base.execute(
                f"COPY (SELECT * FROM read_json({quoted(str(lines))}, "  # noqa: S608 - quoted
                f"format = 'newline_delimited', columns = {{{columns}}})) "
                f"TO {quoted(str(temporary))} (FORMAT parquet)"
            )


def _types(rows: Sequence[Row]) -> dict[str, str]:
    """Returns each column's type; one with whole and other numbers is a DOUBLE, a column with
    anything else mixed in, or without a value, is text."""
    found: dict[str, set[type]] = {name: set() for name in columns_of(rows)}
    for row in rows:
        for name, value in row.items():
            if value is not None:
                found[name].add(type(value))
    return {
        name: TYPES[next(iter(kinds))]
        if len(kinds) == 1
        else "DOUBLE"
        if kinds == {int, float}
        else "VARCHAR"
        for name, kinds in found.items()
    }


def quoted(text: str) -> str:
    """Returns the text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yields a temporary path; unless writing fails, it takes the place of the file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}), so nothing was written; name a file in "
            "a folder that you may write to"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def rows_in(base: Any, sql: str, *values: Any) -> list[dict[str, Any]]:
    """Returns the rows of a query by the names of their columns."""
    found = base.execute(sql, list(values))
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
