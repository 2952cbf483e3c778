# SPDX-License-Identifier: Apache-2.0
"""The work of a run's threads: hold and gap times."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError
from lockyard.measure.recording import LONGEST_NS, Recording
from lockyard.options import duration_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.catalog import Study

LENGTHS = ("constant", "exponential", "bimodal")
RECORDED = "recorded"
NO_TIME = "0"


@dataclass(frozen=True)
class Work:
    hold_ns: int = 0
    gap_ns: int = 0
    lengths: str = LENGTHS[0]
    recording: Recording | None = None  # its means are hold_ns and gap_ns

    def to_json(self) -> dict[str, Any]:
        """Returns the fields of a record."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**values, "recording": str(self.recording) if self.recording else None}


NONE = Work()
MOST_WORKS = 1_000_000
WORK_CONDITIONS = tuple(each.name for each in fields(Work))
Distribution = str | Recording


@dataclass(frozen=True)
class Gap:
    """A gap as requested: a time, or a multiple of the hold."""

    text: str = NO_TIME
    ns: int = 0
    holds: float | None = None

    def after(self, hold_ns: int) -> int:
        if self.holds is None:
            return self.ns
        return _within("--gap", self.text, round(self.holds * hold_ns))


NO_HOLD = (0,)
NO_GAP = (Gap(),)


def works(
    holds_ns: Sequence[int], gaps: Sequence[Gap], kinds: Sequence[Distribution]
) -> list[Work]:
    """Combines each hold with each gap and each distribution, once; a recording has both."""
    combinations = len(kinds) * len(holds_ns) * len(gaps)
    if combinations > MOST_WORKS:
        raise UsageError(
            f"--hold, --gap and --lengths: {combinations:,} combinations are too many to measure; "
            "give fewer values"
        )
    has_times = (*holds_ns, *gaps) != (*NO_HOLD, *NO_GAP)
    if has_times and all(isinstance(kind, Recording) for kind in kinds):
        raise UsageError(
            "--hold and --gap: a recording has its own times, so they have no effect; drop them, "
            "or add a distribution to --lengths"
        )
    found = [each for kind in kinds for each in _works(holds_ns, gaps, kind)]
    return list(dict.fromkeys(found))


def _works(holds_ns: Sequence[int], gaps: Sequence[Gap], kind: Distribution) -> list[Work]:
    if isinstance(kind, Recording):
        return [Work(kind.hold_ns, kind.gap_ns, RECORDED, recording=kind)]
    return [
        Work(hold_ns, gap_ns, kind) if hold_ns or gap_ns else NONE
        for hold_ns in holds_ns
        for gap_ns in (gap.after(hold_ns) for gap in gaps)
    ]


def check_work(works: Sequence[Work], studies: Sequence[Study], as_published: bool) -> None:
    """Refuses work that no measured study would do."""
    if all(work == NONE for work in works):
        return
    taking = [study for study in studies if study.takes != "none"]
    if not taking:
        raise UsageError(
            "--hold and --gap: mean nothing to studies whose threads share no lock or set their "
            "own times; drop them, or measure throughput, readers, wait or idle"
        )
    for study in taking:
        if not study.takes_hold and any(work.hold_ns for work in works):
            raise UsageError(
                f"--hold: the study {study.name} has no lock to hold; drop --hold, or drop "
                f"{study.name}"
            )
        if not study.takes_hold and any(work.lengths != LENGTHS[0] for work in works):
            raise UsageError(
                f"--lengths: the study {study.name} varies its gaps itself; drop --lengths, or "
                f"drop {study.name}"
            )
        if not study.takes_gap and any(work.gap_ns for work in works):
            raise UsageError(
                f"--gap: threads of the study {study.name} call at scheduled times and have no "
                f"gaps; drop --gap, or drop {study.name}; a recording for it must not have the "
                "column gap_ns"
            )
    if as_published and any(study.takes_hold for study in taking):
        raise UsageError(
            "--hold and --gap with --as-published: the published threads do no work; drop "
            "--as-published, or drop the others"
        )


def holds_ns(option: str, text: str) -> list[int]:
    return [length_ns(option, part) for part in text.split(",")]


def gaps(option: str, text: str) -> list[Gap]:
    """Parses durations, and multiples of the hold time."""
    return [_gap(option, part) for part in text.split(",")]


def distributions(option: str, text: str) -> list[Distribution]:
    found: list[Distribution] = []
    for part in text.split(","):
        kind, colon, file = part.strip().partition(":")
        if colon and kind == RECORDED:
            found.append(Recording.of(file))
        elif not colon and kind in LENGTHS:
            found.append(kind)
        else:
            raise UsageError(
                f"{option} {part.strip()}: no such distribution; choose from "
                f"{', '.join(LENGTHS)} and {RECORDED}:FILE"
            )
    return found


def _gap(option: str, text: str) -> Gap:
    times = re.fullmatch(r"([0-9]*\.?[0-9]+)x", text.strip())
    if times is None:
        return Gap(text.strip(), length_ns(option, text))
    return Gap(text, holds=float(times[1]))


def length_ns(option: str, text: str) -> int:
    """Parses 0, or a duration within the harness's limit."""
    if text.strip() == NO_TIME:
        return 0
    return _within(option, text, round(duration_s(option, text) * 1e9))


def _within(option: str, text: str, found_ns: int) -> int:
    if found_ns > LONGEST_NS:
        raise UsageError(
            f"{option} {text}: longer than {LONGEST_NS / 1e6:g} ms, the limit; give a shorter time"
        )
    return found_ns
