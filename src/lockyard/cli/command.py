# SPDX-License-Identifier: Apache-2.0
"""Makes a command of a class of options and a function that takes one object of this class.

Both are in the command's module, whose docstring is the command's help text. A field of the class
is an option or an argument, declared by its annotation; a value is parsed and checked by its click
type before the function sees it.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, dataclass_transform, get_type_hints

import click
import typer
from typer.core import TyperCommand

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Options = TypeVar("Options")

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}


class Parsed(click.ParamType):
    """The type of an option whose parser takes the option's name and text. The parser returns the
    value, or raises UsageError."""

    def __init__(self, parse: Callable[[str, str], Any], name: str = "text") -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, _ctx: click.Context | None) -> Any:
        if not isinstance(value, str):  # a default, which is a value already
            return value
        return self._parse(option_name(param) if param else "", value)


def option(  # noqa: PLR0913 - an option has this many properties
    metavar: str,
    meaning: str,
    parse: Callable[[str, str], Any] | click.ParamType | None = None,
    *,
    names: Sequence[str] = (),
    shown: str | bool = True,
    complete: Callable[[str], Any] | None = None,
    panel: str | None = None,
) -> Any:
    """Declares an option that has a value. `parse` reads the text; without it, Typer does. Its
    name is the field's unless other names are given. `shown` is the default value in the help."""
    return typer.Option(
        *names,
        metavar=metavar,
        help=meaning,
        click_type=parse if parse is None or isinstance(parse, click.ParamType) else Parsed(parse),
        show_default=shown,
        autocompletion=complete,
        rich_help_panel=panel,
    )


def option_name(param: click.Parameter) -> str:
    """Returns the name of an option as users write it, or of an argument."""
    return max(param.opts, key=len)


@dataclass_transform(frozen_default=True)
def options_class(cls: type[Options]) -> type[Options]:
    """Makes a class with annotated fields the options of a command."""
    return dataclass(frozen=True)(cls)


def command_of(
    of: type[Options],
    *examples: str,
    cls: type[TyperCommand] = TyperCommand,
    starts_program: bool = False,
    exit_status: str = "",
) -> Callable[[Callable[[Options], int]], click.Command]:
    """Decorates the function of a command, which returns the exit status. The arguments of a
    command that starts a program end at the program's name."""

    def build(run: Callable[[Options], int]) -> click.Command:
        def call(**values: Any) -> None:
            raise typer.Exit(run(of(**values)))

        hints = get_type_hints(of, include_extras=True)
        # Options of base classes have panels, and come last.
        parameters = sorted(
            inspect.signature(of).parameters.values(), key=lambda each: _has_panel(hints[each.name])
        )
        typed = [each.replace(annotation=_for_typer(hints[each.name])) for each in parameters]
        call.__signature__ = inspect.Signature(typed)  # type: ignore[attr-defined] # for Typer
        call.__annotations__ = {each.name: each.annotation for each in typed}
        notes = [f"Examples:  {'  ·  '.join(examples)}", exit_status]
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command(
            cls=cls,
            help=help_text(sys.modules[run.__module__].__doc__),
            epilog="  ·  ".join(filter(None, notes)),
            context_settings=CONTEXT_SETTINGS
            | ({"allow_interspersed_args": False} if starts_program else {}),
        )(call)
        return typer.main.get_command(app)

    return build


def _has_panel(hint: Any) -> bool:
    return any(getattr(info, "rich_help_panel", None) for info in hint.__metadata__)


def _for_typer(hint: Any) -> Any:
    """Hides the type of a field that has a click type, which says all that Typer must know."""
    for info in getattr(hint, "__metadata__", ()):
        if getattr(info, "click_type", None) is not None:
            return Annotated[Any, info]
    return hint


def help_text(docstring: str | None) -> str:
    """Returns a module's docstring with each paragraph on one line, which the terminal wraps."""
    paragraphs = (docstring or "").strip().split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


def check_alone(option: str, allowed: Sequence[str]) -> None:
    """Raises UsageError if another option was given next to one that names a file with complete
    settings. The names are names of fields."""
    context = click.get_current_context()
    given = [
        name
        for name in context.params
        if name not in allowed
        and getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    ]
    if given:
        listed = ", ".join(key.strip("_").replace("_", "-") for key in given)
        raise UsageError(
            f"{option}: the file already says what is measured and how, so these options would "
            f"have no effect; drop {listed}"
        )
