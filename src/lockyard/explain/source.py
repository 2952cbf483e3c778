# SPDX-License-Identifier: Apache-2.0
"""Where traces are: named, beside records, or in the memory of a running program."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.explain.trace import is_trace
from lockyard.records import check_one_measuring, read_records

if TYPE_CHECKING:
    from lockyard.harness import Record

TRACES_SUFFIX = ".traces"


@dataclass(frozen=True)
class Source:
    """A trace, with the record of the run that it is of, if there is one."""

    path: Path
    record: Record | None = None

    @property
    def cell(self) -> str:
        """Of which lock with how many threads; nothing if no record says so."""
        if self.record is None:
            return ""
        return f"{self.record['lock']} × {self.record['conditions']['threads']}"


@dataclass
class Found:
    traces: list[Source] = field(default_factory=list)
    runs: list[Record] = field(default_factory=list)
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
    result = Found(runs=content.runs, warnings=list(content.warnings))
    folder = path.with_name(path.name + TRACES_SUFFIX)
    named = [run for run in content.runs if (run.get("values") or {}).get("trace")]
    if not named:
        raise UsageError(
            f"{path}: none of its {len(content.runs)} runs was traced, so no stall can be "
            "explained; measure with traces: lockyard measure stalls --out FILE"
        )
    for run in named:
        trace = folder / Path(run["values"]["trace"]).name
        if trace.is_file():
            result.traces.append(Source(trace, run))
        else:
            result.warnings.append(f"{trace}: is missing; that run is left out")
    if not result.traces:
        raise UsageError(
            f"{folder}: the traces that {path.name} names are gone; keep the folder beside the "
            "records, or measure again"
        )
    return result


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
