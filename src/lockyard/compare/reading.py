# SPDX-License-Identifier: Apache-2.0
"""Reads both sides of a comparison, in parallel where that is faster."""

from __future__ import annotations

import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING

from lockyard.compare.measurement import read
from lockyard.compare.series import read_folder
from lockyard.errors import MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lockyard.catalog import Catalog
    from lockyard.compare.gates import Gate
    from lockyard.compare.measurement import Distributions, Measurement

# From this size, a second process is worth its start.
LARGE_BYTES = 8_000_000


def read_two(
    paths: tuple[Path, Path],
    gates: Sequence[Gate],
    catalog: Catalog,
    wanted: Distributions | None = None,
) -> tuple[Measurement, Measurement]:
    """Reads two files or folders; a second process reads the second if it is large. `wanted` names
    the histograms that are kept."""
    first, second = paths
    if not second.is_file() or second.stat().st_size < LARGE_BYTES:
        return _read(first, gates, catalog, wanted), _read(second, gates, catalog, wanted)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        with _inherited_deafness():
            other = pool.submit(_read, second, gates, catalog, wanted)
        try:
            return _read(first, gates, catalog, wanted), other.result()
        except BrokenProcessPool:
            raise MissingCapabilityError(
                f"the process that read {second} was killed, so nothing was compared; free some "
                "memory and try again"
            ) from None


def _read(
    path: Path, gates: Sequence[Gate], catalog: Catalog, wanted: Distributions | None
) -> Measurement:
    return (read_folder if path.is_dir() else read)(path, gates, catalog, wanted)


@contextmanager
def _inherited_deafness() -> Iterator[None]:
    """Starts child processes with SIGINT ignored, so that only this process handles Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
