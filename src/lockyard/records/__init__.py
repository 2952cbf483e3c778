# SPDX-License-Identifier: Apache-2.0
"""Record files: JSON Lines, the environment first, each line complete before the next begins."""

from __future__ import annotations

import errno
import fcntl
import gzip
import json
import os
import sys
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lockyard.errors import MissingCapabilityError, OutputClosedError, UsageError
from lockyard.records.types import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockyard.harness import Record


# Parameters of studies since schema 2.
ONCE_CONDITIONS = ("workload", "sleepers", "writers", "burst")


class RecordWriter:
    """Appends records to a file, to standard output, or to both. A written record has reached the
    disk, since a measurement may crash the machine."""

    def __init__(
        self, path: Path | None, to_stdout: bool, resume: RecordFile | None = None
    ) -> None:
        self.path = path
        self.written = 0
        self._to_stdout = to_stdout
        self._file: int | None = None
        if path is None:
            return
        try:
            if resume is None and path.is_file() and path.stat().st_size > 0:
                raise UsageError(
                    f"{path} exists and would be overwritten, so nothing was measured; choose "
                    "another file with --out, continue it with --resume, or remove it"
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | (0 if path.exists() else os.O_CREAT | os.O_EXCL)
            self._file = os.open(path, flags, 0o644)
            self._lock()
            if resume is not None:
                self._cut_to(resume.whole_bytes, resume.read_bytes)
        except OSError as error:
            raise UsageError(
                f"{path}: records cannot be written ({error.strerror}), so nothing was measured; "
                "choose another file with --out"
            ) from None

    def _lock(self) -> None:
        """Locks the file, so that only one process at a time continues it."""
        assert self._file is not None  # noqa: S101 - the caller has seen it
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{self.path} is being written by another lockyard, so nothing was measured; wait "
                "for it to end"
            ) from None

    def _cut_to(self, whole_bytes: int, read_bytes: int) -> None:
        """Moves to the place of the next line, after the last complete one."""
        assert self._file is not None  # noqa: S101 - the caller has seen it
        if os.fstat(self._file).st_size != read_bytes:
            raise UsageError(
                f"{self.path} has changed since it was read, so nothing was measured; resume again"
            )
        os.ftruncate(self._file, whole_bytes)
        os.lseek(self._file, 0, os.SEEK_END)
        if self.path and whole_bytes and not self.path.read_bytes().endswith(b"\n"):
            os.write(self._file, b"\n")

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
            # Python flushes standard output again at exit, which would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise OutputClosedError("standard output is closed") from None
        except OSError as error:
            raise MissingCapabilityError(
                f"standard output cannot be written ({error.strerror}), so the measurement ended; "
                f"{self.written} records were written before; free some space and measure again"
            ) from None

    def _append(self, line: bytes) -> None:
        """Writes a complete line or, if the file system permits, nothing of it."""
        assert self._file is not None  # noqa: S101 - the caller has seen it
        rest = line
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            self._sync()
        except OSError as error:
            self._take_back(len(line) - len(rest))
            raise MissingCapabilityError(
                f"{self.path} cannot be written ({error.strerror}), so the measurement ended; its "
                f"{self.written} records are kept; free some space and continue with --resume"
            ) from None

    def _sync(self) -> None:
        assert self._file is not None  # noqa: S101 - the caller has seen it
        try:
            os.fdatasync(self._file)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EROFS, errno.ENOTSUP):  # not a regular file
                raise

    def _take_back(self, size: int) -> None:
        assert self._file is not None  # noqa: S101 - the caller has seen it
        try:
            end = os.lseek(self._file, 0, os.SEEK_CUR)
            os.ftruncate(self._file, end - size)
        except OSError:
            pass  # not a regular file: what was written stays written


@dataclass
class RecordFile:
    """The content of a file, and the warnings about it."""

    environment: dict[str, Any] = field(default_factory=dict)  # the first of a resumed measurement
    plan: dict[str, Any] = field(default_factory=dict)
    runs: list[Record] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    whole_bytes: int = 0  # without an incomplete last line
    read_bytes: int = 0

    def add(self, record: Record) -> None:
        kind = record.get("record")
        if kind == "environment":
            self.environment = self.environment or record
        elif kind == "plan":
            self.plan = record
        elif kind is None:
            self.runs.append(record)


def read_records(path: Path, kept: Callable[[Record], Record] | None = None) -> RecordFile:
    """Reads up to an incomplete last line, which an interrupted writer leaves behind. `kept`
    reduces each run, since the histograms of a large file would not fit into memory."""
    lines = _content(path).split(b"\n")
    content = RecordFile(read_bytes=sum(map(len, lines)) + len(lines) - 1)
    for number, line in enumerate(lines, start=1):
        is_last = number == len(lines)
        record = _parse(line) if line else None
        if record is not None:
            record = _current(record, f"{path}, line {number}")
            content.add(_reduced(record, kept, f"{path}, line {number}") if kept else record)
        elif line and is_last:
            content.warnings.append(
                f"{path}: the last line is incomplete, so its run is ignored; "
                f"{len(content.runs)} runs before it were read"
            )
            break
        elif line:
            raise UsageError(
                f"{path}, line {number}: not a JSON object, so the file is damaged; remove the "
                "line, or measure again"
            )
        content.whole_bytes += len(line) + (not is_last)
    return content


def _content(path: Path) -> bytes:
    """Returns the bytes of a file, or what a compressed file holds."""
    try:
        found = path.read_bytes()
        return gzip.decompress(found) if path.suffix == ".gz" else found
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UsageError(
            f"{path}: not a whole gzip file, so nothing was read; copy it again, or unpack what is "
            "left of it with zcat"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{path}: records cannot be read ({error.strerror}); name a readable file"
        ) from None


def check_one_measuring(path: Path, content: RecordFile, aim: str) -> None:
    """Raises UsageError if there is no run, or if runs come from several machines. `aim` is the
    verb for what was to be done with them: compare, show."""
    if not content.runs:
        raise UsageError(f"{path} {_emptiness(content, aim)}")
    named = (record.get("environment") for record in (content.environment, *content.runs))
    hashes = {str(each) for each in named if each is not None}
    if len(hashes) > 1:
        raise UsageError(
            f"{path} holds runs from {len(hashes)} environments ({', '.join(sorted(hashes))}), so "
            "figures over all of them mean nothing (several machines, or one that was changed); "
            f"{aim} each measurement's own file"
        )


def _emptiness(content: RecordFile, aim: str) -> str:
    if content.read_bytes == 0:
        return f"is empty, so there is nothing to {aim}; measure with --out"
    if content.plan:
        return (
            f"holds a plan but no run, so there is nothing to {aim}: the measurement ended before "
            "its first run; continue it with 'lockyard measure --resume'"
        )
    return f"holds no run, so there is nothing to {aim}; measure with --out"


def _reduced(record: Record, kept: Callable[[Record], Record], where: str) -> Record:
    if "record" in record:
        return record
    try:
        return kept(record)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{where}: not a record of a run ({type(error).__name__}: {error}), so the file was "
            "changed by hand or written by another version; measure again"
        ) from None


def _current(record: Record, where: str) -> Record:
    """Returns the record as this version would write it."""
    if "schema" not in record:
        raise UsageError(
            f"{where}: names no schema, so it is not a lockyard record; name a file that lockyard "
            "wrote"
        )
    if record["schema"] == 1:
        try:
            return _of_schema_1(record)
        except (AttributeError, KeyError, TypeError) as error:
            raise UsageError(
                f"{where}: not a record of schema 1 ({type(error).__name__}: {error}), so the file "
                "was changed by hand; measure again"
            ) from None
    if record["schema"] != SCHEMA:
        raise UsageError(
            f"{where}: has schema {record['schema']}, but this version of lockyard reads the "
            f"schemas 1 to {SCHEMA}; use the version that wrote the file"
        )
    return record


def _of_schema_1(record: Record) -> Record:
    """Converts a record in which some parameters of studies were conditions of their own."""
    if "conditions" in record:
        found = _parameters_of(record["conditions"])
        record["conditions"]["parameters"] = {**found, **record["conditions"].get("parameters", {})}
    for cell in record.get("cells", ()):
        found = {**_parameters_of(cell["work"]), **_parameters_of(cell)}
        cell["parameters"] = [*map(list, found.items()), *cell.get("parameters", ())]
    return {**record, "schema": SCHEMA}


def _parameters_of(conditions: dict[str, Any]) -> dict[str, Any]:
    """Takes the parameters out of the conditions."""
    found = {name: conditions.pop(name, None) for name in ONCE_CONDITIONS}
    return {name: value for name, value in found.items() if value is not None}


def _parse(line: bytes) -> Record | None:
    try:
        record = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def traces_beside(records: Path) -> Path:
    """Returns the folder of the traces that the records name."""
    return records.with_name(f"{records.name}.traces")


def default_path(command: str) -> Path:
    """Returns a dated file in the user's state folder, for measurements without --out."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    moment = datetime.now().astimezone().strftime("%Y-%m-%dT%H.%M.%S")
    return Path(state) / "lockyard" / f"{command}.{moment}.{os.getpid()}.jsonl"
