# SPDX-License-Identifier: Apache-2.0
"""Parses and checks the values of command-line options."""

from __future__ import annotations

import itertools
import os
import re
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError
from lockyard.machine.conditions import NICES, POLICIES, SLICES_NS, Deadline

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

    from lockyard.machine.conditions import Pinning

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


def threads(text: str) -> list[int]:
    """Returns the numbers of a list, in its order, repeated numbers included."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= MAX_THREADS for part in parts):
        raise UsageError(
            f"--threads {text}: a number of threads must be from 1 to {MAX_THREADS}; separate "
            "several numbers by commas, as in 1,4,16"
        )
    return [int(part) for part in parts]


def policies(text: str) -> list[str]:
    found = [part.strip() for part in text.split(",")]
    for name in found:
        if name not in POLICIES:
            raise UsageError(f"--policy {name}: no such policy; choose from {', '.join(POLICIES)}")
    return list(dict.fromkeys(found))


def slices_ns(text: str) -> list[int]:
    found = [round(duration_s("--slice", part) * 1e9) for part in text.split(",")]
    least, most = SLICES_NS
    for slice_ns in found:
        if not least <= slice_ns <= most:
            raise UsageError(
                f"--slice {text}: the kernel grants slices from {least / 1e6:g} ms to "
                f"{most / 1e6:g} ms and would silently use the nearest; give a slice in that range"
            )
    return list(dict.fromkeys(found))


def deadline(text: str) -> Deadline:
    parts = [round(duration_s("--deadline", part) * 1e9) for part in text.split("/")]
    if len(parts) != 3 or not parts[0] <= parts[1] <= parts[2]:
        raise UsageError(
            f"--deadline {text}: not RUNTIME/DEADLINE/PERIOD with each at least as long as the one "
            "before; give three times, as in 3ms/10ms/10ms"
        )
    return Deadline(*parts)


def nice(option: str, value: int | None) -> int | None:
    least, most = NICES
    if value is not None and not least <= value <= most:
        raise UsageError(f"{option} {value}: a nice value must be from {least} to {most}")
    return value


def surroundings(  # noqa: PLR0913 - one parameter for each option
    load_text: str,
    load_nice: int | None,
    timer_slack: str,
    autogroup: str,
    quota_cpus: float | None,
    rest: str,
) -> dict[str, Any]:
    """Returns the conditions that were given, by name."""
    load, kind = _load(load_text)
    if load == 0 and load_nice is not None:
        raise UsageError(
            f"--load-nice {load_nice}: there is no load that it could apply to; give --load N too, "
            "or drop --load-nice"
        )
    found: dict[str, Any] = {"load": load}
    if kind is not None:
        found["load_kind"] = kind
    if load_nice is not None:
        found["load_nice"] = nice("--load-nice", load_nice)
    if timer_slack:
        found["timer_slack_ns"] = _timer_slack_ns(timer_slack)
    if autogroup:
        found["autogroup"] = _switch("--autogroup", autogroup)
    if quota_cpus is not None:
        found["quota_cpus"] = _quota_cpus(quota_cpus)
    if rest:
        found["rest_s"] = duration_s("--rest", rest)
    return found


def _load(text: str) -> tuple[int, str | None]:
    """Returns the number of threads or compilers, and the kind of a load that does not count."""
    most = MAX_LOAD_PER_PROCESSOR * len(os.sched_getaffinity(0))
    kind, _, number = text.partition(":")
    if kind == BUILD:
        number = number if ":" in text else str(BUILD_JOBS)
        least = 1
    else:
        kind, number, least = "", text or "0", 0
    if not number.isdecimal() or not least <= int(number) <= most:
        raise UsageError(
            f"--load {text}: must be a number of threads from 0 to {most}, or build, or build:N "
            f"with N compilers at a time, from 1 to {most}"
        )
    return int(number), kind or None


def machines(given: Sequence[str]) -> list[tuple[tuple[str, str], ...]]:
    """Returns the combinations of settings of the machine, from words like idle_states=off,on."""
    from lockyard.machine.settings import NAMES

    found: dict[str, list[str]] = {}
    for word in given:
        name, equals, values = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not values or name not in NAMES:
            raise UsageError(
                f"--machine {word}: not a setting of the machine and its values; give NAME=VALUE,… "
                f"with a name of {', '.join(NAMES)}; the value as_found changes nothing"
            )
        if name in found:
            raise UsageError(
                f"--machine {word}: {name} is given twice; separate its values by commas, as in "
                f"{name}={','.join(found[name])},{values}"
            )
        found[name] = [value.strip() for value in values.split(",")]
    combinations = itertools.product(*found.values())
    return [tuple(zip(found, values, strict=True)) for values in combinations] if found else []


def _timer_slack_ns(text: str) -> int:
    slack_ns = round(duration_s("--timer-slack", text) * 1e9)
    if not 1 <= slack_ns <= MAX_TIMER_SLACK_NS:
        raise UsageError(f"--timer-slack {text}: must be from 1ns to 2s")
    return slack_ns


def _switch(option: str, text: str) -> bool:
    if text not in ("on", "off"):
        raise UsageError(f"{option} {text}: must be on or off")
    return text == "on"


def _quota_cpus(value: float) -> float:
    if not 1 <= value <= MAX_THREADS:
        raise UsageError(
            f"--quota {value:g}: must be at least 1 processor; with less, the kernel stops even a "
            "single thread in every period, and every figure would show the quota instead of the "
            "lock"
        )
    return value


def studies(found: list[str] | None) -> list[str]:
    if not found:
        raise UsageError(
            "nothing to measure: name a study ('lockyard list' shows them), or continue a file "
            "with --resume FILE"
        )
    return found


def alone(option: str, name: str, context: typer.Context, allowed: tuple[str, ...]) -> None:
    """Refuses all other options next to an option that names a file with complete settings."""
    given = [
        parameter
        for parameter in context.params
        if parameter not in (name, *allowed)
        and getattr(context.get_parameter_source(parameter), "name", "") == "COMMANDLINE"
    ]
    if given:
        listed = ", ".join(key.strip("_").replace("_", "-") for key in given)
        raise UsageError(
            f"{option}: the file already says what is measured and how, so these options would "
            f"have no effect; drop {listed}"
        )


def positive(option: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise UsageError(f"{option} {value}: must be at least 1")
    return value


def names(
    option: str, text: str, known: str = "seeds, all, or names from 'lockyard list'"
) -> list[str]:
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise UsageError(f"{option}: no name was given, so nothing would be measured; give {known}")
    return found


def ways(text: str) -> list[str]:
    """Parses `--ways`. Ways have no groups, and the table of 'lockyard list' omits them."""
    return names("--ways", text, known="names from 'lockyard list --json'")


def pinning(text: str) -> Pinning:
    if text in ("none", "compact", "spread"):
        return text
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise UsageError(
            f"--pin {text}: must be none, compact, spread, or processor numbers, as in 0,2"
        )
    return tuple(int(part) for part in parts)


def seed(value: int | None) -> int:
    """Returns the given seed, or a random one; it is printed, so that a run can be repeated."""
    if value is None:
        return int.from_bytes(os.urandom(4), "little")
    if not 0 <= value < MAX_SEED:
        raise UsageError(f"--seed {value}: must be from 0 to {MAX_SEED - 1}")
    return value
