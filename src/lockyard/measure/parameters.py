# SPDX-License-Identifier: Apache-2.0
"""Parameters of studies: parses and checks their values, and forms their combinations."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from typing import TYPE_CHECKING, Any

from lockyard.catalog import option_of
from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lockyard.catalog import Choice, Parameter, Study
    from lockyard.measure.cell import Cell, Parameters
    from lockyard.records.types import Value

NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)

MOST_COMBINATIONS = 1_000_000


def parsed(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parses NAME=VALUE,… into the values of each name, without repeats, in the order given."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        parts = [part.strip() for part in values.split(",")]
        if not (name and equals and all(parts)):
            raise UsageError(
                f"--set {text}: not NAME=VALUE,…; name a parameter and its values, as in "
                "--set share_percent=0,50"
            )
        if name in found:
            raise UsageError(
                f"{option_of(name)} {values}: {name} already has values; give all of them at once, "
                f"as in {option_of(name)} 1,2"
            )
        found[name] = tuple(dict.fromkeys(parts))
    return found


def check_names(names: Iterable[str], measured: Sequence[Study], known: Sequence[Study]) -> None:
    """Refuses parameters that no measured study has; `known` are all studies."""
    for name in names:
        having = [study.name for study in known if name in _by_name([study])]
        if not having:
            raise UsageError(f"--set {name}: {_what_there_is(name, measured)}")
        if not any(study.name in having for study in measured):
            are = "study" if len(having) == 1 else "studies"
            raise UsageError(
                f"{option_of(name)}: applies only to the {are} {_in_words(having)}: add "
                f"{'it' if len(having) == 1 else 'one of them'}, or drop {option_of(name)}"
            )


def check_values(given: Mapping[str, Sequence[str]], studies: Sequence[Study]) -> None:
    """Refuses values that a measured study cannot take, and choices that no measured study has."""
    check_names(given, studies, studies)
    for name, texts in given.items():
        having = [study for study in studies if name in _by_name([study])]
        for study in having:
            _check_study(study, _by_name([study])[name], texts, having)


def choices_of(study: Study, given: Mapping[str, Sequence[str]]) -> list[Study]:
    """Returns the study once for each combination of the named choices, with its threads, times and
    default values; the study itself if none of its parameters is a choice."""
    for each in study.parameters:
        if len(each.choices) > 1:
            names = given.get(each.name)
            usual = (each.default_choice,) if each.default_choice else each.choices
            chosen = [one for one in each.choices if _is_named(one, names)] if names else usual
            return [
                found for one in chosen for found in choices_of(study.choosing(each, one), given)
            ]
    return [study]


def combinations(
    study: Study, given: Mapping[str, Sequence[str]], threads: int
) -> list[Parameters]:
    """Returns every combination of the parameters' values; a single empty one where the study has
    no parameters."""
    values = [_values(each, given.get(each.name), threads) for each in study.parameters]
    names = [each.name for each in study.parameters]
    number = math.prod(map(len, values))
    if number > MOST_COMBINATIONS:
        raise UsageError(
            f"{' and '.join(map(option_of, names))}: {number:,} combinations of study "
            f"'{study.name}' are too many to measure; give fewer values"
        )
    found = [tuple(zip(names, each, strict=True)) for each in itertools.product(*values)]
    if study.scheduled and any(not any(value for _, value in each) for each in found):
        raise UsageError(
            f"with 0 for {' and '.join(map(option_of, names))} study '{study.name}' would wait "
            "forever for arrivals that never come; give one of them another value"
        )
    return found


def _values(of: Parameter, texts: Sequence[str] | None, threads: int) -> Sequence[Value]:
    if of.choices:
        return [each.name for each in of.choices]
    if not texts:
        defaults = [_number(of, f"{value:.17g}") for value in of.defaults]
        return [value for value in defaults if not of.below_threads or value < threads]
    found = [_number(of, text) for text in texts]
    if of.below_threads and max(found) >= threads:
        raise UsageError(
            f"{of.option} {max(found)}: with --threads {threads}, none of the threads would be "
            f"left for the others ({of.summary}); give more threads, or a smaller number"
        )
    return list(dict.fromkeys(found))


def _number(of: Parameter, text: str) -> float | int:
    return int(float(text)) if of.type == "count" else float(text)


def _check_study(
    study: Study, of: Parameter, texts: Sequence[str], having: Sequence[Study]
) -> None:
    if of.choices:
        known = [each for one in having for each in _by_name([one])[of.name].choices]
        names = {each.name for each in known} | {each.group for each in known if each.group}
        for text in texts:
            if text not in names:
                near = difflib.get_close_matches(text, names, n=3, cutoff=0.5)
                hint = f"did you mean {' or '.join(near)}? " if near else ""
                raise UsageError(
                    f"{of.option} {text}: unknown {of.name}; {hint}choose from "
                    f"{', '.join(each.name for each in known)}"
                )
        if not any(_is_named(each, texts) for each in of.choices):
            raise UsageError(
                f"{of.option}: names no {of.name} of study '{study.name}', which has {of.range}; "
                "add one, or drop the study"
            )
        return
    for text in texts:
        is_number = NUMBER.fullmatch(text) and (of.type != "count" or float(text).is_integer())
        if not (is_number and of.least <= float(text) <= of.most):
            kind = "a whole number" if of.type == "count" else "a number without its unit,"
            raise UsageError(
                f"{of.option} {text}: {of.name} of study '{study.name}' must be {kind} from "
                f"{of.range} ({of.summary})"
            )


def _is_named(choice: Choice, names: Sequence[str]) -> bool:
    return choice.name in names or choice.group in names


def _by_name(studies: Iterable[Study]) -> dict[str, Parameter]:
    return {each.name: each for study in studies for each in study.parameters}


def check_clock(cells: Sequence[Cell], studies: Sequence[Study], clock: Mapping[str, Any]) -> None:
    """Refuses intervals so short that reading the clock would fill them."""
    read_ns = clock[f"{clock['source']}_read_ns"]
    reads = {study.name: study.clock_reads for study in studies}
    for cell in cells:
        cost_ns = reads.get(cell.study, 0) * read_ns
        for name, value in cell.parameters:
            if isinstance(value, str):
                continue
            interval_ns = {"interval_ns": value, "rate_per_s": 1e9 / max(value, 1)}.get(name)
            if interval_ns is not None and interval_ns < cost_ns:
                raise UsageError(
                    f"{option_of(name)} {value:.10g}: study '{cell.study}' reads its clock in each "
                    f"interval, and the reads ({cost_ns:.3g} ns) take longer than the interval "
                    f"({interval_ns:.3g} ns), so it would measure its clock; give longer intervals"
                )


def _what_there_is(name: str, measured: Sequence[Study]) -> str:
    known = _by_name(measured)
    if not known:
        return (
            f"{_in_words([study.name for study in measured])} has no parameters; drop it, or see "
            "'lockyard list' for the studies that have some"
        )
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    listed = ", ".join(f"{each.name} ({each.range})" for each in known.values())
    return f"no measured study has this parameter; {hint}available: {listed}"


def _in_words(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
