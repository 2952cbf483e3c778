# SPDX-License-Identifier: Apache-2.0
"""Lengths that somebody recorded: how long threads held a lock, and stayed away before.

docs/studies/throughput.md has the format of the files.
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

LONGEST_NS = 100_000_000  # the harness counts no longer ones
MOST_TURNS = 16_384  # nor more of them
HOLD, GAP = "hold_ns", "gap_ns"

Turns = tuple[tuple[float, float], ...]  # gap and hold of each


@dataclass(frozen=True)
class Recording:
    path: str
    digest: str  # of the file's content
    hold_ns: int  # mean
    gap_ns: int  # mean

    @classmethod
    def of(cls, text: str) -> Recording:
        path = str(Path(text).absolute())
        digest, turns = _read(path)
        gap_ns, hold_ns = (math.ceil(sum(each) / len(turns)) for each in zip(*turns, strict=True))
        return cls(path, digest, hold_ns, gap_ns)

    def __str__(self) -> str:
        """As a record names it: the file may be elsewhere where it is read."""
        return f"{Path(self.path).name} {self.digest}"

    @property
    def turns(self) -> Turns:
        digest, turns = _read(self.path)
        if digest != self.digest:
            raise UsageError(
                f"{self.path}: has changed since the measuring was planned, so its runs would not "
                "compare; put the file back, or measure anew with --out"
            )
        return turns


@cache
def _read(path: str) -> tuple[str, Turns]:
    try:
        content = Path(path).read_bytes()
        text = content.decode()
    except OSError as error:
        raise UsageError(f"cannot read the recording {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is no text in UTF-8 ({error.reason})") from None
    turns = tuple(
        (_length(f"{path}, line {line}", row, GAP), _length(f"{path}, line {line}", row, HOLD))
        for line, row in _rows(path, text)
    )
    if not 1 <= len(turns) <= MOST_TURNS:
        raise UsageError(
            f"{path}: has {len(turns):,} lengths; a recording has from 1 to {MOST_TURNS:,}; give a "
            "part of it"
        )
    if not any(map(any, turns)):
        raise UsageError(f"{path}: all lengths are 0, which --hold 0 says too; leave it out")
    return hashlib.sha256(content).hexdigest()[:12], turns


def _rows(path: str, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """With the numbers of their lines."""
    if path.endswith(".csv"):
        reader = csv.DictReader(text.splitlines())
        if HOLD not in (reader.fieldnames or ()):
            raise UsageError(
                f"{path}, line 1: has no column {HOLD}; its first line names the columns, {HOLD} "
                f"and, if threads stayed away, {GAP}"
            )
        for row in reader:
            yield reader.line_num, {key: each for key, each in row.items() if key in (HOLD, GAP)}
    elif path.endswith(".jsonl"):
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield number, _object(f"{path}, line {number}", line)
    else:
        raise UsageError(f"{path}: a recording is a file whose name ends in .csv or .jsonl")


def _object(where: str, line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or HOLD not in row:
        raise UsageError(f"{where}: is no JSON object with {HOLD}")
    return row


def _length(where: str, row: Mapping[str, Any], key: str) -> float:
    value = row.get(key, 0)
    try:
        length_ns = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        length_ns = math.nan
    if not 0 <= length_ns <= LONGEST_NS:
        raise UsageError(
            f"{where}: {key} is {value!r}, and no number of nanoseconds from 0 to {LONGEST_NS:,}"
        )
    return length_ns
