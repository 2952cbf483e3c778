# SPDX-License-Identifier: Apache-2.0
"""Parameters of studies: parses and checks their values, and forms their combinations."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lockyard.catalog import Parameter, Study
    from lockyard.cell import Cell, Parameters

NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)

MOST_COMBINATIONS = 1_000_000


def parsed(texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Parses NAME=VALUE,… into the values of each name, without repeats, in the order given."""
    found: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        parts = [part.strip() for part in values.split(",")]
        if not (name and equals and all(NUMBER.fullmatch(part) for part in parts)):
            raise UsageError(
                f"--set {text}: not NAME=NUMBER,…; write the unit in the name only, as in "
                "--set share_percent=0,50"
            )
        if name in found:
            raise UsageError(
                f"--set {text}: {name} already has values; give all of them at once, as in "
                f"--set {name}=1,2"
            )
        found[name] = tuple(dict.fromkeys(float(part) for part in parts))
    return found


def check_parameters(given: Mapping[str, Sequence[float]], studies: Sequence[Study]) -> None:
    """Refuses parameters that no study has, and values outside their range."""
    known = {each.name: each for study in studies for each in study.parameters}
    for name in given:
        if name not in known:
            raise UsageError(f"--set {name}: {_what_there_is(name, known, studies)}")
    for study in studies:
        for each in study.parameters:
            for value in given.get(each.name, ()):
                if not each.least <= value <= each.most:
                    raise UsageError(
                        f"--set {each.name}={value:.10g}: out of range; {each.name} of study "
                        f"'{study.name}' must be from {each.range} ({each.summary})"
                    )


def combinations(study: Study, given: Mapping[str, Sequence[float]]) -> list[Parameters]:
    """Returns every combination of the parameters' values; a single empty one where the study has
    no parameters."""
    values = [given.get(each.name) or each.usual for each in study.parameters]
    names = [each.name for each in study.parameters]
    number = math.prod(map(len, values))
    if number > MOST_COMBINATIONS:
        raise UsageError(
            f"--set: {number:,} combinations of study '{study.name}' are too many to measure; "
            "give fewer values"
        )
    found = _all_combinations(names, values)
    if study.scheduled and any(not any(value for _, value in each) for each in found):
        raise UsageError(
            f"--set: with 0 for {' and '.join(names)} study '{study.name}' would wait forever for "
            "arrivals that never come; give one of them another value"
        )
    return found


def _all_combinations(names: Sequence[str], values: Sequence[Sequence[float]]) -> list[Parameters]:
    return [tuple(zip(names, each, strict=True)) for each in itertools.product(*values)]


def check_clock(cells: Sequence[Cell], studies: Sequence[Study], clock: Mapping[str, Any]) -> None:
    """Refuses intervals so short that reading the clock would fill them."""
    read_ns = clock[f"{clock['source']}_read_ns"]
    reads = {study.name: study.clock_reads for study in studies}
    for cell in cells:
        cost_ns = reads.get(cell.study, 0) * read_ns
        for name, value in cell.parameters:
            interval_ns = {"interval_ns": value, "rate_per_s": 1e9 / max(value, 1)}.get(name)
            if interval_ns is not None and interval_ns < cost_ns:
                raise UsageError(
                    f"--set {name}={value:.10g}: study '{cell.study}' reads its clock in each "
                    f"interval, and the reads ({cost_ns:.3g} ns) take longer than the interval "
                    f"({interval_ns:.3g} ns), so it would measure its clock; give longer intervals"
                )


def _what_there_is(name: str, known: Mapping[str, Parameter], studies: Sequence[Study]) -> str:
    if not known:
        measured = ", ".join(study.name for study in studies)
        return (
            f"{measured} takes no parameters; drop --set, or see 'lockyard list' for the studies "
            "that take some"
        )
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    listed = ", ".join(f"{each.name} ({each.range})" for each in known.values())
    return f"no measured study has this parameter; {hint}available: {listed}"
