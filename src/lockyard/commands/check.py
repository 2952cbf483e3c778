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
from lockyard.cli.command import Parsed, command_of, options_class
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
        bool, typer.Option("--litmus", help="Check the checker: what the memory model allows.")
    ] = False
    mutants: Annotated[
        bool,
        typer.Option(
            "--mutants",
            help="Check hand-written faults, and every order weakened; each must be killed.",
        ),
    ] = False
    bench: Annotated[bool, typer.Option("--bench", help="Measure the speed of the checker.")] = (
        False
    )
    replay: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Show the execution that a failed check of LOCK printed.",
            show_default=False,
        ),
    ] = ""
    gdb: Annotated[
        bool,
        typer.Option(
            "--gdb",
            help="With --replay: run the execution of your lock or client under gdb, step by step.",
        ),
    ] = False
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of threads, up to 5.",
            show_default="several client sizes",
            click_type=Parsed(parse.threads),
        ),
    ] = None
    acquisitions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Acquisitions of each thread.",
            show_default="several client sizes",
            click_type=Parsed(parse.acquisitions),
        ),
    ] = None
    bound: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Search with at most 1 preemption, then 2, and so on up to N.",
            show_default="any number",
            click_type=Parsed(parse.bound),
            rich_help_panel=SEARCH,
        ),
    ] = None
    seconds: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Time limit of each check; a check not done by then is inconclusive.",
            show_default="none; 10 for pct and random",
            click_type=Parsed(parse.seconds),
            rich_help_panel=SEARCH,
        ),
    ] = None
    search: Annotated[
        str,
        typer.Option(
            metavar="exhaustive|pct|random",
            help="How to search: every execution, or samples.",
            click_type=Parsed(parse.search),
            rich_help_panel=SEARCH,
        ),
    ] = "exhaustive"
    memory: Annotated[
        int,
        typer.Option(
            metavar="SIZE",
            help="Memory for known states, as in 512M, 2G.",
            show_default="2G",
            click_type=Parsed(parse.memory_bytes),
            rich_help_panel=SEARCH,
        ),
    ] = 2 << 30
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of threads that search.",
            show_default="one for each processor",
            click_type=Parsed(parse.workers),
            rich_help_panel=SEARCH,
        ),
    ] = None
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache",
            help="Explore again from states that were explored before.",
            rich_help_panel=SEARCH,
        ),
    ] = False
    lock: Annotated[
        list[str] | None,
        typer.Option(
            "--lock",
            metavar="HEADER:TYPE",
            help="Compile your own lock type, written with std::atomic, and check it, as in "
            "my/lock.hpp:my::lock; repeat the option for more locks.",
            autocompletion=completions.headers,
            show_default=False,
            rich_help_panel=PANEL,
        ),
    ] = None
    client: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Compile a client of your own, the class `client` in this C++ file, and check it.",
            show_default=False,
            rich_help_panel=PANEL,
        ),
    ] = ""
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
            size=parse.size(self.threads, self.acquisitions),
            user_code=parse.user_code(self.lock or (), self.client, self.include or (), self.flags),
        )

    @property
    def settings(self) -> Settings:
        return Settings(
            search=self.search,
            bound=self.bound,
            seconds=self.seconds,
            memory_bytes=self.memory,
            workers=self.workers or parse.default_workers(),
            cache=not self.no_cache,
        )


@command_of(
    CheckOptions,
    "lockyard check futex_mutex",
    "lockyard check --all",
    "lockyard check ticket_spinlock --threads 4 --bound 3",
    "lockyard check futex_mutex --threads 3 --acquisitions 2 --search pct --seconds 60",
    "lockyard check --all --mutants",
    "lockyard check --lock my.hpp:my::lock --replay my::lock:2x1:0012 --gdb",
)
def command(options: CheckOptions) -> int:
    return run(options.choice, options.settings, options.as_json, WantedPage(options.page))
