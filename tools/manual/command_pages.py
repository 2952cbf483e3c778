# SPDX-License-Identifier: Apache-2.0
"""The pages of the commands, and the man page, from the command line itself.

`python tools/manual/command_pages.py` writes docs/man/lockyard.1; `--check` only says whether that
file is up to date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import typer.main

from lockyard.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

MAN_PAGE = Path(__file__).parents[2] / "docs" / "man" / "lockyard.1"
SEPARATOR = "  ·  "


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    group = typer.main.get_command(app)
    if not isinstance(group, click.Group):
        raise TypeError("lockyard has no commands")
    context = click.Context(group, info_name="lockyard")
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if found is not None:
            yield name, found, click.Context(found, info_name=name, parent=context)


def pages() -> dict[str, str]:
    """Returns a page of Markdown for each command, and one that lists all, by their path."""
    found = list(commands())
    index = ["# Commands", "", "| command | what it does |", "|---|---|"]
    index += [f"| [`{name}`]({name}.md) | {_cell(_summary(each))} |" for name, each, _ in found]
    return {
        "commands/index.md": "\n".join([*index, ""]),
        **{
            f"commands/{name}.md": "\n".join(_page(name, command, context))
            for name, command, context in found
        },
    }


def _page(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    yield from (f"# lockyard {name}", "", _paragraphs(command.help), "")
    yield from ("```text", _usage(command, context), "```", "")
    records = _records(command, context)
    if records:
        yield from ("| option | meaning |", "|---|---|")
        yield from (f"| `{_cell(option)}` | {_cell(meaning)} |" for option, meaning in records)
        yield ""
    examples, others = _epilog(command)
    if examples:
        yield from ("## Examples", "", "```sh", *examples, "```", "")
    yield from others


def man_page() -> str:
    """Returns the page in the format of man(7)."""
    group = typer.main.get_command(app)
    lines = [
        '.TH LOCKYARD 1 "" "lockyard" "User Commands"',
        ".SH NAME",
        f"lockyard \\- {_roff(_first_sentence(group.help))}",
        ".SH SYNOPSIS",
        ".B lockyard",
        "COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH COMMANDS",
    ]
    for _, command, context in commands():
        lines += [f".SS {_roff(_usage(command, context))}", _roff(_paragraphs(command.help))]
        for option, meaning in _records(command, context):
            lines += [".TP", f".B {_roff(option)}", _roff(meaning)]
        examples, others = _epilog(command)
        lines += [line for text in others for line in (".PP", _roff(text))]
        if examples:
            lines += [".PP", "Examples:", ".nf", *map(_roff, examples), ".fi"]
    lines += [".SH EXIT STATUS", _roff((group.epilog or "").removeprefix("Exit status: "))]
    return "\n".join(lines) + "\n"


def _usage(command: click.Command, context: click.Context) -> str:
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _records(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    found = (parameter.get_help_record(context) for parameter in command.get_params(context))
    return [(option, " ".join(meaning.split())) for option, meaning in filter(None, found)]


def _epilog(command: click.Command) -> tuple[list[str], list[str]]:
    """Returns the examples, and what else stands below the options."""
    text = " ".join((command.epilog or "").split("\n"))
    parts = [part.strip() for part in text.removeprefix("Examples:").split(SEPARATOR)]
    examples = [part for part in parts if part.startswith("lockyard")]
    return examples, [part for part in parts if part and part not in examples]


def _summary(command: click.Command) -> str:
    return _first_sentence(command.help)


def _first_sentence(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def _paragraphs(text: str | None) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def _cell(text: str) -> str:
    """Returns the text as a cell of a table, without what would be read as HTML."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", escaped)


def main() -> int:
    made = man_page()
    if "--check" in sys.argv[1:]:
        is_same = MAN_PAGE.is_file() and MAN_PAGE.read_text(encoding="utf-8") == made
        if not is_same:
            print("docs/man/lockyard.1 is out of date; run python tools/manual/command_pages.py")
        return 0 if is_same else 1
    MAN_PAGE.parent.mkdir(parents=True, exist_ok=True)
    MAN_PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
