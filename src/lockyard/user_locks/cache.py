# SPDX-License-Identifier: Apache-2.0
"""Earlier builds, each named by a hash of everything that went into it.

A file gets its name when it is complete, so an interrupted build leaves nothing that another build
would use. The folders of killed builds are removed by the next build.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KEPT = 24  # most recently used files
# Another lockyard may still be about to start a file that was used within this time.
IN_USE_S = 3600.0
BUILD, MARK = "build.", "mark"


def folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "lockyard" / "user_locks"


def key(parts: Iterable[str | bytes]) -> str:
    """Hashes the parts, with their lengths, so that different divisions have different keys."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()[:32]


def find(name: str) -> Path | None:
    """Returns the file of that name, or None, and counts as a use of it."""
    path = folder() / name
    try:
        os.utime(path)
    except OSError:
        return None
    return path


def keep(built: Path, name: str) -> Path:
    """Moves a complete file into the cache, so that no reader sees a part, even after a crash."""
    with built.open("rb") as file:
        os.fsync(file.fileno())
    path = folder() / name
    built.replace(path)
    return path


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """Makes a folder next to the cache's files, and removes it afterwards."""
    where = folder()
    try:
        where.mkdir(parents=True, exist_ok=True)
        with _alone(where):
            place = Path(tempfile.mkdtemp(prefix=BUILD, dir=where))
            mark = (place / MARK).open("w")
            fcntl.flock(mark, fcntl.LOCK_EX)
    except OSError as error:
        raise MissingCapabilityError(
            f"{where} is not writable ({error.strerror}), so nothing can be compiled; name "
            "another folder by XDG_CACHE_HOME"
        ) from None
    with mark:
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def tidy(used: Iterable[Path]) -> None:
    """Removes what dead builds left, and the least recently used files that no lockyard needs."""
    held = set(used)
    with _alone(folder()):
        entries = list(folder().iterdir())
        for entry in entries:
            if entry.name.startswith(BUILD) and is_dead(entry):
                shutil.rmtree(entry, ignore_errors=True)
    files = [entry for entry in entries if entry not in held and entry.is_file()]
    with contextlib.suppress(OSError):  # another lockyard may be tidying
        for file in sorted(files, key=lambda each: each.stat().st_mtime, reverse=True)[KEPT:]:
            if time.time() - file.stat().st_mtime > IN_USE_S:
                file.unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(where: Path) -> Iterator[None]:
    """Keeps every other lockyard from making or removing folders there, so that a new folder has
    its mark before another process looks for it."""
    place = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def is_dead(build: Path) -> bool:
    """Tells whether a build has ended: the kernel unlocks its mark when its process ends."""
    try:
        with (build / MARK).open() as mark:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
