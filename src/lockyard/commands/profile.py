# SPDX-License-Identifier: Apache-2.0
"""Run an unmodified program and show which of its locks make threads wait, behind which other
threads, and why. Needs no symbols and no root; the report goes to standard error."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lockyard.cli.arguments import FILE, Program
from lockyard.cli.command import command_of, option, options_class
from lockyard.errors import ExitStatus, UsageError
from lockyard.field_kit import preload, profile_files, profile_text
from lockyard.field_kit.added_up import added_up
from lockyard.field_kit.recorded import (
    all_records,
    nothing_recorded,
    records_folder,
    records_path_of,
)
from lockyard.field_kit.records_file import read
from lockyard.page.arguments import PageFile
from lockyard.page.wanted import WantedPage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.field_kit.contention import Contention


@dataclass(frozen=True)
class Files:
    """The files that a profile is written to."""

    out: Path | None = None
    perfetto: Path | None = None
    pprof: Path | None = None
    folded: Path | None = None
    lengths: Path | None = None
    page: WantedPage = WantedPage()  # noqa: RUF009 - it is frozen

    def write(self, processes: list[Contention]) -> None:
        from lockyard.field_kit import lengths, perfetto_file, pprof_file

        for path, content in (
            (self.out, profile_files.json_lines),
            (self.perfetto, perfetto_file.content),
            (self.pprof, pprof_file.content),
            (self.folded, profile_files.folded),
            (self.lengths, lengths.content),
        ):
            if path is not None:
                profile_files.write(path, content(processes))
        if self.page.path is not None:
            from lockyard.page.of_profile import page_of

            self.page.write(page_of(processes))


@options_class
class ProfileOptions:
    program: Program = None
    source: Annotated[
        str,
        option(
            "PID|FILE",
            "Read the records of a program that is running under profile, or a profile's file.",
            names=("--from",),
            shown=False,
        ),
    ] = ""
    out: Annotated[
        Path | None,
        option("FILE", "Also write the profile as JSON Lines.", FILE, names=("-o", "--out")),
    ] = None
    perfetto: Annotated[
        Path | None, option("FILE", "Also write a trace of the long waits, for Perfetto.", FILE)
    ] = None
    pprof: Annotated[Path | None, option("FILE", "Also write a file for pprof.", FILE)] = None
    folded: Annotated[
        Path | None, option("FILE", "Also write folded stacks, for flame graphs.", FILE)
    ] = None
    lengths: Annotated[
        Path | None,
        option(
            "FILE",
            "Write the holds and gaps of the lock with the longest waits, for 'lockyard measure "
            "--lengths recorded:FILE'. The file's name must end in .csv.",
            FILE,
        ),
    ] = None

    page: PageFile = None

    @property
    def files(self) -> Files:
        return Files(
            self.out,
            self.perfetto,
            self.pprof,
            self.folded,
            self.lengths,
            WantedPage(self.page),
        )


@command_of(
    ProfileOptions,
    "lockyard profile -- ./server --threads 8",
    "lockyard profile -o profile.jsonl --perfetto waits.pftrace -- make check",
    "lockyard profile --from 4711",
    "lockyard profile --from profile.jsonl --pprof waits.pb.gz",
    "lockyard profile --lengths lengths.csv -- prog; lockyard measure throughput --lengths "
    "recorded:lengths.csv",
    starts_program=True,
)
def command(options: ProfileOptions) -> int:
    """Returns the program's exit status, or ends by the signal that ended it."""
    source, files = options.source, options.files
    if bool(source) == bool(options.program):
        raise UsageError(
            "profile starts one program, or shows one that runs or has run; give a program "
            "after '--', or --from PID or FILE"
        )
    files.page.check()
    files.page.check()
    if source.isdecimal():
        found = [added_up(read(records_path_of(int(source))))]
        _show(found, files, to_stderr=False)
        return ExitStatus.DONE
    if source:
        return show_file(Path(source), files, as_json=False)
    program: Sequence[str] = options.program or ()
    status, processes = recorded(program)
    if not processes:
        print(f"lockyard: {nothing_recorded(program[0])}", file=sys.stderr)  # noqa: T201
    _show(processes, files, to_stderr=True)
    return preload.end_as(status)


def recorded(command: Sequence[str], stdout: preload.Stream = None) -> tuple[int, list[Contention]]:
    """Runs the program. Returns its status, and its processes, the one that waited most first."""
    with records_folder() as folder:
        settings = {"LOCKYARD_RECORDS": str(folder)}
        launch = preload.Launch(command, None, settings, preload.recorder())
        with preload.report_file() as reports:
            status = preload.run_as_one(launch, reports, stdout=stdout)
            launch.check(preload.read_reports(reports))
        processes = [added_up(each) for each in all_records(folder)]
    told = sorted((each for each in processes if not each.is_empty), key=lambda each: -each.wait_ns)
    return status, told or processes[:1]


def show_file(path: Path, files: Files, as_json: bool) -> ExitStatus:
    """Shows a profile that was written to a file."""
    if not profile_files.is_profile(path):
        raise UsageError(
            f"{path}: the file has no profile, so nothing can be shown; name a file that 'lockyard "
            "profile -o' has written, or the id of a process"
        )
    processes = profile_files.read(path)
    if as_json:
        sys.stdout.buffer.write(profile_files.json_lines(processes))
        return ExitStatus.DONE
    _show(processes, files, to_stderr=False)
    return ExitStatus.DONE


def _show(processes: list[Contention], files: Files, *, to_stderr: bool) -> None:
    """The program's own output is not mixed with this: it goes to standard error."""
    stream = sys.stderr if to_stderr else sys.stdout
    for index, each in enumerate(processes):
        if index:
            print(file=stream)
        for line in profile_text.lines(each):
            print(line, file=stream)
    files.write(processes)
