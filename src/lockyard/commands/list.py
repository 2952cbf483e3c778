# SPDX-License-Identifier: Apache-2.0
"""List locks and studies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from lockyard import harness
from lockyard.catalog import Listing, Peer, Peers
from lockyard.cli.arguments import Json
from lockyard.cli.command import command_of, options_class
from lockyard.documents import print_document
from lockyard.errors import ExitStatus
from lockyard.report.console import stdout_console, titled_table
from lockyard.report.units import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.catalog import Catalog, Lock


@options_class
class ListOptions:
    peers: Annotated[
        bool,
        typer.Option(
            "--peers",
            help="Only other libraries' locks: which are built in, which are not.",
        ),
    ] = False
    as_json: Json = False


@command_of(
    ListOptions,
    "lockyard list",
    "lockyard list --peers",
    "lockyard list --json | jq -r '.locks[].name'",
)
def command(options: ListOptions) -> int:
    found = harness.catalog()
    if options.peers:
        _list_peers(found, options.as_json)
    else:
        _list_all(found, options.as_json)
    return ExitStatus.DONE


def _list_all(found: Catalog, as_json: bool) -> None:
    if as_json:
        print_document(Listing(found.locks, found.studies))
        return
    console = stdout_console()
    console.print(_locks("locks", found.locks))
    console.print(_locks("worker pools", found.pools))
    console.print(_studies(found))
    if found.parameters:
        console.print(_parameters(found))


def _list_peers(found: Catalog, as_json: bool) -> None:
    """Lists each peer with its library, and how to add the libraries that are missing."""
    locks, pools = found.select_locks(["peers"]), found.select_pools(["peers"])
    if as_json:
        print_document(
            Peers([_peer(lock, found) for lock in locks], [_peer(pool, found) for pool in pools])
        )
        return
    peers = [(each, found.library(each)) for each in (*locks, *pools)]
    table = titled_table("peers")
    for title in ("name", "library", "version"):
        table.add_column(title)
    for lock, library in peers:
        state = library.version or Text("missing", style="red") if library else "the system's"
        table.add_row(Text(lock.name), lock.origin, state)
    console = stdout_console()
    console.print(table)
    for each in found.libraries:
        if each.missing:
            console.print(f"- {each.missing}", markup=False, highlight=False, soft_wrap=True)


def _peer(of: Lock, found: Catalog) -> Peer:
    library = found.library(of)
    return Peer(
        of.name,
        of.origin,
        library.version if library else None,
        library.missing if library else None,
    )


def _locks(title_of_all: str, locks: Sequence[Lock]) -> Table:
    table = Table(title=title_of_all, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for title in ("name", "seed name", "kind", "waits by", "fairness", "bytes", "origin"):
        table.add_column(title, justify="right" if title == "bytes" else "left")
    for lock in locks:
        table.add_row(
            lock.name.replace("[", "\\["),
            lock.seed_name,
            lock.kind,
            lock.waiting,
            lock.fairness,
            MISSING if lock.size_bytes is None else str(lock.size_bytes),
            lock.origin,
        )
    return table


def _studies(found: Catalog) -> Table:
    table = Table(title="studies", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("name")
    table.add_column("what it measures")
    for study in found.studies:
        table.add_row(study.name, study.summary)
    return table


def _parameters(found: Catalog) -> Table:
    table = titled_table("parameters of studies, each an option of 'lockyard measure'")
    for title in ("study", "option", "range", "default", "meaning"):
        table.add_column(title)
    for study in found.studies:
        for each in study.parameters:
            table.add_row(study.name, each.option, each.range, each.default, each.summary)
    return table
