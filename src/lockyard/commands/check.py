# SPDX-License-Identifier: Apache-2.0
"""Check locks in every execution that weak memory allows."""

from __future__ import annotations

from typing import Annotated

import typer

from lockyard.checks import choice as parse
from lockyard.checks.choice import Choice
from lockyard.checks.result import Settings
from lockyard.checks.run import run
from lockyard.cli import completions
from lockyard.cli.arguments import Json
from lockyard.cli.command import command_of, option, options_class
from lockyard.page.arguments import PageFile
from lockyard.page.wanted import WantedPage
from lockyard.user_locks.arguments import PANEL, Flags, Include

SEARCH = "Search"


@options_class
class CheckOptions:
    locks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LOCK]...",
            help="The locks and clients to check, by name.",
            autocompletion=completions.checked,
            show_default=False,
        ),
    ] = None
    every: Annotated[bool, typer.Option("--all", help="Check every lock, and every client.")] = (
        False
    )
    litmus: Annotated[
        bool, typer.Option("--litmus", help="Check the checker's memory model with litmus tests.")
    ] = False
    mutants: Annotated[
        bool,
        typer.Option(
            "--mutants",
            help="Check seeded faults, each order weakened, each wake dropped; all must be killed.",
        ),
    ] = False
    bench: Annotated[bool, typer.Option("--bench", help="Measure the speed of the checker.")] = (
        False
    )
    replay: Annotated[
        str,
        option(
            "TEXT", "Show the execution again that a failed check of LOCK printed.", shown=False
        ),
    ] = ""
    gdb: Annotated[
        bool,
        typer.Option(
            "--gdb",
            help="With --replay: run this execution of your lock or client in gdb, step by step.",
        ),
    ] = False
    threads: Annotated[
        int | None,
        option("N", "Number of threads, up to 9.", parse.threads, shown="several client sizes"),
    ] = None
    acquisitions: Annotated[
        int | None,
        option(
            "N", "Acquisitions of each thread.", parse.acquisitions, shown="several client sizes"
        ),
    ] = None
    bound: Annotated[
        int | None,
        option(
            "N|any",
            "Search with at most 1 preemption, then 2, and so on up to N; any: with any number, "
            "and without the client's own bounds on time-outs and short spins.",
            parse.bound,
            shown="the client's own, or any",
            panel=SEARCH,
        ),
    ] = None
    seconds: Annotated[
        float | None,
        option(
            "S",
            "Time limit of each check; a check not done by then is inconclusive.",
            parse.seconds,
            shown="none; 10 for pct and random",
            panel=SEARCH,
        ),
    ] = None
    search: Annotated[
        str,
        option(
            "exhaustive|pct|random",
            "How to search: every execution, or samples.",
            parse.search,
            panel=SEARCH,
        ),
    ] = "exhaustive"
    memory: Annotated[
        int,
        option(
            "SIZE",
            "Memory for known states, as in 512M, 2G.",
            parse.memory_bytes,
            shown="2G",
            panel=SEARCH,
        ),
    ] = 2 << 30
    workers: Annotated[
        int | None,
        option(
            "N",
            "Number of workers that search.",
            parse.workers,
            shown="one for each processor; with --cluster one for each check",
            panel=SEARCH,
        ),
    ] = None
    cluster: Annotated[
        str,
        option(
            "tcp://HOST:PORT",
            "The scheduler of a Dask distributed cluster whose workers do the checks; needs "
            "lockyard[cluster].",
            shown="this machine alone",
            panel=SEARCH,
        ),
    ] = ""
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache",
            help="Explore equal states again each time they are reached.",
            rich_help_panel=SEARCH,
        ),
    ] = False
    lock: Annotated[
        list[str] | None,
        option(
            "HEADER:TYPE",
            "Compile your own lock type, written with std::atomic, and check it, as in "
            "my/lock.hpp:my::lock; repeat the option for more locks.",
            shown=False,
            complete=completions.headers,
            panel=PANEL,
        ),
    ] = None
    client: Annotated[
        list[str] | None,
        option(
            "FILE",
            "Compile a client of your own, the class `client` in this C++ file, and check it.",
            shown=False,
            panel=PANEL,
        ),
    ] = None
    include: Include = None
    flags: Flags = ""
    page: PageFile = None
    as_json: Json = False

    @property
    def choice(self) -> Choice:
        return Choice(
            names=tuple(self.locks or ()),
            all=self.every,
            litmus=self.litmus,
            mutants=self.mutants,
            bench=self.bench,
            replay=self.replay,
            gdb=self.gdb,
            cluster=self.cluster,
            size=parse.size(self.threads, self.acquisitions),
            user_code=parse.user_code(
                self.lock or (), self.client or (), self.include or (), self.flags
            ),
        )

    @property
    def settings(self) -> Settings:
        return Settings(
            search=self.search,
            bound=self.bound,
            seconds=self.seconds,
            memory_bytes=self.memory,
            workers=self.workers or (1 if self.cluster else parse.default_workers()),
            cache=not self.no_cache,
        )


@command_of(
    CheckOptions,
    "lockyard check futex_mutex",
    "lockyard check --all",
    "lockyard check ticket_spinlock --threads 4 --bound 3",
    "lockyard check futex_mutex --threads 3 --acquisitions 2 --search pct --seconds 60",
    "lockyard check --all --mutants",
    "lockyard check --all --mutants --cluster tcp://10.0.0.1:8786",
    "lockyard check --lock my.hpp:my::lock --replay my::lock:2x1:0012 --gdb",
)
def command(options: CheckOptions) -> int:
    return run(options.choice, options.settings, options.as_json, WantedPage(options.page))
