# SPDX-License-Identifier: Apache-2.0
"""lockyard guard: deadlocks of an unmodified program, told before they strike or as they do."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError
from lockyard.field_kit import guard_text, preload, profile_files
from lockyard.field_kit.recorded import Names, records_folder
from lockyard.field_kit.records_file import SUFFIX, bytes_used, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MODES = ("report", "error", "error-to-all", "abort")


@dataclass
class _Findings:
    """The findings of all processes so far; each is told when it is first seen."""

    folder: Path
    documents: list[dict[str, Any]] = field(default_factory=list)
    _told: set[tuple[str, int]] = field(default_factory=set)
    _used: dict[str, int] = field(default_factory=dict)

    def look(self) -> None:
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            used = bytes_used(path)
            if used == self._used.get(path.name):
                continue
            self._used[path.name] = used
            records = read(path)
            names = Names(records)
            for event in records.events:
                if (path.name, event.at) in self._told:
                    continue
                self._told.add((path.name, event.at))
                self.documents.append(guard_text.document(event, records, names))
                for line in guard_text.lines(event, names):
                    print(f"lockyard: {line}", file=sys.stderr)  # noqa: T201
                sys.stderr.flush()


def run(
    command: Sequence[str], on_deadlock: str, long_hold_s: float, out: Path | None, quiet: bool
) -> int:
    """Returns the program's exit status, or ends by the signal that ended it."""
    if not command:
        raise UsageError("guard starts one program, and none was given; add it behind '--'")
    if on_deadlock not in MODES:
        raise UsageError(
            f"--on-deadlock {on_deadlock}: there is no such reaction; choose {', '.join(MODES)}"
        )
    with records_folder() as folder:
        findings = _Findings(folder)
        settings = {
            "LOCKYARD_RECORDS": str(folder),
            "LOCKYARD_GUARD": on_deadlock,
            "LOCKYARD_LONG_HOLD_NS": str(round(long_hold_s * 1e9)),
        }
        launch = preload.Launch(command, None, settings, preload.recorder())
        with preload.report_file() as reports:
            status = preload.run_as_one(launch, reports, findings.look)
            launch.check(preload.read_reports(reports))
        findings.look()
    if not quiet:
        print(f"lockyard: {_summary(findings)}", file=sys.stderr)  # noqa: T201
    if out is not None:
        lines = (f"{json.dumps(each)}\n" for each in findings.documents)
        profile_files.write(out, "".join(lines).encode())
    return preload.end_as(status)


def _summary(findings: _Findings) -> str:
    count = len(findings.documents)
    if count == 0:
        return "no deadlock, no order of locks that could deadlock, and no misuse was seen"
    return f"{count} finding{'' if count == 1 else 's'}"
