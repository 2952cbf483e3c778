# SPDX-License-Identifier: Apache-2.0
"""Where traces are: named, beside records, or in the memory of a running program."""

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
    """A trace, with the record of the run that it is of, if there is one."""

    path: Path
    record: Record | None = None
    cell: str = ""  # what the record calls it; nothing if there is none


@dataclass
class Found:
    traces: list[Source] = field(default_factory=list)
    runs_of: dict[str, list[Record]] = field(default_factory=dict)  # of each cell
    warnings: list[str] = field(default_factory=list)


def found(result: Path | None, file: Path | None, pid: int | None) -> Found:
    named = [each for each in (result, file, pid) if each is not None]
    if len(named) != 1:
        raise UsageError(
            "name one thing to explain: records or a trace, --file TRACE, or --pid of a program "
            "that traces its locks; for traced runs: lockyard measure stalls --out FILE"
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
            raise UsageError(f"{path}: holds no trace; nothing can be explained; name another one")
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
            result.warnings.append(f"{trace}: is missing; that run is left out")
    if not result.traces:
        raise UsageError(
            f"{folder}: the traces that {path.name} names are gone; keep the folder beside the "
            "records, or measure again"
        )
    return result


def _trace_of(run: Record) -> str | None:
    found: str | None = (run.get("values") or {}).get("trace")
    return found


def _cells(runs: Sequence[Record]) -> list[str]:
    """What each is of: the lock, the threads, and what else is not the same in all of them."""
    cells = [summary_of(run["study"], run["lock"], run["conditions"]) for run in runs]
    naming = Naming.of(cells)
    return [
        " · ".join([f"{cell.lock} × {cell.threads}", *naming.differences(cell)]) for cell in cells
    ]


def _trace_of_process(pid: int) -> Path:
    """The mapped file that begins as a trace does, whatever its name."""
    root = Path("/proc") / str(pid)
    try:
        maps = (root / "maps").read_text()
    except FileNotFoundError:
        raise UsageError(f"--pid {pid}: there is no such process") from None
    except (PermissionError, ProcessLookupError):
        raise MissingCapabilityError(
            f"--pid {pid}: the process may not be looked at; be its user or root, or name its "
            "trace with --file"
        ) from None
    shared = re.findall(r"^\S+ \S{3}s \S+ \S+ [1-9]\d*\s+(/.*)$", maps, re.MULTILINE)
    for name in dict.fromkeys(shared):
        for path in (Path(name), root / "root" / name.removeprefix("/")):
            if is_trace(path):
                return path
    raise UsageError(
        f"--pid {pid}: the program maps no trace; it has to use lockyard::traced locks and be "
        "started with LOCKYARD_TRACE=FILE (docs/tracing.md)"
    )
