# SPDX-License-Identifier: Apache-2.0
"""Combine the record files of a folder, and show which figures drift."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import command_of, option, options_class
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
            help="A folder with record files, *.jsonl or *.jsonl.gz, in it or its subfolders.",
            show_default=False,
            click_type=FILE,
        ),
    ]
    machine: Annotated[
        Any,
        option("NAME,…", "Only machines whose processor name contains this.", _names, shown="all"),
    ] = ()
    kernel: Annotated[
        Any,
        option("VERSION,…", "Only kernels whose version begins with this.", _names, shown="all"),
    ] = ()
    lock: Annotated[
        Any,
        option("NAME,…", "Only these locks.", _names, shown="all", complete=completions.references),
    ] = ()
    study: Annotated[
        Any,
        option(
            "NAME,…",
            "Only these studies.",
            _names,
            shown="all",
            complete=completions.studies_listed,
        ),
    ] = ()
    figure: Annotated[
        Any,
        option(
            "NAME,…",
            "Only these figures, as the table names them: rate, p99.9, longest.",
            _names,
            shown="all",
        ),
    ] = ()
    since: Annotated[
        Any, option("DATE|30d|6w", "Only files from this day on.", _moment, shown="all")
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

    with Console(stderr=True, emoji=False).status("looking for new records") as status:
        yield lambda path: status.update(f"reading {path}")
