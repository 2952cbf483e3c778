# SPDX-License-Identifier: Apache-2.0
"""The command line: assembles the commands, one for each module of `lockyard.commands`. Only main
prints errors and sets the exit status.

A command's module is imported when the command is used, so that --help and completion stay quick.
"""

from __future__ import annotations

import ast
import errno
import os
import sys
from contextlib import contextmanager
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer
from typer.core import TyperGroup

from lockyard import commands
from lockyard.cli.command import CONTEXT_SETTINGS, help_text
from lockyard.errors import ExitStatus, LockyardError, OutputClosedError

# The file system or the quota of an output is full, or its device fails.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

if TYPE_CHECKING:
    from collections.abc import Iterator


class Commands(TyperGroup):
    """The modules of `lockyard.commands`, by the names of their commands: `try_` has `try`."""

    _only_names = False

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_modules())

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _modules().get(cmd_name)
        if module is None:
            return None
        if self._only_names:
            return click.Command(cmd_name, help=_help(module))
        found: click.Command = import_module(module).command
        found.name = cmd_name
        return found

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with self._without_importing():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        with self._without_importing():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _without_importing(self) -> Iterator[None]:
        self._only_names = True
        try:
            yield
        finally:
            self._only_names = False


def _modules() -> dict[str, str]:
    found = iter_modules(commands.__path__, f"{commands.__name__}.")
    return {each.name.rpartition(".")[2].rstrip("_"): each.name for each in found}


def _help(module: str) -> str:
    """Reads the docstring of a module, which is its command's help."""
    path = os.path.join(commands.__path__[0], f"{module.rpartition('.')[2]}.py")  # noqa: PTH118
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - no pathlib for --help
        return help_text(ast.get_docstring(ast.parse(file.read())))


app = typer.Typer(
    name="lockyard",
    cls=Commands,
    help="Measure locks on this machine, and check them.",
    epilog="Exit status: 0 done; 2 bad usage or input; 3 a capability is missing; 4 a check "
    "failed; 5 inconclusive; 130 interrupted; 141 standard output was closed.",
    no_args_is_help=True,
    context_settings=CONTEXT_SETTINGS,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"lockyard {version('lockyard')}")
        raise typer.Exit


@app.callback()
def _lockyard(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


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
    except OSError as error:
        if error.filename is not None or error.errno not in NO_ROOM:
            raise
        print(  # noqa: T201
            f"lockyard: the output cannot be written ({error.strerror}), so it is cut short; let "
            "it go to a file system that has room",
            file=sys.stderr,
        )
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitStatus.OUTPUT_CLOSED)
    except KeyboardInterrupt:
        sys.exit(ExitStatus.INTERRUPTED)
