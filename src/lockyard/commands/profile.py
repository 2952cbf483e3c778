# SPDX-License-Identifier: Apache-2.0
"""lockyard profile: which locks of an unmodified program make threads wait, behind which other
threads, and why."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lockyard.errors import ExitStatus, UsageError
from lockyard.field_kit import preload, profile_files, profile_text
from lockyard.field_kit.contention import Contention, added_up
from lockyard.field_kit.recorded import all_records, records_folder, records_path_of
from lockyard.field_kit.records import read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def run(command: Sequence[str], from_pid: int | None, out: Path | None, folded: Path | None) -> int:
    """Returns the program's exit status, or ends by the signal that ended it."""
    if (from_pid is None) == (not command):
        raise UsageError(
            "profile starts one program, or reads the records of one that runs; give a program "
            "behind '--', or --from PID"
        )
    if from_pid is not None:
        _show([added_up(read(records_path_of(from_pid)))], out, folded, to_stderr=False)
        return ExitStatus.DONE
    with records_folder() as folder:
        settings = {"LOCKYARD_RECORDS": str(folder)}
        launch = preload.Launch(command, None, settings, preload.recorder())
        with preload.report_file() as reports:
            status = preload.run_as_one(launch, reports)
            launch.check(preload.read_reports(reports))
        recorded = all_records(folder)
    _show([added_up(each) for each in recorded], out, folded, to_stderr=True)
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
