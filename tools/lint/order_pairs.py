# SPDX-License-Identifier: Apache-2.0
"""Labels as pairs: each end names the other, and together they synchronise."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from findings import Finding
from order_code import ACQUIRING, RELEASING

if TYPE_CHECKING:
    from order_notes import Label

# The one partner that no file defines: a party that synchronises from outside the program.
OUTSIDE = "kernel"


class Source:
    """One file, its findings, and the labels that other files may pair with."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self.labels: dict[str, Label] = {}

    def add(self, line: int, message: str) -> None:
        """Note a broken rule."""
        self.findings.append(Finding(str(self.path), line, message))

    def add_all(self, places: Iterable[tuple[int, str]]) -> None:
        """Note several."""
        for line, message in places:
            self.add(line, message)


def _resolve(partner: str, source: Source, sources: Sequence[Source]) -> tuple[Source, str] | str:
    """The file and label that a partner names, or what is wrong with the name."""
    file, colon, name = partner.rpartition(":")
    wanted = Path(file).parts
    found = [s for s in sources if s.path.resolve().parts[-len(wanted) :] == wanted]
    if not colon:
        found = [source]
    if not found:
        return f"{file} is not among the files checked: add it to the run"
    if len(found) > 1:
        return f"several files are called {file}: write more of the path"
    if name not in found[0].labels:
        return f"there is no order[{name}] in {found[0].path}: correct the name or add the label"
    return found[0], name


def check_pairs(source: Source, sources: Sequence[Source]) -> None:
    """Every partner exists, names this label in return, and is of a kind that fits."""
    for label in source.labels.values():
        for partner in label.partners:
            if partner == OUTSIDE:
                continue
            end = _resolve(partner, source, sources)
            if isinstance(end, str):
                source.add(label.line, f"order[{label.name}] pairs [{partner}], but {end}")
                continue
            other = end[0].labels[end[1]]
            back = [_resolve(name, end[0], sources) for name in other.partners if name != OUTSIDE]
            if (source, label.name) not in back:
                name = label.name if end[0] is source else f"{source.path.name}:{label.name}"
                source.add(
                    label.line,
                    f"order[{label.name}] pairs [{partner}], which does not pair in return:"
                    f" write pairs [{name}] there",
                )
            ends = ((label.kind, other.kind), (other.kind, label.kind))
            if not any(a in RELEASING and b in ACQUIRING for a, b in ends):
                source.add(
                    label.line,
                    f"order[{label.name}] is {label.kind} and pairs [{partner}], which is"
                    f" {other.kind}: one end must release and the other acquire",
                )
