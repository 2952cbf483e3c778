# SPDX-License-Identifier: Apache-2.0
"""Parses and checks the options of user locks."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

# The characters of a type, which becomes a line of a program.
TYPE_TEXT = re.compile(r"[\w:<>,()*&\[\] .'+-]+")
HEADER_TEXT = re.compile(r'[^"\\\x00-\x1f\x7f]+')
# Flags that lockyard sets itself, and flags that make objects incompatible with the harness's.
SAID_BY_LOCKYARD = ("-c", "-E", "-S", "-o", "-x", "-M", "-MM", "-fsyntax-only")
OTHER_LAYOUT = ("-D_GLIBCXX_DEBUG", "-D_GLIBCXX_USE_CXX11_ABI=", "-fsanitize=", "-m32", "-mx32")


@dataclass(frozen=True)
class UserLock:
    header: str  # as it was given
    type_name: str  # the same

    def __str__(self) -> str:
        return f"--lock {self.header}:{self.type_name}"


@dataclass(frozen=True)
class UserLocks:
    """All user locks of one command, which are compiled together."""

    locks: tuple[UserLock, ...]
    include: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def names(self) -> list[str]:
        return [lock.type_name for lock in self.locks]

    def __str__(self) -> str:
        return " ".join(map(str, self.locks))


def user_locks_of(locks: Sequence[str], include: Sequence[str], flags: str) -> UserLocks | None:
    """Returns the user locks, or None if no lock was named."""
    if not locks:
        for option, value in (("--include", include), ("--flags", flags)):
            if value:
                raise UsageError(
                    f"{option}: applies only to a user lock; name one, as in --lock "
                    f"my/lock.hpp:my::lock, or drop {option}"
                )
        return None
    found = UserLocks(
        tuple(dict.fromkeys(map(_lock, locks))), tuple(map(_folder, include)), _flags(flags)
    )
    twice = [name for name in found.names if found.names.count(name) > 1]
    if twice:
        raise UsageError(
            f"--lock {twice[0]}: is named from two headers, but a program can have only one class "
            "of that name; rename one of them, put it into a namespace, or measure them one after "
            "the other"
        )
    return found


def _lock(text: str) -> UserLock:
    header, colon, type_name = text.partition(":")
    type_name = type_name.strip()
    if not (colon and TYPE_TEXT.fullmatch(type_name) and HEADER_TEXT.fullmatch(header)):
        raise UsageError(
            f"--lock {text}: not HEADER:TYPE; name both, as in --lock my/lock.hpp:my::lock"
        )
    _check_header(Path(header), text)
    return UserLock(header, type_name)


def _check_header(path: Path, text: str) -> None:
    try:
        with path.open("rb") as file:
            file.read(1)
    except FileNotFoundError:
        raise UsageError(
            f"--lock {text}: there is no file {path} (searched from {Path.cwd()}), so nothing was "
            "measured; correct the path"
        ) from None
    except OSError as error:
        raise UsageError(
            f"--lock {text}: {path} cannot be read ({error.strerror}), so nothing was measured; "
            "name a readable header"
        ) from None


def _folder(text: str) -> str:
    if not Path(text).is_dir():
        raise UsageError(
            f"--include {text}: no such folder, so nothing was measured; correct the path"
        )
    return text


def _flags(text: str) -> tuple[str, ...]:
    try:
        flags = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(
            f"--flags {text}: cannot be split into words ({error}); correct its quotes"
        ) from None
    for flag in flags:
        if flag in SAID_BY_LOCKYARD:
            raise UsageError(f"--flags {flag}: lockyard sets this flag itself; drop it")
        if flag.startswith(OTHER_LAYOUT):
            raise UsageError(
                f"--flags {flag}: makes objects that are incompatible with the harness's, so "
                "figures would mean nothing; drop it"
            )
    return flags
