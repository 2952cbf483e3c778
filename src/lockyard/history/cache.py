# SPDX-License-Identifier: Apache-2.0
"""The cache of a folder's records: a Parquet file for each record file, made again when the record
file changes. Where the cache lies, nothing else is kept; it may be removed at any time."""

from __future__ import annotations

import hashlib
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.errors import LockyardError, UsageError
from lockyard.extras import optional
from lockyard.history.figures import reduced
from lockyard.records.tables import EXTRA, write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Changes whenever the rows do, so that old caches are left alone and made anew.
VERSION = 1
# Several processes read new records if there are at least this many bytes.
LARGE_BYTES = 16_000_000
WHY = "a history cannot be queried"


@dataclass
class Cached:
    files: list[Path] = field(default_factory=list)  # Parquet files with at least a row each
    records: int = 0  # record files
    size: int = 0  # bytes of the record files
    made: int = 0  # record files that were read anew
    warnings: list[str] = field(default_factory=list)


def cached(folder: Path, on_file: Callable[[Path], None] = lambda _path: None) -> Cached:
    """Reads new and changed record files of the folder and its subfolders into the cache."""
    optional("duckdb", EXTRA, WHY)
    sources = _sources(folder)
    place = cache_of(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{place}: the cache cannot be written ({error.strerror}), so the records would be "
            "read anew each time; set XDG_CACHE_HOME to a folder that you may write to"
        ) from None
    targets = {place / _name(source): source for source in sources}
    for old in set(place.glob("*.parquet")) - targets.keys():
        old.unlink(missing_ok=True)
    missing = [target for target in targets if not target.exists()]
    found = Cached(records=len(sources), size=sum(each.stat().st_size for each in sources))
    for target, warnings in _made([(targets[each], each) for each in missing], on_file):
        found.warnings += warnings
        found.made += target.exists()
    # A record file without a row leaves an empty file behind, so that it is not read again.
    found.files = [target for target in targets if target.exists() and target.stat().st_size]
    return found


def cache_of(folder: Path) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    return Path(base) / "lockyard" / "history" / name


def _sources(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(
            f"{folder}: not a folder, so it has no history; name a folder with record files "
            "(*.jsonl)"
        )
    found = sorted(path for path in folder.rglob("*.jsonl*") if _is_records(path))
    if not found:
        raise UsageError(
            f"{folder}: no record files (*.jsonl) in it, so it has no history; measure into it "
            "with --out"
        )
    return found


def _is_records(path: Path) -> bool:
    return path.is_file() and path.name.endswith((".jsonl", ".jsonl.gz"))


def _name(source: Path) -> str:
    status = source.stat()
    what = f"{VERSION} {source.resolve()} {status.st_size} {status.st_mtime_ns}"
    return f"{hashlib.sha256(what.encode()).hexdigest()[:32]}.parquet"


def _made(
    wanted: Sequence[tuple[Path, Path]], on_file: Callable[[Path], None]
) -> list[tuple[Path, list[str]]]:
    """Makes Parquet files, in several processes if there is much to read."""
    size = sum(source.stat().st_size for source, _ in wanted)
    workers = min(len(wanted), len(os.sched_getaffinity(0)))
    if size < LARGE_BYTES or workers < 2:
        made = []
        for source, target in wanted:
            on_file(source)
            made.append((target, make(source, target)))
        return made
    with ProcessPoolExecutor(workers, get_context("spawn"), _ignore_interrupts) as pool:
        running = [(target, pool.submit(make, source, target)) for source, target in wanted]
        made = []
        for (source, _), (target, future) in zip(wanted, running, strict=True):
            on_file(source)
            made.append((target, future.result()))
        return made


def _ignore_interrupts() -> None:
    """Leaves Ctrl-C to the process that the user started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def make(source: Path, target: Path) -> list[str]:
    """Makes one Parquet file and returns warnings; a file that cannot be read is left out."""
    try:
        rows, warnings = reduced(source)
    except LockyardError as error:
        return [f"left out: {error}"]
    if rows:
        write_parquet(rows, target, WHY)
    else:
        target.touch()
    return warnings
