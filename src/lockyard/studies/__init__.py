# SPDX-License-Identifier: Apache-2.0
"""The studies, a module each: its tables, the figures by which its locks are compared, and the
published figures next to ours. A module is found by the study's name, and names its presets;
nothing lists them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console, RenderableType

    from lockyard.catalog import Catalog
    from lockyard.report.columns import Compared, Layout
    from lockyard.report.reference import Against
    from lockyard.report.summary import CellSummary


@dataclass(frozen=True)
class Setting:
    """What tables need besides the cells."""

    catalog: Catalog
    against: Against | None
    console: Console
    processors: int | None  # None if the file does not say how many there were


@dataclass(frozen=True)
class Shown:
    """How a study is shown: as a table of locks, or in its own tables."""

    layout: Layout | None = None
    as_published: Layout | None = None
    tables: Callable[[Sequence[CellSummary], Setting], Iterable[RenderableType]] | None = None
    compared: Sequence[Compared] = ()  # the figures of its own tables
    presets: Mapping[str, Shown] = field(default_factory=dict)  # by the names of its presets


@cache
def shown(study: str) -> Shown:
    """Returns an empty description for a study of another version."""
    if study.isidentifier() and find_spec(f"{__name__}.{study}") is not None:
        return _of_module(study)
    modules = (_of_module(each.name) for each in iter_modules(__path__))
    return next((each.presets[study] for each in modules if study in each.presets), Shown())


def _of_module(name: str) -> Shown:
    found: Shown = import_module(f"{__name__}.{name}").SHOWN
    return found


def layout_of(study: str, as_published: bool) -> Layout | None:
    found = shown(study)
    return found.as_published if as_published else found.layout


def own_tables(cells: Sequence[CellSummary], setting: Setting) -> Iterable[RenderableType]:
    """Yields the tables of the studies that have their own kind."""
    for study in dict.fromkeys(cell.study for cell in cells):
        make = shown(study).tables
        if make is not None:
            yield from make([cell for cell in cells if cell.study == study], setting)
