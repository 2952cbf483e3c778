# SPDX-License-Identifier: Apache-2.0
"""Show what the record files of a folder say together, and which figures drift."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import Parsed, command_of, options_class
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, UsageError
from lockyard.history.cache import cached
from lockyard.history.document import document
from lockyard.history.query import Wanted, series_of, since
from lockyard.measure.session import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _names(_option: str, text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _moment(_option: str, text: str) -> datetime:
    return since(text, datetime.now(UTC))


@options_class
class HistoryOptions:
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A folder with record files, *.jsonl or *.jsonl.gz, also in its subfolders.",
            show_default=False,
            click_type=FILE,
        ),
    ]
    machine: Annotated[
        Any,
        typer.Option(
            "--machine",
            metavar="NAME,…",
            help="Only machines whose processor has this in its name.",
            show_default="all",
            click_type=Parsed(_names),
        ),
    ] = ()
    kernel: Annotated[
        Any,
        typer.Option(
            "--kernel",
            metavar="VERSION,…",
            help="Only kernels whose version begins so.",
            show_default="all",
            click_type=Parsed(_names),
        ),
    ] = ()
    lock: Annotated[
        Any,
        typer.Option(
            "--lock",
            metavar="NAME,…",
            help="Only these locks.",
            show_default="all",
            autocompletion=completions.references,
            click_type=Parsed(_names),
        ),
    ] = ()
    study: Annotated[
        Any,
        typer.Option(
            "--study",
            metavar="NAME,…",
            help="Only these studies.",
            show_default="all",
            autocompletion=completions.studies_listed,
            click_type=Parsed(_names),
        ),
    ] = ()
    figure: Annotated[
        Any,
        typer.Option(
            "--figure",
            metavar="NAME,…",
            help="Only these figures, as the table names them: rate, p99.9, longest.",
            show_default="all",
            click_type=Parsed(_names),
        ),
    ] = ()
    since: Annotated[
        Any,
        typer.Option(
            "--since",
            metavar="DATE|30d|6w",
            help="Only files from that day on.",
            show_default="all",
            click_type=Parsed(_moment),
        ),
    ] = None
    plot: Annotated[bool, typer.Option("--plot", help="Draw each series, a bar for each file.")] = (
        False
    )
    as_json: Json = False


@command_of(
    HistoryOptions,
    "lockyard history results/",
    "lockyard history results/ --lock mutex --study wait --since 90d --plot",
    "lockyard history results/ --json | jq '.series[] | select(.drifts)'",
)
def command(options: HistoryOptions) -> int:
    wanted = Wanted(
        options.machine,
        options.kernel,
        options.lock,
        options.study,
        options.figure,
        options.since,
    )
    with _shown_reading() as on_file:
        cache = cached(options.folder, on_file)
    for warning in cache.warnings:
        say(warning)
    if not cache.files:
        raise UsageError(
            f"{options.folder}: no valid run in {cache.records} record files, so it has no "
            "history; measure with --out"
        )
    found = series_of(cache.files, wanted)
    if options.as_json:
        print_document(document(found))
    else:
        from lockyard.history.text import print_history

        print_history(options.folder, cache, found, options.plot)
    return ExitStatus.DONE


@contextmanager
def _shown_reading() -> Iterator[Callable[[Path], None]]:
    """Names on a terminal the file that is read into the cache."""
    if not sys.stderr.isatty():
        yield lambda _path: None
        return
    from rich.console import Console

    with Console(stderr=True).status("looking for new records") as status:
        yield lambda path: status.update(f"reading {path}")
