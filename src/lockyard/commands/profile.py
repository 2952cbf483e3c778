# SPDX-License-Identifier: Apache-2.0
"""lockyard profile: which locks of an unmodified program make threads wait, behind which other
threads, and why."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lockyard.errors import ExitStatus, MissingCapabilityError, UsageError
from lockyard.field_kit import profile_files, profile_text
from lockyard.field_kit.contention import Contention, added_up
from lockyard.field_kit.launch import end_as, found_program, preload_library
from lockyard.field_kit.launch import run as run_program
from lockyard.field_kit.recorded import all_records, records_folder, records_path_of
from lockyard.field_kit.records import read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LIBRARY = "profile"


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
    library = preload_library(LIBRARY)
    with records_folder() as folder:
        status = run_program(command, library, {"LOCKYARD_RECORDS": str(folder)})
        recorded = all_records(folder)
    if not recorded:
        raise not_reached(command[0], status)
    _show([added_up(each) for each in recorded], out, folded, to_stderr=True)
    return end_as(status)


def not_reached(program: str, status: int) -> MissingCapabilityError:
    """Returns the error for a program that ran without the library."""
    return MissingCapabilityError(
        f"{found_program(program)} ended with status {status}, and the library was never loaded "
        "into it, so nothing is known of its locks; it removes LD_PRELOAD, has privileges, or is "
        "for another C library: use 'lockyard hang PID'"
    )


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
