# SPDX-License-Identifier: Apache-2.0
"""The command line. Only main prints errors and sets the exit status.

What a command needs is imported when it runs, so that --help and completion stay quick.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from lockyard.errors import ExitStatus, LockyardError, OutputClosedError

app = typer.Typer(
    name="lockyard",
    help="Measure locks on this machine.",
    epilog="Exit status: 0 done; 2 bad usage or input; 3 a capability is missing; 4 a check "
    "failed; 5 inconclusive; 130 interrupted; 141 standard output was closed.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _complete_locks(incomplete: str) -> list[str]:
    """The last of several names, with the names before it."""
    from lockyard import harness
    from lockyard.catalog import GROUPS

    before, comma, last = incomplete.rpartition(",")
    known = [*GROUPS, *(lock.name for lock in harness.catalog().locks)]
    return [f"{before}{comma}{name}" for name in known if name.startswith(last)]


def _complete_studies(incomplete: str) -> list[str]:
    from lockyard import harness

    return [each.name for each in harness.catalog().studies if each.name.startswith(incomplete)]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"lockyard {version('lockyard')}")
        raise typer.Exit


Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the records to FILE.", show_default=False),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Determines order and placement.", show_default="by chance; printed"),
]


@app.callback()
def _lockyard(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


@app.command(
    "list", epilog="Examples:  lockyard list  ·  lockyard list --json | jq -r '.locks[].name'"
)
def list_(as_json: Json = False) -> None:
    """List locks and studies."""
    from lockyard.commands import list as command

    command.run(as_json)


@app.command(
    epilog="Examples:  lockyard measure wait  ·  lockyard measure wait idle --locks seeds "
    "--threads 1,16 --for 2s  ·  lockyard measure uncontended --locks ours --runs 30 "
    "--against std::mutex  ·  lockyard measure wait idle --as-published --threads 16",
)
def measure(  # noqa: PLR0913 - one parameter for each option
    studies: Annotated[
        list[str],
        typer.Argument(
            help="What to measure; 'lockyard list' shows the studies.",
            autocompletion=_complete_studies,
        ),
    ],
    locks: Annotated[
        str,
        typer.Option(
            metavar="seeds|ours|peers|all|NAME,…",
            help="Which locks: groups and names.",
            autocompletion=_complete_locks,
        ),
    ] = "seeds",
    threads: Annotated[
        str,
        typer.Option(
            metavar="N,…",
            help="How many threads, one cell each.",
            show_default="one for each processor",
        ),
    ] = "",
    for_: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="TIME",
            help="Time for each cell, as in 500ms, 2s, 1m.",
            show_default="2s; 30s as published",
        ),
    ] = "",
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Runs of each cell.", show_default="as many as fit the time"
        ),
    ] = None,
    loops: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Lock operations of each thread in a run.",
            show_default="as many as fit the run",
        ),
    ] = None,
    pin: Annotated[
        str,
        typer.Option(metavar="none|compact|spread|CPU,…", help="Which processors threads run on."),
    ] = "none",
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published", help="The loops, runs and definitions of the text, nothing else."
        ),
    ] = False,
    against: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Print ratios to this lock, paired by block, with 95 % intervals.",
            autocompletion=_complete_locks,
        ),
    ] = "",
    seed: Seed = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Measure chosen studies of chosen locks."""
    from lockyard import options
    from lockyard.commands import measure as command
    from lockyard.plan import Request

    request = Request(
        threads=options.threads(threads or str(os.cpu_count() or 1)),
        pinning=options.pinning(pin),
        budget_s=options.duration_s("--for", for_) if for_ else None,
        runs=options.positive("--runs", runs),
        loops=options.positive("--loops", loops),
        as_published=as_published,
    )
    names = options.names(locks)
    status = command.run(studies, names, request, options.seed(seed), out, as_json, against or None)
    raise typer.Exit(status)


@app.command(
    epilog="Examples:  lockyard report  ·  lockyard report --quick  ·  "
    "lockyard report --from records.jsonl",
)
def report(
    quick: Annotated[
        bool, typer.Option("--quick", help="At most 45 seconds instead of 3 minutes.")
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Show the records of FILE instead of measuring.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Measure this machine: the seed locks, ours and the peers, with 1, n-cpu and 16 threads."""
    from lockyard import options
    from lockyard.commands import report as command

    if source is not None:
        raise typer.Exit(command.show(source))
    raise typer.Exit(command.run(quick, options.seed(seed), out, as_json))


@app.command(
    epilog="Examples:  lockyard doctor  ·  lockyard doctor --json | jq '.findings[].remedy'"
)
def doctor(as_json: Json = False) -> None:
    """Say what would spoil measurements here, what is not permitted, and how to mend it."""
    from lockyard.commands import doctor as command

    raise typer.Exit(command.run(as_json))


def main() -> None:
    try:
        app()
    except OutputClosedError as error:
        sys.exit(error.status)
    except LockyardError as error:
        print(f"lockyard: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.status)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitStatus.OUTPUT_CLOSED)
    except KeyboardInterrupt:
        sys.exit(ExitStatus.INTERRUPTED)
