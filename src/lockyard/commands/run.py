# SPDX-License-Identifier: Apache-2.0
"""Run a program with a lock of the catalogue in place of all its mutexes, or of some of them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lockyard.cli.arguments import Program
from lockyard.cli.command import command_of, option, options_class
from lockyard.field_kit import preload, sites

if TYPE_CHECKING:
    from lockyard.field_kit.preload import Reported


@options_class
class RunOptions:
    program: Program = None
    mutex: Annotated[
        str,
        option(
            "NAME",
            "The lock that replaces the program's mutexes; glibc replaces none.",
            shown=False,
        ),
    ] = "mutex"
    condition: Annotated[
        str,
        option(
            "NAME",
            "condition_variable or condition_variable_any.",
            shown="condition_variable with mutex, condition_variable_any with other locks",
        ),
    ] = ""
    only: Annotated[
        str,
        option(
            "SITE",
            "Swap only the mutex that is this variable, or the mutexes that functions of this "
            "name, class or namespace initialise or acquire first.",
            shown="all mutexes",
        ),
    ] = ""
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing about the run.")] = (
        False
    )


@command_of(
    RunOptions,
    "lockyard run --mutex mutex -- server --port 8080",
    "lockyard run --mutex fair_mutex -q -- db_bench --benchmarks=readrandom",
    "lockyard run --only LRUCacheShard -- db_bench",
    starts_program=True,
    exit_status="Exit status: the program's; 126 if it cannot be executed; 127 if it was not found",
)
def command(options: RunOptions) -> int:
    """Returns the program's exit status. A signal that ends the program ends this process, too."""
    settings = dict(preload.settings_of(options.condition))
    program = options.program or ()
    if options.only and program:
        settings["LOCKYARD_ONLY"] = sites.setting(program[0], options.only)
    launch = preload.Launch(program, options.mutex, settings)
    with preload.report_file() as reports:
        status = preload.run_as_one(launch, reports)
        reported = preload.read_reports(reports)
    launch.check(reported)
    if not options.quiet:
        found = summary(options.mutex, options.only, reported)
        print(f"lockyard: {found}", file=sys.stderr)  # noqa: T201
    return preload.end_as(status)


def summary(lock: str, only: str, reported: Reported) -> str:
    count = len(reported.processes)
    parts = [f"{lock} in {count} process{'es' if count != 1 else ''}"]
    if only and reported.chosen:
        parts.append(f"mutexes of {only}: {reported.chosen}")
    elif only:
        parts.append(
            f"no mutex was swapped, because {only} is not a mutex and neither "
            "initialises one nor acquires one first"
        )
    passed = ", ".join(
        f"{reported.passed[kind]} {kind}" for kind in preload.PASSED if reported.passed[kind]
    )
    if passed:
        parts.append(f"mutexes that stayed glibc's: {passed}")
    parts.append(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors")
    return "; ".join(parts)
