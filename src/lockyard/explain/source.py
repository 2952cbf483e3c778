# SPDX-License-Identifier: Apache-2.0
"""Finds traces: given by name, next to records, or in the memory of a running program."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.explain.trace import is_trace
from lockyard.records import check_one_measuring, read_records, traces_beside
from lockyard.report.naming import Naming
from lockyard.report.summary import summary_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.harness import Record


@dataclass(frozen=True)
class Source:
    """A trace, with the record of its run, if there is one."""

    path: Path
    record: Record | None = None
    cell: str = ""  # the cell's name in the record; empty without a record


@dataclass
class Found:
    traces: list[Source] = field(default_factory=list)
    runs_of: dict[str, list[Record]] = field(default_factory=dict)  # by cell
    warnings: list[str] = field(default_factory=list)


def found(result: Path | None, file: Path | None, pid: int | None) -> Found:
    named = [each for each in (result, file, pid) if each is not None]
    if len(named) != 1:
        raise UsageError(
            "nothing to explain, or several things: name records or a trace, or give --file TRACE, "
            "or --pid PID of a program that traces its locks; to trace runs: lockyard measure "
            "stalls --out FILE"
        )
    if pid is not None:
        return Found([Source(_trace_of_process(pid))])
    if file is not None:
        return Found([Source(file)])
    assert result is not None  # noqa: S101 - one of the three is named
    return Found([Source(result)]) if is_trace(result) else _beside_records(result)


def _beside_records(path: Path) -> Found:
    if path.is_dir():
        traces = sorted(each for each in path.iterdir() if is_trace(each))
        if not traces:
            raise UsageError(
                f"{path}: holds no trace, so nothing can be explained; name another folder"
            )
        return Found([Source(each) for each in traces])
    content = read_records(path)
    check_one_measuring(path, content, "explain")
    result = Found(warnings=list(content.warnings))
    folder = traces_beside(path)
    if not any(map(_trace_of, content.runs)):
        raise UsageError(
            f"{path}: none of its {len(content.runs)} runs was traced, so no stall can be "
            "explained; measure with traces: lockyard measure stalls --out FILE"
        )
    for run, cell in zip(content.runs, _cells(content.runs), strict=True):
        result.runs_of.setdefault(cell, []).append(run)
        name = _trace_of(run)
        if not name:
            continue
        trace = folder / Path(name).name
        if trace.is_file():
            result.traces.append(Source(trace, run, cell))
        else:
            result.warnings.append(f"{trace}: missing, so its run is not explained")
    if not result.traces:
        raise UsageError(
            f"{folder}: the traces that {path.name} names are gone, so nothing can be explained; "
            "put the folder back next to the records, or measure again"
        )
    return result


def _trace_of(run: Record) -> str | None:
    found: str | None = (run.get("values") or {}).get("trace")
    return found


def _cells(runs: Sequence[Record]) -> list[str]:
    """Returns a name for each run: the lock, the threads, and the conditions that differ."""
    cells = [summary_of(run["study"], run["lock"], run["conditions"]) for run in runs]
    naming = Naming.of(cells)
    return [
        " · ".join([f"{cell.lock} × {cell.threads}", *naming.differences(cell)]) for cell in cells
    ]


def _trace_of_process(pid: int) -> Path:
    """Returns the mapped file that begins like a trace, whatever its name."""
    root = Path("/proc") / str(pid)
    try:
        maps = (root / "maps").read_text()
    except FileNotFoundError:
        raise UsageError(
            f"--pid {pid}: no such process, so nothing can be explained; give the id of a running "
            "one"
        ) from None
    except (PermissionError, ProcessLookupError):
        raise MissingCapabilityError(
            f"--pid {pid}: this user may not inspect the process; run lockyard as its user or as "
            "root, or name its trace with --file"
        ) from None
    shared = re.findall(r"^\S+ \S{3}s \S+ \S+ [1-9]\d*\s+(/.*)$", maps, re.MULTILINE)
    for name in dict.fromkeys(shared):
        for path in (Path(name), root / "root" / name.removeprefix("/")):
            if is_trace(path):
                return path
    raise UsageError(
        f"--pid {pid}: the program maps no trace, so nothing can be explained; it must use "
        "lockyard::traced locks and be started with LOCKYARD_TRACE=FILE (docs/tracing.md)"
    )
