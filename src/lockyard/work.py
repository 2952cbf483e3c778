# SPDX-License-Identifier: Apache-2.0
"""What the threads of a run do: how long they hold the lock and stay away, or which workload."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError
from lockyard.options import duration_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.catalog import Study, Workload

LENGTHS = ("constant", "exponential")
LONGEST_NS = 100_000_000  # the harness counts no longer ones
NO_TIME = "0"


@dataclass(frozen=True)
class Work:
    hold_ns: int = 0
    gap_ns: int = 0
    lengths: str = LENGTHS[0]
    workload: str | None = None  # of a study that has several; its lengths are its own

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


NONE = Work()
WORK_CONDITIONS = tuple(each.name for each in fields(Work))


def works(hold: str, gap: str, lengths: str) -> list[Work]:
    """Each hold with each gap and each kind of lengths, once."""
    found = [
        Work(hold_ns, gap_ns, kind) if hold_ns or gap_ns else NONE
        for kind in _kinds(lengths)
        for hold_ns in (_length_ns("--hold", part) for part in hold.split(","))
        for gap_ns in (_gap_ns(part, hold_ns) for part in gap.split(","))
    ]
    return list(dict.fromkeys(found))


def check_work(works: Sequence[Work], studies: Sequence[Study], as_published: bool) -> None:
    """Refuses work that no thread would do."""
    if all(work == NONE for work in works):
        return
    if any(study.ways for study in studies):
        if any(work.hold_ns for work in works):
            raise UsageError("--hold: there is no lock to hold in wakeup; leave it out, or wakeup")
        if any(work.lengths != LENGTHS[0] for work in works):
            raise UsageError(
                "--lengths: wakeup has lengths of its own around the mean; leave it out, or wakeup"
            )
    if all(study.ways for study in studies):
        return
    if as_published:
        raise UsageError(
            "--hold and --gap with --as-published: the text's threads do no work; leave one of the "
            "two out"
        )
    if not any(study.takes_lengths or study.ways for study in studies):
        raise UsageError(
            "--hold and --gap: mean nothing to studies without threads that want one lock, or with "
            "lengths of their own; measure throughput, readers, wait or idle, or leave them out"
        )


def check_workloads(names: Sequence[str], studies: Sequence[Study]) -> None:
    """Refuses those that no study has, and studies of which all were left out."""
    if not names:
        return
    if not any(study.workloads for study in studies):
        raise UsageError(
            "--workload: contention, torture, scale and recovery have several; measure one of "
            "these, or leave it out"
        )
    known = [each.name for study in studies for each in study.workloads]
    for name in names:
        if name not in known:
            raise UsageError(f"--workload {name}: the studies to measure have {', '.join(known)}")
    for study in studies:
        if study.workloads and not workloads_of(study, names):
            raise UsageError(
                f"--workload: names none of study '{study.name}', which has "
                f"{', '.join(each.name for each in study.workloads)}; name one, or leave the study "
                "out"
            )


def workloads_of(study: Study, names: Sequence[str]) -> list[Workload]:
    """Those of the names that the study has, or all."""
    return [each for each in study.workloads if not names or each.name in names]


def _kinds(text: str) -> list[str]:
    found = [part.strip() for part in text.split(",")]
    for kind in found:
        if kind not in LENGTHS:
            raise UsageError(f"--lengths {kind}: there are {' and '.join(LENGTHS)}")
    return found


def _gap_ns(text: str, hold_ns: int) -> int:
    """A duration, or so many times as long as the lock is held."""
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
        raise UsageError(f"{option} {text}: is more than {LONGEST_NS / 1e6:g} ms, the longest")
    return length_ns
