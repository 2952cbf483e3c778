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


def works(hold: str, gap: str, lengths: str) -> list[Work]:
    """Combines each hold with each gap and each distribution, once; a recording has both."""
    kinds = _kinds(lengths)
    holds, gaps = hold.split(","), gap.split(",")
    if len(kinds) * len(holds) * len(gaps) > MOST_WORKS:
        raise UsageError(
            f"--hold, --gap and --lengths: {len(kinds) * len(holds) * len(gaps):,} combinations "
            "are too many to measure; give fewer values"
        )
    if (hold, gap) != (NO_TIME, NO_TIME) and all(isinstance(kind, Recording) for kind in kinds):
        raise UsageError(
            "--hold and --gap: a recording has its own times, so they have no effect; drop them, "
            "or add a distribution to --lengths"
        )
    found = [
        each
        for kind in kinds
        for each in (
            [_recorded(kind)] if isinstance(kind, Recording) else _works(holds, gaps, kind)
        )
    ]
    return list(dict.fromkeys(found))


def _works(holds: Sequence[str], gaps: Sequence[str], kind: str) -> list[Work]:
    return [
        Work(hold_ns, gap_ns, kind) if hold_ns or gap_ns else NONE
        for hold_ns in (_length_ns("--hold", part) for part in holds)
        for gap_ns in (_gap_ns(part, hold_ns) for part in gaps)
    ]


def _recorded(recording: Recording) -> Work:
    return Work(recording.hold_ns, recording.gap_ns, RECORDED, recording=recording)


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


def _kinds(text: str) -> list[str | Recording]:
    found: list[str | Recording] = []
    for part in text.split(","):
        kind, colon, file = part.strip().partition(":")
        if colon and kind == RECORDED:
            found.append(Recording.of(file))
        elif not colon and kind in LENGTHS:
            found.append(kind)
        else:
            raise UsageError(
                f"--lengths {part.strip()}: no such distribution; choose from "
                f"{', '.join(LENGTHS)} and {RECORDED}:FILE"
            )
    return found


def _gap_ns(text: str, hold_ns: int) -> int:
    """Parses a duration, or a multiple of the hold time."""
    times = re.fullmatch(r"([0-9]*\.?[0-9]+)x", text.strip())
    if times is None:
        return _length_ns("--gap", text)
    return _within("--gap", text, round(float(times[1]) * hold_ns))


def _length_ns(option: str, text: str) -> int:
    if text.strip() == NO_TIME:
        return 0
    return _within(option, text, round(duration_s(option, text) * 1e9))


def _within(option: str, text: str, length_ns: int) -> int:
    if length_ns > LONGEST_NS:
        raise UsageError(
            f"{option} {text}: longer than {LONGEST_NS / 1e6:g} ms, the limit; give a shorter time"
        )
    return length_ns
