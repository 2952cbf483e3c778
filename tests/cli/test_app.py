# SPDX-License-Identifier: Apache-2.0
"""The commands as a whole: which there are, their help, and how their options are parsed."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import click
import pytest
import typer
from click.testing import CliRunner
from typer.main import get_command

from lockyard import commands
from lockyard.cli import app as assembled
from lockyard.cli.command import Parsed, command_of, help_text, options_class
from lockyard.errors import UsageError

FILES = sorted(Path(commands.__path__[0]).glob("[a-z]*.py"))


def test_each_module_is_a_command() -> None:
    shown = CliRunner().invoke(get_command(assembled.app), ["--help"])
    assert shown.exit_code == 0
    for file in FILES:
        assert file.stem.rstrip("_") in shown.stdout


@pytest.mark.parametrize("name", [file.stem for file in FILES])
def test_a_command_has_help_with_examples(name: str) -> None:
    module = import_module(f"lockyard.commands.{name}")
    assert isinstance(module.command, click.Command)
    assert module.command.help == help_text(module.__doc__)
    assert (module.command.epilog or "").startswith(f"Examples:  lockyard {name.rstrip('_')}")
    for each in module.command.params:
        assert isinstance(each, click.Argument) or each.help, each.name  # type: ignore[attr-defined]


def test_help_imports_no_command() -> None:
    """What a command imports would take longer than --help may."""
    code = (
        "import sys; from lockyard.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith('lockyard.commands.') or m == 'numpy'])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.splitlines()[-1] == "[]"


def test_an_unknown_command_is_refused() -> None:
    refused = CliRunner().invoke(get_command(assembled.app), ["chick"])
    assert refused.exit_code == 2
    assert "chick" in refused.output


def _even(option: str, text: str) -> int:
    if not text.isdecimal() or int(text) % 2:
        raise UsageError(f"{option} {text}: not an even number")
    return int(text)


@options_class
class Options:
    number: Annotated[int | None, typer.Option(click_type=Parsed(_even))] = None
    words: Annotated[list[str] | None, typer.Argument()] = None


def made(starts_program: bool) -> tuple[click.Command, list[Options]]:
    seen: list[Options] = []

    @command_of(Options, "lockyard made", starts_program=starts_program)
    def command(options: Options) -> int:
        seen.append(options)
        return 3

    return command, seen


@pytest.mark.parametrize(
    ("starts_program", "number", "words"),
    [(False, 4, ["a", "b"]), (True, None, ["a", "--number", "4", "b"])],
)
def test_a_function_gets_parsed_options_and_gives_the_status(
    starts_program: bool, number: int | None, words: list[str]
) -> None:
    command, seen = made(starts_program)
    ran = CliRunner().invoke(command, ["a", "--number", "4", "b"])
    assert (ran.exit_code, seen) == (3, [Options(number, words)])


def test_a_value_that_its_parser_refuses_never_reaches_the_function() -> None:
    command, seen = made(starts_program=False)
    with pytest.raises(UsageError, match="--number 5: not an even number"):
        command.main(["--number", "5"])
    assert not seen
