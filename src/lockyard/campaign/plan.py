# SPDX-License-Identifier: Apache-2.0
"""Reads a campaign file: a command of lockyard, its options, and the options that are swept."""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Each command, and the option that its positional arguments stand for in a campaign file.
COMMANDS = {"measure": "study", "simulate": "study", "check": "lock"}
# Tasks of this command are about the machine, so every machine does all of them, one at a time.
OF_MACHINES = "measure"
KEYS = ("command", "out", "limit_s", "each", "sweep")
LIMIT_S = 3600.0
MOST_TASKS = 10_000
Value = str | int | float | bool


@dataclass(frozen=True)
class Task:
    command: str
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """Returns a name for files: readable, and different for different arguments."""
        text = json.dumps([self.command, *self.arguments])
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        words = (word for word in self.arguments if not word.startswith("-"))
        readable = "".join(c if c.isalnum() or c in "_-" else "." for c in ".".join(words))
        return f"{readable[:60]}.{digest}"

    def __str__(self) -> str:
        return " ".join(("lockyard", self.command, *self.arguments))


@dataclass(frozen=True)
class Campaign:
    path: Path
    command: str
    tasks: tuple[Task, ...]
    out: Path
    limit_s: float  # for one task

    @property
    def is_of_machines(self) -> bool:
        return self.command == OF_MACHINES


def read(path: Path) -> Campaign:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}), so nothing was started; name a readable "
            "campaign file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: not a TOML file ({error}), so nothing was started; docs/campaigns.md "
            "shows one"
        ) from None
    for key in document:
        if key not in KEYS:
            raise UsageError(
                f"{path}: unknown key '{key}', so nothing was started; the keys are "
                f"{', '.join(KEYS)}"
            )
    command = document.get("command", OF_MACHINES)
    if command not in COMMANDS:
        raise UsageError(
            f"{path}: command = {command!r} cannot be a campaign; choose from {', '.join(COMMANDS)}"
        )
    return Campaign(
        path,
        command,
        _tasks(path, command, document),
        path.parent / str(document.get("out", f"{path.stem}.results")),
        _limit_s(path, document.get("limit_s", LIMIT_S)),
    )


def _limit_s(path: Path, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise UsageError(
            f"{path}: limit_s = {value!r} is not a time in seconds; give a number above 0"
        )
    return float(value)


def _tasks(path: Path, command: str, document: Mapping[str, Any]) -> tuple[Task, ...]:
    each, sweep = _table(path, document, "each"), _table(path, document, "sweep")
    twice = each.keys() & sweep.keys()
    if twice:
        raise UsageError(
            f"{path}: {', '.join(sorted(twice))} is in [each] and in [sweep]; drop one of the two"
        )
    values = {key: value if isinstance(value, list) else [value] for key, value in sweep.items()}
    empty = [key for key, value in values.items() if not value]
    if empty:
        raise UsageError(
            f"{path}: {', '.join(empty)} in [sweep] has no value, so there is no task; give one"
        )
    sizes = 1
    for some in values.values():
        sizes *= len(some)
    if sizes > MOST_TASKS:
        raise UsageError(
            f"{path}: {sizes:,} tasks are more than {MOST_TASKS:,}, the limit; sweep fewer values"
        )
    tasks = (
        Task(command, _arguments(path, command, {**each, **dict(zip(values, chosen, strict=True))}))
        for chosen in itertools.product(*values.values())
    )
    return tuple(dict.fromkeys(tasks))


def _table(path: Path, document: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = document.get(key, {})
    if not isinstance(found, dict):
        raise UsageError(
            f"{path}: [{key}] must be a table of options; write [{key}] on its own line"
        )
    return found


def _arguments(path: Path, command: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the arguments of a command line: first those without an option's name."""
    named: list[str] = []
    positional: list[str] = []
    for key, value in options.items():
        if key == COMMANDS[command]:
            positional += _texts(path, key, value)
        elif value is True:
            named.append(f"--{key}")
        elif value is not False:
            for text in _texts(path, key, value):
                named += [f"--{key}", text]
    return (*positional, *named)


def _texts(path: Path, key: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    for each in values:
        if isinstance(each, bool) or not isinstance(each, str | int | float):
            raise UsageError(
                f"{path}: {key} = {each!r} cannot be the value of an option; give text or a number"
            )
    return [str(each) for each in values]
