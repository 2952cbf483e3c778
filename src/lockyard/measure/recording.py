# SPDX-License-Identifier: Apache-2.0
"""Recordings: files that say how long threads held a lock, and how long they stayed away before.

docs/studies/throughput.md describes their format.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST_NS = 100_000_000  # the harness accepts no longer times
MOST_TURNS = 16_384  # and no more turns
HOLD, GAP = "hold_ns", "gap_ns"

Turns = tuple[tuple[float, float], ...]  # gap and hold of each turn


@dataclass(frozen=True)
class Recording:
    path: str
    digest: str  # a hash of the file's content
    hold_ns: int  # the mean
    gap_ns: int  # the mean

    @classmethod
    def of(cls, text: str) -> Recording:
        path = str(Path(text).absolute())
        digest, turns = _read(path)
        gap_ns, hold_ns = (math.ceil(sum(each) / len(turns)) for each in zip(*turns, strict=True))
        return cls(path, digest, hold_ns, gap_ns)

    def __str__(self) -> str:
        """Returns the file's name and digest, since a record may be read on another machine."""
        return f"{Path(self.path).name} {self.digest}"

    @property
    def turns(self) -> Turns:
        digest, turns = _read(self.path)
        if digest != self.digest:
            raise UsageError(
                f"{self.path}: has changed since the measurement was planned, so new runs would "
                "not be comparable; restore the file, or measure again with --out"
            )
        return turns


@cache
def _read(path: str) -> tuple[str, Turns]:
    try:
        content = Path(path).read_bytes()
        text = content.decode()
    except OSError as error:
        raise UsageError(
            f"{path}: the recording cannot be read ({error.strerror}); name a readable file"
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: not a text in UTF-8 ({error.reason}); give a recording in CSV or JSON Lines"
        ) from None
    turns = tuple(
        (_length(f"{path}, line {line}", row, GAP), _length(f"{path}, line {line}", row, HOLD))
        for line, row in _rows(path, text)
    )
    if not 1 <= len(turns) <= MOST_TURNS:
        raise UsageError(
            f"{path}: has {len(turns):,} rows, but a recording must have 1 to {MOST_TURNS:,}; give "
            "a part of it"
        )
    if not any(map(any, turns)):
        raise UsageError(
            f"{path}: all times are 0, so the recording says nothing; use --hold 0 instead"
        )
    return hashlib.sha256(content).hexdigest()[:12], turns


def _rows(path: str, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields the rows of a recording with the numbers of their lines."""
    if path.endswith(".csv"):
        reader = csv.DictReader(text.splitlines())
        if HOLD not in (reader.fieldnames or ()):
            raise UsageError(
                f"{path}, line 1: has no column {HOLD}; name the columns in the first line: {HOLD} "
                f"and, if threads stayed away, {GAP}"
            )
        for row in reader:
            yield reader.line_num, {key: each for key, each in row.items() if key in (HOLD, GAP)}
    elif path.endswith(".jsonl"):
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield number, _object(f"{path}, line {number}", line)
    else:
        raise UsageError(
            f"{path}: neither .csv nor .jsonl, so its format is unknown; rename the recording"
        )


def _object(where: str, line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or HOLD not in row:
        raise UsageError(
            f"{where}: not a JSON object with {HOLD}; correct the line, or choose another file"
        )
    return row


def _length(where: str, row: Mapping[str, Any], key: str) -> float:
    value = row.get(key, 0)
    try:
        length_ns = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        length_ns = math.nan
    if not 0 <= length_ns <= LONGEST_NS:
        raise UsageError(
            f"{where}: {key} is {value!r}; it must be a number of nanoseconds from 0 to "
            f"{LONGEST_NS:,}"
        )
    return length_ns
