# SPDX-License-Identifier: Apache-2.0
"""The options of `lockyard measure` for the parameters of studies, as the harness declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from click.core import ParameterSource
from typer.core import TyperCommand, TyperOption

from lockyard.errors import LockyardError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from lockyard.catalog import Parameter

PANEL = "Parameters of studies"
SET = "set_"  # the option --set, whose values are NAME=VALUE,…
NUMBERS, NAMES = "N,…", "NAME,…"


class ParameterCommand(TyperCommand):
    """A command with an option for each parameter. The values of --set are added."""

    _declared: dict[str, list[tuple[str, Parameter]]] | None = None  # by name, with the studies

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        return [*own[:-1], *map(_option, self._parameters().values()), *own[-1:]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        left = super().parse_args(ctx, args)
        given = {name: ctx.params.pop(_key(name)) for name in self._parameters()}
        texts = [f"{name}={values}" for name, values in given.items() if values is not None]
        if texts:
            ctx.params[SET] = [*(ctx.params[SET] or ()), *texts]
            ctx.set_parameter_source(SET, ParameterSource.COMMANDLINE)
        return left

    def _parameters(self) -> dict[str, list[tuple[str, Parameter]]]:
        if self._declared is None:
            self._declared = _by_name()
        return self._declared


def _by_name() -> dict[str, list[tuple[str, Parameter]]]:
    """Returns each parameter with the studies that have it; none if there is no harness, which
    measuring would report."""
    from lockyard import harness

    found: dict[str, list[tuple[str, Parameter]]] = {}
    try:
        studies = harness.catalog().studies
    except (LockyardError, OSError):
        return found
    for study in studies:
        for each in study.parameters:
            found.setdefault(each.name, []).append((study.name, each))
    return found


def _key(name: str) -> str:
    return f"parameter_{name}"


def _option(declared: Sequence[tuple[str, Parameter]]) -> TyperOption:
    _, first = declared[0]
    known = list(dict.fromkeys(name for _, each in declared for name in _names(each)))

    def complete(_context: click.Context, _words: list[str], incomplete: str) -> list[Any]:
        from lockyard.cli.completions import completed

        return completed(incomplete, known)

    return TyperOption(
        param_decls=[_key(first.name), first.option],
        type=str,
        metavar=NAMES if first.choices else NUMBERS,
        help=_help(declared),
        show_default=False,
        required=False,
        rich_help_panel=PANEL,
        autocompletion=complete,
    )


def _names(of: Parameter) -> list[str]:
    """Returns the groups and the names of its choices."""
    groups = dict.fromkeys(each.group for each in of.choices if each.group)
    return [*groups, *(each.name for each in of.choices)]


def _help(declared: Sequence[tuple[str, Parameter]]) -> str:
    parts = []
    for study, each in declared:
        range_ = (
            ", ".join(_names(each)) if each.choices else f"{each.range}; default {each.default}"
        )
        parts.append(f"{study}: {each.summary} ({range_})")
    return "; ".join(parts) + "."
