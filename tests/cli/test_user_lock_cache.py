# SPDX-License-Identifier: Apache-2.0
"""The cache of user locks, while another lockyard tidies it."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from typing import TYPE_CHECKING, Any

import pytest

from lockyard.user_locks import cache

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache.folder().mkdir(parents=True)
    return cache.folder()


def is_free(where: Path) -> bool:
    """Tells whether another lockyard could make or remove folders there now."""
    place = os.open(where, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(place)
    return True


def test_folders_are_made_and_inspected_under_a_lock(
    where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without a held mark must not be taken for a dead build's."""
    alone: list[bool] = []

    def make(**arguments: Any) -> str:
        alone.append(not is_free(where))
        return made(**arguments)

    def look(build: Path) -> bool:
        alone.append(not is_free(where))
        return is_dead(build)

    made: Callable[..., str] = tempfile.mkdtemp
    is_dead = cache.is_dead
    monkeypatch.setattr(tempfile, "mkdtemp", make)
    monkeypatch.setattr(cache, "is_dead", look)
    with cache.workplace() as place:
        assert is_free(where)  # while it compiles, others may go on
        cache.tidy(())
        assert place.exists()
    assert alone == [True, True]
    assert not place.exists()


def test_files_that_another_lockyard_may_be_about_to_start_stay(where: Path) -> None:
    files = [where / f"harness.{number}" for number in range(cache.KEPT + 5)]
    for file in files:
        file.touch()
    cache.tidy(())
    assert all(file.exists() for file in files)
    for file in files[:7]:
        os.utime(file, (0, time.time() - 2 * cache.IN_USE_S))
    cache.tidy(())
    left = [file for file in files if file.exists()]
    assert len(left) == cache.KEPT
    assert set(files[7:]) <= set(left)


def test_a_folder_whose_lockyard_is_gone_goes_too(where: Path) -> None:
    dead = where / f"{cache.BUILD}dead"
    dead.mkdir()
    (dead / cache.MARK).touch()
    cache.tidy(())
    assert not dead.exists()
