# SPDX-License-Identifier: Apache-2.0
"""Records in files: JSON Lines, the environment first, each line whole before the next begins."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.errors import MissingCapabilityError, OutputClosedError, UsageError
from lockyard.plan import SCHEMA

if TYPE_CHECKING:
    from lockyard.harness import Record


class RecordWriter:
    """Appends records to a new file, to standard output, or to both."""

    def __init__(self, path: Path | None, to_stdout: bool) -> None:
        self.path = path
        self.written = 0
        self._to_stdout = to_stdout
        self._file: int | None = None
        if path is not None:
            if path.is_file() and path.stat().st_size > 0:
                raise UsageError(
                    f"{path} exists and would be overwritten; nothing was measured; choose "
                    "another file with --out, or remove this one"
                )
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                flags = os.O_WRONLY | (0 if path.exists() else os.O_CREAT | os.O_EXCL)
                self._file = os.open(path, flags, 0o644)
            except OSError as error:
                raise UsageError(
                    f"cannot write records to {path}: {error.strerror}; nothing was measured; "
                    "choose another file with --out"
                ) from None

    def write(self, record: Record) -> None:
        line = (json.dumps(record) + "\n").encode()
        if self._to_stdout:
            self._print(line)
        if self._file is not None:
            self._append(line)
        self.written += 1

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _print(self, line: bytes) -> None:
        try:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            # Python flushes standard output once more at exit; there is nobody to flush to.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise OutputClosedError("standard output is closed") from None
        except OSError as error:
            raise MissingCapabilityError(
                f"cannot write records to standard output: {error.strerror}; "
                f"{self.written} records were written before"
            ) from None

    def _append(self, line: bytes) -> None:
        """All of a line or, as far as the file system lets us, nothing of it."""
        assert self._file is not None  # noqa: S101 - the caller has seen it
        rest = line
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            self._take_back(len(line) - len(rest))
            raise MissingCapabilityError(
                f"cannot write records to {self.path}: {error.strerror}; the {self.written} "
                "records before this one are kept there; make room and measure again"
            ) from None

    def _take_back(self, size: int) -> None:
        assert self._file is not None  # noqa: S101 - the caller has seen it
        try:
            end = os.lseek(self._file, 0, os.SEEK_CUR)
            os.ftruncate(self._file, end - size)
        except OSError:
            pass  # no regular file: what was written stays written


@dataclass
class RecordFile:
    """What a file held: its environment, its runs, and what is to be said about it."""

    environment: dict[str, Any] = field(default_factory=dict)
    runs: list[Record] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_records(path: Path) -> RecordFile:
    """Reads up to a torn last line, which an interrupted writer leaves behind."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"cannot read records from {path}: {error.strerror}") from None
    content = RecordFile()
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        record = _parse(line)
        if record is None and number == len(lines):
            content.warnings.append(
                f"{path}: the last line is torn (a run that was cut short); read the "
                f"{len(content.runs)} runs before it"
            )
        elif record is None:
            raise UsageError(f"{path}, line {number}: is no JSON object; the file is damaged")
        elif record.get("schema") != SCHEMA:
            raise UsageError(
                f"{path}, line {number}: is of schema {record.get('schema')}, and this version of "
                f"lockyard reads schema {SCHEMA}; use the version that wrote it"
            )
        elif record.get("record") == "environment":
            content.environment = record
        else:
            content.runs.append(record)
    return content


def _parse(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def default_path(command: str) -> Path:
    """Where records go when nobody says where: kept, dated, and out of the way."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    moment = datetime.now().astimezone().strftime("%Y-%m-%dT%H.%M.%S")
    return Path(state) / "lockyard" / f"{command}.{moment}.{os.getpid()}.jsonl"
