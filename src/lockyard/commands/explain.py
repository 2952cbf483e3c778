# SPDX-License-Identifier: Apache-2.0
"""Show where each thread was during the longest stalls, and what caused each lock's idle time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import Parsed, command_of, options_class
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, UsageError
from lockyard.explain import source
from lockyard.explain.session import Wanted, explained
from lockyard.field_kit import long_waits, profile_files
from lockyard.field_kit.long_waits import Chosen
from lockyard.measure.session import say

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
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", metavar="TRACE", help="A trace that a program wrote.", click_type=FILE
        ),
    ] = None
    pid: Annotated[
        int | None,
        typer.Option("--pid", metavar="PID", help="A running program that traces its locks."),
    ] = None
    lock: Annotated[
        Sequence[str],
        typer.Option(
            "--lock",
            metavar="NAME,…",
            help="Explain only these locks.",
            show_default="all",
            click_type=Parsed(partial(parse.names, known="names of locks")),
            autocompletion=completions.locks,
        ),
    ] = ()
    top: Annotated[
        int, typer.Option(metavar="N", min=0, help="How many of the longest stalls to draw.")
    ] = 3
    longer_than: Annotated[
        float,
        typer.Option(
            metavar="TIME",
            help="The shortest wait that is a stall, as in 50us, 1ms.",
            show_default="10us",
            click_type=Parsed(parse.duration_ns),
        ),
    ] = 10e3
    truth: Annotated[
        bool,
        typer.Option(
            "--truth", help="Compare with the injected causes, and print the confusion matrix."
        ),
    ] = False
    as_json: Json = False


@command_of(
    ExplainOptions,
    "lockyard explain records.jsonl",
    "lockyard explain records.jsonl --lock ticket_spinlock --top 5",
    "lockyard explain --pid 4711 --longer-than 1ms",
    "lockyard explain --file /dev/shm/my.trace --json | jq '.stalls[].cause'",
    "lockyard explain --truth injected/",
)
def command(options: ExplainOptions) -> int:
    if options.truth:
        return _judge(options)
    if options.result is not None and profile_files.is_profile(options.result):
        chosen = Chosen(tuple(options.lock), options.top, options.longer_than)
        return _show_profile(options.result, chosen, options.as_json)
    wanted = Wanted(tuple(options.lock), options.top, options.longer_than)
    found = explained(source.found(options.result, options.file, options.pid), wanted)
    if options.as_json:
        from lockyard.explain.document import document

        print_document(document(found))
        return ExitStatus.DONE
    for warning in found.warnings:
        say(warning)
    from lockyard.explain.text import print_explained

    print_explained(found)
    return ExitStatus.DONE


def _show_profile(path: Path, chosen: Chosen, as_json: bool) -> int:
    """Shows the longest waits of a profile that 'lockyard profile' wrote."""
    processes = profile_files.read(path)
    if as_json:
        print(json.dumps(long_waits.document(processes, chosen)))  # noqa: T201
        return ExitStatus.DONE
    for line in long_waits.lines(processes, chosen):
        print(line)  # noqa: T201
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
    matrix = matrix_of(source.found(options.result, options.file, None), options.longer_than)
    if options.as_json:
        print_document(matrix_document(matrix, RIGHT_SHARE))
    else:
        print_matrix(matrix)
        for line in wrong_lines(matrix, MOST_WRONG_SHOWN):
            say(line)
    return ExitStatus.DONE if matrix.holds else ExitStatus.CHECK_FAILED
