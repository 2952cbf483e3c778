# SPDX-License-Identifier: Apache-2.0
"""Run an unmodified program and report deadlocks before their last thread sleeps, lock orders that
could deadlock, long holds, and mutexes that are unlocked or destroyed wrongly."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from lockyard import options as parse
from lockyard.cli.arguments import FILE, Program
from lockyard.cli.command import command_of, option, options_class
from lockyard.errors import UsageError
from lockyard.field_kit import guard_text, preload, profile_files
from lockyard.field_kit.recorded import Names, nothing_recorded, records_folder
from lockyard.field_kit.records_file import SUFFIX, bytes_used, read

if TYPE_CHECKING:
    from lockyard.field_kit.guard_document import FindingDocument

MODES = ("report", "error", "error-to-all", "abort")


@dataclass
class _Findings:
    """The findings of all processes so far; each is told when it is first seen."""

    folder: Path
    documents: list[FindingDocument] = field(default_factory=list)
    _told: set[tuple[str, int]] = field(default_factory=set)
    _used: dict[str, int] = field(default_factory=dict)

    @property
    def has_records(self) -> bool:
        return bool(self._used)

    def look(self) -> None:
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            used = bytes_used(path)
            if used == self._used.get(path.name, 0):
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


def _reaction(option: str, text: str) -> str:
    if text not in MODES:
        raise UsageError(f"{option} {text}: there is no such reaction; choose {', '.join(MODES)}")
    return text


@options_class
class GuardOptions:
    program: Program = None
    on_deadlock: Annotated[
        str,
        option(
            "REACTION",
            "The reaction of the thread that completes a deadlock. report: only report it; error: "
            "also return EDEADLK if the mutex is error-checking; error-to-all: always return "
            "EDEADLK, although most programs then continue without the lock; abort: abort.",
            _reaction,
        ),
    ] = "report"
    long_hold: Annotated[
        float,
        option("TIME", "Report mutexes that are held this long.", parse.duration_ns, shown="1s"),
    ] = 1e9
    out: Annotated[
        Path | None,
        option("FILE", "Also write the findings as JSON Lines.", FILE, names=("-o", "--out")),
    ] = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing about the run.")] = (
        False
    )


@command_of(
    GuardOptions,
    "lockyard guard -- ./server",
    "lockyard guard --on-deadlock abort -- make check",
    "lockyard guard --long-hold 50ms -o findings.jsonl -- ./server",
    starts_program=True,
)
def command(options: GuardOptions) -> int:
    """Returns the program's exit status, or ends by the signal that ended it."""
    if not options.program:
        raise UsageError("guard starts one program, and none was given; add it after '--'")
    with records_folder() as folder:
        findings = _Findings(folder)
        settings = {
            "LOCKYARD_RECORDS": str(folder),
            "LOCKYARD_GUARD": options.on_deadlock,
            "LOCKYARD_LONG_HOLD_NS": str(round(options.long_hold)),
        }
        launch = preload.Launch(options.program, None, settings, preload.recorder())
        with preload.report_file() as reports:
            status = preload.run_as_one(launch, reports, findings.look)
            launch.check(preload.read_reports(reports))
        findings.look()
    if not options.quiet:
        found = _summary(findings) if findings.has_records else nothing_recorded(options.program[0])
        print(f"lockyard: {found}", file=sys.stderr)  # noqa: T201
    if options.out is not None:
        lines = (msgspec.json.encode(each) + b"\n" for each in findings.documents)
        profile_files.write(options.out, b"".join(lines))
    return preload.end_as(status)


def _summary(findings: _Findings) -> str:
    count = len(findings.documents)
    if count == 0:
        return "no deadlock, no order of locks that could deadlock, and no misuse was seen"
    return f"{count} finding{'' if count == 1 else 's'}"
