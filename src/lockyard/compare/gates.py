# SPDX-License-Identifier: Apache-2.0
"""Parses --fail-if, which says how much a figure may change."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.compare.figures import headline
from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from lockyard.catalog import Catalog
    from lockyard.compare.measurement import Measurement, Names

GRAMMAR = re.compile(r"\s*(?P<name>[^<>=]*?)\s*(?P<sign>[<>=]+)\s*(?P<limit>.*?)\s*")
LIMIT = re.compile(r"(?P<percent>[+-]\d+(?:\.\d+)?)\s*%")
MOST_SHOWN = 300  # characters of the list of known figures
EXAMPLE = "'wait.p99 > +5%' or 'throughput.rate < -10%'"


@dataclass(frozen=True)
class Gate:
    """A limit on a figure's ratio of B to A; it fails when the ratio is shown to be beyond it."""

    text: str
    study: str | None  # None: every study that has the figure
    figure: str
    upwards: bool
    change: float

    @property
    def limit(self) -> float:
        return 1 + self.change

    def is_of(self, study: str) -> bool:
        return self.study in (None, study)

    def is_beyond(self, ratio: float) -> bool:
        return ratio > self.limit if self.upwards else ratio < self.limit


def parse(texts: Sequence[str], catalog: Catalog) -> tuple[Gate, ...]:
    studies = {study.name for study in catalog.studies}
    return tuple(_parse(text, studies) for text in texts)


def _parse(text: str, studies: Container[str]) -> Gate:
    found = GRAMMAR.fullmatch(text)
    if found is None:
        raise _refused(text, "it has no '>' or '<'")
    name, sign, limit = found["name"], found["sign"], found["limit"]
    if not name:
        raise _refused(text, f"it names no figure before '{sign}'")
    if sign not in ("<", ">"):
        raise _refused(text, f"it compares with '{sign}'; only '>' and '<' exist")
    change = LIMIT.fullmatch(limit)
    if change is None:
        raise _refused(
            text,
            f"its limit '{limit}' is not a change in percent with a sign, such as +5% or -10%; "
            "no other unit exists",
        )
    percent = float(change["percent"])
    if percent <= -100:
        raise _refused(text, f"a figure cannot fall by {-percent:g} %")
    first, _, rest = name.partition(".")
    study, figure = (first, rest) if first in studies and rest else (None, name)
    return Gate(" ".join(text.split()), study, figure, sign == ">", percent / 100)


def _refused(text: str, cause: str) -> UsageError:
    return UsageError(
        f"--fail-if '{text}': {cause}; nothing was compared; write [STUDY.]FIGURE and the change "
        f"from A to B that counts as a failure, as in {EXAMPLE}"
    )


def not_there(gate: Gate, a: Measurement, b: Measurement) -> UsageError:
    """Returns the error for a gate that could never fail, since the files lack what it names."""
    shared = [study for study in a.names if study in b.names]
    if gate.study is not None and gate.study not in shared:
        return _refused(
            gate.text,
            f"the files have no study {gate.study} in common, only {', '.join(shared)}",
        )
    there = {
        study: _figures(study, a.names[study], b.names[study])
        for study in shared
        if gate.is_of(study)
    }
    return _refused(
        gate.text,
        f"no cell in both files has a figure '{gate.figure}'; {_near(gate.figure, there)}"
        f"{_shortened('; '.join(_named(each, there) for each in there))}",
    )


def _near(name: str, there: Mapping[str, Sequence[str]]) -> str:
    known = list(dict.fromkeys(figure for figures in there.values() for figure in figures))
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}? " if near else ""


def _named(study: str, there: Mapping[str, Sequence[str]]) -> str:
    return f"{study} has {', '.join(there[study])}"


def _shortened(text: str) -> str:
    """Cuts a list that would fill a screen where files hold many studies."""
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN].rpartition(',')[0]} and more (docs/studies lists them)"


def _figures(study: str, a: Names, b: Names) -> list[str]:
    """Returns the names of figures that a gate may use."""
    values = sorted(a.values & b.values)
    histograms = sorted(a.histograms & b.histograms)
    return [
        *dict.fromkeys(figure.name for figure in headline(study, as_published=False)),
        *values,
        *(f"{histogram}.p50 (any percentile)" for histogram in histograms),
    ]
