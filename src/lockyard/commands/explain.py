# SPDX-License-Identifier: Apache-2.0
"""Show where each thread was during the longest stalls, and what caused each lock's idle time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import command_of, option, options_class
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, UsageError
from lockyard.explain import source
from lockyard.explain.session import Explained, Wanted, explained
from lockyard.field_kit import long_waits, perfetto_file, profile_files
from lockyard.field_kit.long_waits import Chosen
from lockyard.files import replace_file
from lockyard.measure.session import say
from lockyard.page.arguments import PageFile
from lockyard.page.wanted import WantedPage

MOST_WRONG_SHOWN = 20


@options_class
class ExplainOptions:
    result: Annotated[
        Path | None,
        typer.Argument(
            metavar="RESULT",
            help="Records of traced runs, with their traces next to them; or a trace; or a folder "
            "of traces.",
            show_default=False,
            click_type=FILE,
        ),
    ] = None
    file: Annotated[Path | None, option("TRACE", "A trace that a program wrote.", FILE)] = None
    pid: Annotated[int | None, option("PID", "A running program that traces its locks.")] = None
    lock: Annotated[
        Sequence[str],
        option(
            "NAME,…",
            "Explain only these locks.",
            partial(parse.names, known="names of locks"),
            shown="all",
            complete=completions.locks,
        ),
    ] = ()
    top: Annotated[
        int, typer.Option(metavar="N", min=0, help="How many of the longest stalls to draw.")
    ] = 3
    longer_than: Annotated[
        float,
        option(
            "TIME",
            "The shortest wait that is a stall, as in 50us, 1ms.",
            parse.duration_ns,
            shown="10us",
        ),
    ] = 10e3
    truth: Annotated[
        bool,
        typer.Option(
            "--truth", help="Compare with the injected causes, and print the confusion matrix."
        ),
    ] = False
    page: PageFile = None
    perfetto: Annotated[
        Path | None,
        option(
            "FILE.json",
            "Write the traces to FILE, for https://ui.perfetto.dev or chrome://tracing.",
            FILE,
            shown=False,
        ),
    ] = None
    as_json: Json = False


@dataclass(frozen=True)
class Files:
    """The files that explanations are written to."""

    page: WantedPage
    perfetto: Path | None = None


@command_of(
    ExplainOptions,
    "lockyard explain records.jsonl",
    "lockyard explain records.jsonl --lock ticket_spinlock --top 5",
    "lockyard explain --pid 4711 --longer-than 1ms",
    "lockyard explain --file /dev/shm/my.trace --json | jq '.stalls[].cause'",
    "lockyard explain --truth injected/",
    "lockyard explain records.jsonl --page stalls.html --perfetto stalls.json",
)
def command(options: ExplainOptions) -> int:
    files = Files(WantedPage(options.page), options.perfetto)
    if options.truth:
        return _judge(options)
    if options.result is not None and profile_files.is_profile(options.result):
        chosen = Chosen(tuple(options.lock), options.top, options.longer_than)
        return _show_profile(options.result, chosen, options.as_json, files)
    wanted = Wanted(tuple(options.lock), options.top, options.longer_than)
    traces = source.found(options.result, options.file, options.pid)
    files.page.check()
    found = explained(traces, wanted)
    if options.as_json:
        from lockyard.explain.document import document

        print_document(document(found))
    else:
        for warning in found.warnings:
            say(warning)
        from lockyard.explain.text import print_explained

        print_explained(found)
    _write(files, traces, found)
    return ExitStatus.DONE


def _write(files: Files, traces: source.Found, found: Explained) -> None:
    if files.perfetto is not None:
        from lockyard.explain.perfetto import lines

        content = "\n".join(lines(traces.traces)).encode()
        replace_file(files.perfetto, content, "so there is no trace for Perfetto")
        say(f"trace for https://ui.perfetto.dev: {files.perfetto}")
    if files.page.path is not None:
        from lockyard.page.of_explanation import page_of

        names = ", ".join(dict.fromkeys(each.path.name for each in traces.traces[:3]))
        files.page.write(page_of(found, names))


def _show_profile(path: Path, chosen: Chosen, as_json: bool, files: Files) -> int:
    """Shows the longest waits of a profile that 'lockyard profile' wrote."""
    files.page.check()
    processes = profile_files.read(path)
    if as_json:
        print(json.dumps(long_waits.document(processes, chosen)))  # noqa: T201
    else:
        for line in long_waits.lines(processes, chosen):
            print(line)  # noqa: T201
    if files.perfetto is not None:
        profile_files.write(files.perfetto, perfetto_file.content(processes))
    if files.page.path is not None:
        from lockyard.page.of_profile import page_of

        files.page.write(page_of(processes))
    return ExitStatus.DONE


def _judge(options: ExplainOptions) -> int:
    """Prints the confusion matrix of traces whose causes were injected."""
    from lockyard.explain.document import matrix_document
    from lockyard.explain.truth import RIGHT_SHARE, matrix_of, print_matrix, wrong_lines

    if options.pid is not None or options.lock:
        raise UsageError(
            "--truth judges every cause that was injected into the traces, so it cannot be "
            "limited to one process or lock; drop --pid and --lock"
        )
    if options.page or options.perfetto:
        raise UsageError("--truth draws nothing; drop --page and --perfetto")
    matrix = matrix_of(source.found(options.result, options.file, None), options.longer_than)
    if options.as_json:
        print_document(matrix_document(matrix, RIGHT_SHARE))
    else:
        print_matrix(matrix)
        for line in wrong_lines(matrix, MOST_WRONG_SHOWN):
            say(line)
    return ExitStatus.DONE if matrix.holds else ExitStatus.CHECK_FAILED
