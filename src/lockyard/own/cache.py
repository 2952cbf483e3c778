# SPDX-License-Identifier: Apache-2.0
"""What was built before, by name of a hash of all that went into it.

A file gets its name when it is whole, so whatever ends a build leaves nothing that another one
would take. Folders of builds that were killed are removed by the next.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KEPT = 24  # of the files that were used last
BUILD, MARK = "build.", "mark"


def folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "lockyard" / "own"


def key(parts: Iterable[str | bytes]) -> str:
    """Parts that differ in where one ends and the next begins have different keys."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()[:32]


def find(name: str) -> Path | None:
    """Counts as a use."""
    path = folder() / name
    try:
        os.utime(path)
    except OSError:
        return None
    return path


def keep(built: Path, name: str) -> Path:
    """Nobody ever sees half of it, not even after the machine has died."""
    with built.open("rb") as file:
        os.fsync(file.fileno())
    path = folder() / name
    built.replace(path)
    return path


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder beside the cache's files, which is gone afterwards."""
    where = folder()
    try:
        where.mkdir(parents=True, exist_ok=True)
        with _alone(where):
            place = Path(tempfile.mkdtemp(prefix=BUILD, dir=where))
            mark = (place / MARK).open("w")
            fcntl.flock(mark, fcntl.LOCK_EX)
    except OSError as error:
        raise MissingCapabilityError(
            f"cannot write to {where}: {error.strerror}, so --lock cannot compile anything; name "
            "another folder by XDG_CACHE_HOME"
        ) from None
    with mark:
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def tidy(used: Iterable[Path]) -> None:
    """Removes what dead builds left and what was not used for longest."""
    held = set(used)
    with _alone(folder()):
        entries = list(folder().iterdir())
        for entry in entries:
            if entry.name.startswith(BUILD) and is_dead(entry):
                shutil.rmtree(entry, ignore_errors=True)
    files = [entry for entry in entries if entry not in held and entry.is_file()]
    with contextlib.suppress(OSError):  # another lockyard tidies too
        for file in sorted(files, key=lambda each: each.stat().st_mtime, reverse=True)[KEPT:]:
            file.unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(where: Path) -> Iterator[None]:
    """No other lockyard makes or removes a folder there: a new one has its mark before anybody
    looks for it."""
    place = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def is_dead(build: Path) -> bool:
    """The kernel gives a mark free when whoever holds it ends, however that happens."""
    try:
        with (build / MARK).open() as mark:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
