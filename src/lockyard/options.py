# SPDX-License-Identifier: Apache-2.0
"""Parses and checks the values of command-line options. A parser takes the option's name and its
text, and returns the value or raises UsageError."""

from __future__ import annotations

import itertools
import os
import re
from typing import TYPE_CHECKING

from lockyard.errors import UsageError
from lockyard.machine.conditions import NICES, POLICIES, PRIORITIES, SLICES_NS, Deadline, Load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.machine.conditions import Machine, Pinning

SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
SHORTEST_S = 0.5e-9  # the shortest time that rounds to a nanosecond
MAX_THREADS = 4096
MAX_SEED = 2**63
MAX_DURATION_S = 86400.0
MAX_LOAD_PER_PROCESSOR = 64
MAX_TIMER_SLACK_NS = 2_000_000_000
BUILD = "build"
BUILD_JOBS = 16  # as in make -j16


def duration_s(option: str, text: str) -> float:
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)(ns|us|µs|ms|s|m)", text.strip())
    found_s = float(match[1]) * SECONDS[match[2]] if match else 0.0
    if not SHORTEST_S <= found_s <= MAX_DURATION_S:
        raise UsageError(
            f"{option} {text}: not a duration from 1ns to a day; give a number with its unit, as "
            "in 500ms, 2s or 1m"
        )
    return found_s


def duration_ns(option: str, text: str) -> float:
    return duration_s(option, text) * 1e9


def count(option: str, text: str) -> int:
    """Parses a whole number of at least 1."""
    return whole_number(option, text, least=1)


def whole_number(option: str, text: str, least: int, most: int | None = None) -> int:
    found = int(text) if re.fullmatch(r"[+-]?[0-9]{1,30}", text.strip()) else None
    if found is None or found < least or (most is not None and found > most):
        range_ = f"at least {least}" if most is None else f"from {least} to {most}"
        raise UsageError(f"{option} {text}: must be {range_}, and a whole number")
    return found


def threads(option: str, text: str) -> list[int]:
    """Returns the numbers of a list, in its order, repeated numbers included."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= MAX_THREADS for part in parts):
        raise UsageError(
            f"{option} {text}: a number of threads must be from 1 to {MAX_THREADS}; separate "
            "several numbers by commas, as in 1,4,16"
        )
    return [int(part) for part in parts]


def policies(option: str, text: str) -> list[str]:
    found = [part.strip() for part in text.split(",")]
    for name in found:
        if name not in POLICIES:
            raise UsageError(f"{option} {name}: no such policy; choose from {', '.join(POLICIES)}")
    return list(dict.fromkeys(found))


def slices_ns(option: str, text: str) -> list[int]:
    found = [round(duration_s(option, part) * 1e9) for part in text.split(",")]
    least, most = SLICES_NS
    for slice_ns in found:
        if not least <= slice_ns <= most:
            raise UsageError(
                f"{option} {text}: the kernel grants slices from {least / 1e6:g} ms to "
                f"{most / 1e6:g} ms and would silently use the nearest; give a slice in that range"
            )
    return list(dict.fromkeys(found))


def deadline(option: str, text: str) -> Deadline:
    parts = [round(duration_s(option, part) * 1e9) for part in text.split("/")]
    if len(parts) != 3 or not parts[0] <= parts[1] <= parts[2]:
        raise UsageError(
            f"{option} {text}: not RUNTIME/DEADLINE/PERIOD with each at least as long as the one "
            "before; give three times, as in 3ms/10ms/10ms"
        )
    return Deadline(*parts)


def priority(option: str, text: str) -> int:
    return whole_number(option, text, *PRIORITIES)


def nice(option: str, text: str) -> int:
    return whole_number(option, text, *NICES)


def load(option: str, text: str) -> Load:
    most = MAX_LOAD_PER_PROCESSOR * len(os.sched_getaffinity(0))
    kind, colon, number = text.partition(":")
    is_build = kind == BUILD
    number = text if not is_build else number if colon else str(BUILD_JOBS)
    if not number.isdecimal() or not int(is_build) <= int(number) <= most:
        raise UsageError(
            f"{option} {text}: must be a number of threads from 0 to {most}, or build, or build:N "
            f"with N compilers at a time, from 1 to {most}"
        )
    return Load(int(number), BUILD if is_build else None)


def machines(option: str, given: Sequence[str]) -> list[Machine]:
    """Returns the combinations of settings of the machine, from words like idle_states=off,on."""
    from lockyard.machine.settings import NAMES

    found: dict[str, list[str]] = {}
    for word in given:
        name, equals, values = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not values or name not in NAMES:
            raise UsageError(
                f"{option} {word}: not a setting of the machine and its values; give NAME=VALUE,… "
                f"with a name of {', '.join(NAMES)}; the value as_found changes nothing"
            )
        if name in found:
            raise UsageError(
                f"{option} {word}: {name} is given twice; separate its values by commas, as in "
                f"{name}={','.join(found[name])},{values}"
            )
        found[name] = [value.strip() for value in values.split(",")]
    combinations = itertools.product(*found.values())
    return [tuple(zip(found, values, strict=True)) for values in combinations] if found else []


def timer_slack_ns(option: str, text: str) -> int:
    slack_ns = round(duration_s(option, text) * 1e9)
    if not 1 <= slack_ns <= MAX_TIMER_SLACK_NS:
        raise UsageError(f"{option} {text}: must be from 1ns to 2s")
    return slack_ns


def switch(option: str, text: str) -> bool:
    if text not in ("on", "off"):
        raise UsageError(f"{option} {text}: must be on or off")
    return text == "on"


def quota_cpus(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value <= MAX_THREADS:
        raise UsageError(
            f"{option} {text}: must be at least 1 processor; with less, the kernel stops even a "
            "single thread in every period, and every figure would show the quota instead of the "
            "lock"
        )
    return value


def names(
    option: str, text: str, known: str = "seeds, all, or names from 'lockyard list'"
) -> list[str]:
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise UsageError(f"{option}: no name was given, so nothing would be measured; give {known}")
    return found


def ways(option: str, text: str) -> list[str]:
    """Parses names of ways, which have no groups; the table of 'lockyard list' omits them."""
    return names(option, text, known="names from 'lockyard list --json'")


def pinning(option: str, text: str) -> Pinning:
    if text in ("none", "compact", "spread"):
        return text
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise UsageError(
            f"{option} {text}: must be none, compact, spread, or processor numbers, as in 0,2"
        )
    return tuple(int(part) for part in parts)


def seed(option: str, text: str) -> int:
    return whole_number(option, text, 0, MAX_SEED - 1)


def random_seed() -> int:
    """Returns a seed of chance; it is printed, so that a run can be repeated."""
    return int.from_bytes(os.urandom(4), "little")
