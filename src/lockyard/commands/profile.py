# SPDX-License-Identifier: Apache-2.0
"""Run an unmodified program and show which of its locks make threads wait, behind which other
threads, and why. Needs no symbols and no root; the report goes to standard error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lockyard.cli.arguments import FILE, Program
from lockyard.cli.command import command_of, options_class
from lockyard.errors import ExitStatus, UsageError
from lockyard.field_kit import preload, profile_files, profile_text
from lockyard.field_kit.contention import Contention, added_up
from lockyard.field_kit.recorded import all_records, records_folder, records_path_of
from lockyard.field_kit.records import read


@options_class
class ProfileOptions:
    program: Program = None
    from_pid: Annotated[
        int | None,
        typer.Option(
            "--from",
            metavar="PID",
            min=1,
            help="Read the records of this program, which is running under profile.",
            show_default=False,
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Write the profile as JSON Lines, too.",
            click_type=FILE,
        ),
    ] = None
    folded: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write folded stacks, for flame graphs, too.", click_type=FILE
        ),
    ] = None


@command_of(
    ProfileOptions,
    "lockyard profile -- ./server --threads 8",
    "lockyard profile -o profile.jsonl --folded waits.folded -- make check",
    "lockyard profile --from 4711",
    starts_program=True,
)
def command(options: ProfileOptions) -> int:
    """Returns the program's exit status, or ends by the signal that ended it."""
    if (options.from_pid is None) == (not options.program):
        raise UsageError(
            "profile starts one program, or reads the records of one that runs; give a program "
            "behind '--', or --from PID"
        )
    if options.from_pid is not None:
        _show(
            [added_up(read(records_path_of(options.from_pid)))],
            options.out,
            options.folded,
            to_stderr=False,
        )
        return ExitStatus.DONE
    with records_folder() as folder:
        settings = {"LOCKYARD_RECORDS": str(folder)}
        launch = preload.Launch(options.program or (), None, settings, preload.recorder())
        with preload.report_file() as reports:
            status = preload.run_as_one(launch, reports)
            launch.check(preload.read_reports(reports))
        recorded = all_records(folder)
    _show([added_up(each) for each in recorded], options.out, options.folded, to_stderr=True)
    return preload.end_as(status)


def _show(
    processes: list[Contention], out: Path | None, folded: Path | None, *, to_stderr: bool
) -> None:
    """Shows the processes with the most waiting first. The program's own output is not mixed with
    this: it goes to standard error."""
    told = sorted((each for each in processes if not each.is_empty), key=lambda each: -each.wait_ns)
    stream = sys.stderr if to_stderr else sys.stdout
    for index, each in enumerate(told or processes[:1]):
        if index:
            print(file=stream)
        for line in profile_text.lines(each):
            print(line, file=stream)
    if out is not None:
        profile_files.write(out, profile_files.json_lines(told or processes[:1]))
    if folded is not None:
        profile_files.write(folded, profile_files.folded(told))
