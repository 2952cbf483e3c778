# SPDX-License-Identifier: Apache-2.0
"""Scenario files: sweeps in TOML, whose keys are the options of `lockyard measure`.

Each [[sweep]] is read like the equivalent command line, so that each key accepts and refuses what
its option does. docs/sweeps.md describes the format.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lockyard.measure.request import Sweep

SWEEP = "sweep"
# Keys for the whole measurement; the command line may set them in addition to the file.
WHOLE = ("seed", "out", "against", "lock", "include", "flags")
# Options without a key: they make sense only on the command line.
NO_KEYS = ("help", "scenario", "resume", "json", "dry-run", "yes", "page", "simulated", "charts")


@dataclass(frozen=True)
class _Table:
    """A table of the file: a sweep, or the keys before the first sweep."""

    path: Path
    text: str
    place: int  # 0: before the first sweep
    known: Mapping[str, click.Parameter]  # by the names of the keys
    values: Mapping[str, Any]

    def refuse(self, message: str, key: str | None = None) -> UsageError:
        where = [str(self.path)]
        places = (self.place, 0)  # its own, or the keys before the first sweep
        lines = (_line_of(self.text, place, key) for place in places if key)
        line = next((each for each in lines if each is not None), None)
        if line is not None:
            where.append(f"line {line}")
        elif self.place:
            where.append(f"sweep {self.place}")
        return UsageError(f"{', '.join(where)}: {message}")

    def check_keys(self) -> None:
        for key in self.values:
            if key not in self.known:
                raise self.refuse(_unknown(key, [*self.known, SWEEP]), key)

    def parsed(self, command: click.Command) -> click.Context:
        """Parses the equivalent command line."""
        words = [word for key, value in self.values.items() for word in self._words(key, value)]
        options = [word for word in words if word.startswith("--")]
        studies = [word for word in words if not word.startswith("--")]
        try:
            return command.make_context(command.name, [*options, "--", *studies])
        except click.ClickException as error:
            raise self.refuse(error.format_message()) from None
        except UsageError as error:
            raise self.refuse(str(error)) from None

    def sweep(self, command: click.Command, sweep_of: Callable[[click.Context], Sweep]) -> Sweep:
        context = self.parsed(command)
        try:
            return replace(sweep_of(context), where=f"{self.path}, sweep {self.place}")
        except UsageError as error:
            raise self.refuse(str(error)) from None

    def _words(self, key: str, value: Any) -> Iterator[str]:
        """Yields the words of the equivalent command line."""
        parameter = self.known[key]
        if isinstance(parameter, click.Option) and parameter.is_flag:
            if not isinstance(value, bool):
                raise self.refuse(f"{key}: must be true or false", key)
            yield from [f"--{key}"] if value else []
        elif isinstance(parameter, click.Argument):
            yield from self._list(key, value)
        elif parameter.multiple and isinstance(value, dict):
            for name, values in value.items():
                yield f"--{key}={name}={','.join(self._list(key, values))}"
        elif parameter.multiple:
            yield from (f"--{key}={each}" for each in self._list(key, value))
        else:
            yield f"--{key}={','.join(self._list(key, value))}"

    def _list(self, key: str, value: Any) -> list[str]:
        values = value if isinstance(value, list) else [value]
        if not values:
            raise self.refuse(
                f"{key}: has no value, so the sweep would have 0 cells; give it a value, or remove "
                "the key",
                key,
            )
        return [self._text(key, each) for each in values]

    def _text(self, key: str, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.refuse(
                f"{key}: must be a text or a number as the option --{key} takes it, or a list of "
                "those",
                key,
            )
        if isinstance(value, str) and (value.startswith("-") and self._is_argument(key)):
            raise self.refuse(
                f"{key}: {value} is an option, which has its own key; write it as that key", key
            )
        return str(value)

    def _is_argument(self, key: str) -> bool:
        return isinstance(self.known[key], click.Argument)


@dataclass(frozen=True)
class Scenario:
    """A scenario file, read for the command whose options are its keys."""

    path: Path
    text: str
    command: click.Command
    of_all: Mapping[str, Any]  # the values before the first sweep
    tables: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path, command: click.Command) -> Scenario:
        text = _read(path)
        document = _parsed(path, text)
        tables = _tables_of(path, document)
        of_all = {key: value for key, value in document.items() if key != SWEEP}
        found = cls(path, text, command, of_all, tables)
        found._table(0, of_all).check_keys()
        return found

    def sweeps(self, sweep_of: Callable[[click.Context], Sweep]) -> list[Sweep]:
        """Returns the sweeps; `sweep_of` makes one from its parsed values."""
        shared = {key: value for key, value in self.of_all.items() if key not in WHOLE}
        found = []
        for place, values in enumerate(self.tables, start=1):
            own = self._table(place, values)
            _check_whole(own)
            own.check_keys()
            found.append(self._table(place, {**shared, **values}).sweep(self.command, sweep_of))
        return found

    def whole(self) -> click.Context:
        """Parses the values for the whole measurement."""
        values = {key: value for key, value in self.of_all.items() if key in WHOLE}
        return self._table(0, values).parsed(self.command)

    def _table(self, place: int, values: Mapping[str, Any]) -> _Table:
        parameters = self.command.get_params(click.Context(self.command))
        excluded = (*NO_KEYS, *(WHOLE if place else ()))
        known = {key: each for each in parameters if (key := _key_of(each)) not in excluded}
        return _Table(self.path, self.text, place, known, values)


def _tables_of(path: Path, document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Returns the sweeps; a file without [[sweep]] is one sweep."""
    tables = document.get(SWEEP, [{}])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise UsageError(
            f"{path}: {SWEEP} must be a list of tables; head each table with [[{SWEEP}]]"
        )
    if not tables:
        raise UsageError(
            f"{path}: has no sweep, so there are 0 cells to measure; add one with studies"
        )
    return tables


def _check_whole(table: _Table) -> None:
    for key in WHOLE:
        if key in table.values:
            raise table.refuse(
                f"{key}: applies to the whole measurement; move it before the first [[{SWEEP}]]",
                key,
            )


def _key_of(parameter: click.Parameter) -> str:
    """Returns the name of a parameter on the command line, which is its key."""
    if isinstance(parameter, click.Argument):
        return parameter.name or ""
    return max(parameter.opts, key=len).removeprefix("--")


def _unknown(key: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(key.lower().replace("_", "-"), known, n=1, cutoff=0.5)
    if key in NO_KEYS:
        return f"{key}: belongs on the command line, as --{key}; remove it here"
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{key}: not a key of a scenario; {hint}its keys are the options of 'lockyard measure'"


def _line_of(text: str, place: int, key: str) -> int | None:
    """Returns the line of a key in the sweep with that number, or None if it is not found."""
    wanted = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""")
    of_table = rf"{SWEEP}\s*\.\s*" if place else ""
    header = re.compile(rf"\s*\[+\s*{of_table}{re.escape(key)}\s*[\].]")
    sweep = re.compile(rf"\s*\[\[\s*{SWEEP}\s*\]\]")
    found = []
    at = 0
    for number, line in enumerate(text.splitlines(), start=1):
        at += bool(sweep.match(line))
        is_header = header.match(line) and at >= place
        if is_header or (at == place and wanted.match(line)):
            found.append(number)
    return found[0] if found else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path}: the scenario cannot be read ({error.strerror}); name a readable file"
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: not a text in UTF-8 ({error.reason}); give a scenario in TOML"
        ) from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}; correct it") from None
