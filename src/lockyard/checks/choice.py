# SPDX-License-Identifier: Apache-2.0
"""The choices that the options of lockyard check make; refuses contradictory ones."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from lockyard.checks.result import Settings
from lockyard.checks.subjects import MAX_ACQUISITIONS, MAX_THREADS, Shape
from lockyard.errors import UsageError

SEARCHES = ("exhaustive", "pct", "random")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
MEMORY_BYTES = (1 << 20, 1 << 40)
MAX_SECONDS = 86400.0
MAX_BOUND = 1000
MAX_WORKERS = 256


@dataclass(frozen=True)
class Choice:
    """Names; or any of all, litmus and mutants; or bench; or a replay of one name."""

    names: tuple[str, ...]
    all: bool
    litmus: bool
    mutants: bool
    bench: bool
    replay: str
    shape: Shape | None  # the client size for every lock; None: several sizes

    def __post_init__(self) -> None:
        switches = {
            "--all": self.all,
            "--litmus": self.litmus,
            "--mutants": self.mutants,
            "--bench": self.bench,
        }
        given = [switch for switch, on in switches.items() if on]
        if self.replay:
            if len(self.names) != 1 or given:
                raise UsageError(
                    "--replay: replays one execution of one lock; name that lock, and drop "
                    "everything else"
                )
            if self.shape is not None:
                raise UsageError(
                    "--replay: the replayed text already contains the client size; drop --threads "
                    "and --acquisitions"
                )
        if not (given or self.names):
            raise UsageError("nothing to check: name a lock, or give --all, --litmus or --mutants")
        alone = ["the names"] if self.names else ["--bench"] if self.bench else []
        others = [each for each in given if each not in alone]
        if alone and others:
            raise UsageError(
                f"{' and '.join([*others, *alone])}: exclude each other; give one of them at a time"
            )
        shaped = [each for each in given if each != "--all"]
        if self.shape is not None and shaped:
            raise UsageError(
                f"{shaped[0]}: has its own client sizes; drop --threads and --acquisitions"
            )


def shape(threads: int | None, acquisitions: int | None) -> Shape | None:
    if threads is None and acquisitions is None:
        return None
    usual = Shape()
    return Shape(
        _within("--threads", threads, 1, MAX_THREADS) or usual.threads,
        _within("--acquisitions", acquisitions, 1, MAX_ACQUISITIONS) or usual.acquisitions,
    )


def settings(  # noqa: PLR0913 - one parameter for each option
    search: str,
    bound: int | None,
    seconds: float | None,
    memory: str,
    workers: int | None,
    no_cache: bool,
) -> Settings:
    if search not in SEARCHES:
        raise UsageError(f"--search {search}: no such search; choose from {', '.join(SEARCHES)}")
    if bound == 0:
        raise UsageError(
            "--bound 0: without preemptions no thread is ever interrupted, which proves little; "
            "give 1 or more, or drop --bound to check every execution"
        )
    if seconds is not None and not 0 < seconds <= MAX_SECONDS:
        raise UsageError(f"--seconds {seconds:g}: must be more than 0, and at most a day")
    usual = min(len(os.sched_getaffinity(0)), MAX_WORKERS)
    return Settings(
        search=search,
        bound=_within("--bound", bound, 1, MAX_BOUND),
        seconds=seconds,
        memory_bytes=_memory_bytes(memory),
        workers=_within("--workers", workers, 1, MAX_WORKERS) or usual,
        cache=not no_cache,
    )


def _within(option: str, value: int | None, least: int, most: int) -> int | None:
    if value is not None and not least <= value <= most:
        raise UsageError(f"{option} {value}: must be from {least} to {most}")
    return value


def _memory_bytes(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,6})([KMG])", text.strip(), re.IGNORECASE)
    found = int(match[1]) * UNITS[match[2].upper()] if match else 0
    least, most = MEMORY_BYTES
    if not least <= found <= most:
        raise UsageError(
            f"--memory {text}: must be from 1M to 1024G; give a number with K, M or G, as in 512M"
        )
    return found
