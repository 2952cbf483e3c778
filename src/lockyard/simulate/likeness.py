# SPDX-License-Identifier: Apache-2.0
"""A measured file's cells, simulated with the costs and gaps that were measured with them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError
from lockyard.records import read_records
from lockyard.report.units import duration
from lockyard.simulate import simulator
from lockyard.simulate.calibration import calibrated, gaps_of, of_study
from lockyard.simulate.published import Figure
from lockyard.simulate.request import LENGTHS, Cell, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from lockyard.program import Answer
    from lockyard.simulate.machines import Machine
    from lockyard.simulate.simulator import Abilities

STUDIES = ("wait", "throughput", "contention")
SAME_ALGORITHM = {"std::mutex": "futex_mutex", "pthread_mutex[normal]": "futex_mutex"}
FIRST_EEVDF = (6, 6)
FIGURES = {
    "operations_per_s": "per second",
    "wait_max_ns": "longest wait, ns",
    "parallelism": "parallelism",
    "owner_switch_share": "owner switches",
}
LEAST = {"operations_per_s": 1.0, "wait_max_ns": 1.0, "parallelism": 1e-3,
         "owner_switch_share": 1e-3}  # fmt: skip
LONGEST_NS = 200e6


@dataclass(frozen=True)
class Key:
    """What runs of one cell have in common."""

    study: str
    lock: str
    threads: int
    work: Work

    @property
    def row(self) -> str:
        named = f"{self.lock}, {self.threads} threads"
        if self.work.hold_ns or self.work.gap_ns:
            named += f", {duration(self.work.hold_ns)} of {duration(self.work.gap_ns)}"
        return named + (", pinned" if self.work.pinned else "")


@dataclass(frozen=True)
class Likeness:
    machine: Machine
    figures: list[Figure]
    notes: list[str]


def like(path: Path, machine: Machine, of: Abilities) -> Likeness:
    content = read_records(path)
    usable = [run for run in content.runs if run.get("status") == "ok"]
    notes: list[str] = []
    measured = calibrated(path, machine, of_study(usable, "costs"), notes)
    gaps = gaps_of([run for run in usable if run.get("study") == "noise"], notes)
    scheduler = _scheduler(str((content.environment.get("system") or {}).get("kernel", "")))
    groups: defaultdict[Key, list[Answer]] = defaultdict(list)
    for run in usable:
        key = _key(run, measured, of)
        if key is not None:
            groups[key].append(run)
    if not groups:
        raise UsageError(
            f"{path} has no run of {' or '.join(STUDIES)} with two or more threads and a lock that "
            "can be simulated; measure one, as in lockyard measure wait --locks ours --threads 2,16"
        )
    cells = [
        Cell(
            key.study,
            key.lock,
            measured,
            scheduler,
            key.threads,
            replace(key.work, duration_ns=_duration_ns(runs)),
            gaps=gaps,
        )
        for key, runs in groups.items()
    ]
    answers = simulator.answers(each.to_job() for each in cells)
    figures = [
        figure
        for (key, runs), answer in zip(groups.items(), answers, strict=True)
        for figure in _figures(key, runs, answer["values"])
    ]
    return Likeness(measured, figures, notes)


def _scheduler(kernel: str) -> str:
    numbers = kernel.split("-")[0].split(".")[:2]
    if not all(number.isdecimal() for number in numbers):
        return "eevdf"
    return "eevdf" if tuple(map(int, numbers)) >= FIRST_EEVDF else "cfs"


def _key(run: Answer, machine: Machine, of: Abilities) -> Key | None:
    """Returns the cell of a run that can be simulated."""
    conditions = run.get("conditions") or {}
    lock = SAME_ALGORITHM.get(run.get("lock") or "", run.get("lock"))
    threads = conditions.get("threads", 0)
    if run.get("study") not in STUDIES or lock not in of.locks:
        return None
    if not 2 <= threads <= machine.most_threads or conditions.get("policy") != "other":
        return None
    work = _work(run["study"], conditions)
    if conditions.get("load") or work is None:
        return None
    return Key(run["study"], lock, threads, work)


def _work(study: str, conditions: Mapping[str, Any]) -> Work | None:
    pinned = conditions.get("pinning", "none") != "none"
    if study == "contention":
        parameters = conditions.get("parameters") or {}
        if not {"rate_per_s", "share_percent"} <= parameters.keys():
            return None
        interval_ns = 1e9 / parameters["rate_per_s"]
        hold_ns = interval_ns * parameters["share_percent"] / 100
        return Work(hold_ns, interval_ns - hold_ns, "exponential", pinned=pinned)
    lengths = conditions.get("lengths") or "constant"
    if lengths not in LENGTHS:
        return None
    hold_ns, gap_ns = conditions.get("hold_ns") or 0.0, conditions.get("gap_ns") or 0.0
    return Work(hold_ns, gap_ns, lengths, pinned=pinned)


def _duration_ns(runs: Sequence[Answer]) -> float:
    measured_ns: float = median(run["values"]["run_ns"] for run in runs)
    return min(measured_ns, LONGEST_NS)


def _figures(key: Key, runs: Sequence[Answer], simulated: Mapping[str, float]) -> Iterator[Figure]:
    for name, title in FIGURES.items():
        values = [run["values"][name] for run in runs if run["values"].get(name)]
        if values:
            found = max(simulated[name], LEAST[name])
            yield Figure(f"{key.study}, {title}", key.row, median(values), found)
