# SPDX-License-Identifier: Apache-2.0
"""Figures that others published, with this machine's next to them."""

from __future__ import annotations

import statistics
from importlib.resources import files
from typing import TYPE_CHECKING

from lockyard.page.cells import by_setting
from lockyard.page.model import Axis, Chart, Missing, Section, Series, short
from lockyard.report.columns import RATE
from lockyard.report.publications import printed_rows
from lockyard.report.scaling import PUBLISHED_NAMES as WORKLOADS
from lockyard.report.scaling import published_rows
from lockyard.studies.bystander import PUBLISHED_NAMES as BYSTANDERS
from lockyard.studies.contention import published_pairs
from lockyard.studies.wakeup import PUBLISHED_NAMES as WAYS
from lockyard.studies.wakeup import published_table as published_cycles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.page.cells import Records
    from lockyard.page.model import Block

# The longest stall of a run by the published definitions.
STALL_KEYS = {"wait": "wait_max_ns", "idle": "idle_published_max_ns"}
STALL_TITLES = {"wait": "Longest waits", "idle": "Longest idle times, wanted or not"}
STALLS_FROM = (
    "M. Skarupke, Measuring Mutexes, Spinlocks and how Bad the Linux Scheduler Really is, 2019"
)
WAKEUP_FROM = (
    "a text on how the idle workers of a C++ task scheduler should wait; i7-8750H, Windows"
)
SCALING_FROM = "K. K. Dwivedi and others, the merge of rqspinlock into Linux 6.15, 2025"
LIGHT_FROM = "J. Preshing, Locks Aren't Slow; Lock Contention Is, 2011"
FAIR_THREADS = 16


def section(records: Records) -> Section:
    blocks: list[Block] = [
        *_stalls(records),
        _wakeups(records),
        *_scaling(records),
        *_costs(records),
    ]
    missing = {
        "wait": "lockyard measure wait idle --threads 16 --out FILE",
        "wakeup": "lockyard measure wakeup --out FILE",
        "scale": "lockyard measure scale --locks queued_spinlock,resilient_spinlock --against "
        "queued_spinlock --out FILE",
        "bystander": "lockyard measure bystander --out FILE",
        "frequency": "lockyard measure frequency --out FILE",
    }
    blocks += [
        Missing(f"this machine's figures of the study {study}", command)
        for study, command in missing.items()
        if not records.of(study)
    ]
    return Section(
        "Published figures and this machine",
        blocks,
        "Open markers were published by others, on their machines; filled ones were measured "
        "here. Expect other magnitudes on another machine: compare the order of the locks.",
    )


def _stall_rows() -> list[dict[str, str]]:
    """Returns the rows of every published table of stalls."""
    names = sorted(
        each.name
        for each in (files("lockyard") / "data").iterdir()
        if each.name.startswith("stalls_") and each.name.endswith(".csv")
    )
    return [row for name in names for row in printed_rows(name)]


def _stalls(records: Records) -> Iterator[Chart]:
    rows = _stall_rows()
    seed_names = {lock.name: lock.seed_name for lock in records.catalog.measured}
    for study, key in STALL_KEYS.items():
        of_study = [row for row in rows if row["study"] == study]
        by_scheduler: dict[str, list[dict[str, str]]] = {}
        for row in of_study:
            by_scheduler.setdefault(row["scheduler"], []).append(row)
        names = list(dict.fromkeys(row["lock"] for row in of_study))
        ours = _measured_stalls(records, study, key, seed_names)
        series = [_published_stalls(scheduler, some) for scheduler, some in by_scheduler.items()]
        named = {name: f"{name} = {lock}" for name, lock in ours[1].items() if name != lock}
        if ours[0] is not None:
            series.append(ours[0])
        series = [_renamed(each, named) for each in series]
        yield Chart(
            "dots",
            STALL_TITLES[study],
            f"Published longest stalls of {', '.join(names)} under {', '.join(by_scheduler)}"
            + (f", and this machine's with {ours[2]}." if ours[0] else "."),
            Axis("longest stall of a run", "ns", log=True),
            Axis("lock", names=[named.get(name, name) for name in names]),
            series,
            f"{STALLS_FROM}; bars reach to the fourth longest of 100 (wait) or 1000 (idle) runs"
            + (f"; here {ours[2]}" if ours[0] else ""),
            wide=True,
        )


def _renamed(series: Series, names: dict[str, str]) -> Series:
    return Series(
        series.name, series.x, [names.get(y, y) for y in series.y], series.mark, series.role,
        series.low, series.high, series.notes,
    )  # fmt: skip


def _published_stalls(scheduler: str, rows: Sequence[dict[str, str]]) -> Series:
    return Series(
        scheduler,
        [float(row["longest1_ms"]) * 1e6 for row in rows],
        [row["lock"] for row in rows],
        role="published",
        low=[float(row["longest4_ms"]) * 1e6 for row in rows],
        high=[float(row["longest1_ms"]) * 1e6 for row in rows],
        notes=[f"{row['machine']}, {row['threads']} threads" for row in rows],
    )


def _measured_stalls(
    records: Records, study: str, key: str, seed_names: dict[str, str]
) -> tuple[Series | None, dict[str, str], str]:
    """Returns this machine's series, its locks by published name, and its setting: 16 threads as in
    the table, or else the most."""
    groups = by_setting(
        (c for c in records.of(study) if seed_names.get(c.lock) and c.maximum(key)),
        records.naming.setting,
    )
    if not groups:
        return None, {}, ""
    setting, cells = min(
        groups.items(),
        key=lambda item: (item[1][0].threads != FAIR_THREADS, -item[1][0].threads, -len(item[1])),
    )
    longest = [cell.longest(key, len(cell.runs)) for cell in cells]
    series = Series(
        "this machine",
        [short(values[0]) for values in longest],
        [seed_names[cell.lock] for cell in cells],
        low=[short(values[-1]) for values in longest],
        high=[short(values[0]) for values in longest],
        notes=[f"{cell.lock}, {len(cell.runs)} runs, {setting}" for cell in cells],
    )
    return series, {seed_names[cell.lock]: cell.lock for cell in cells}, setting


def _wakeups(records: Records) -> Chart:
    table = published_cycles()
    here: dict[str, list[float]] = {}
    for cell in records.of("wakeup"):
        name = WAYS.get(cell.lock)
        for run in cell.runs:
            median_ns = run["values"].get("published_median_ns")
            if name and run["clock"]["source"] == "tsc" and median_ns and median_ns > 0:
                here.setdefault(name, []).append(median_ns / run["clock"]["ns_per_tick"])
    series = [Series("published", list(table.values()), list(table), role="published")]
    if here:
        medians = [short(statistics.median(values)) for values in here.values()]
        series.append(Series("this machine", medians, list(here)))
    return Chart(
        "dots",
        "Wake-up latency in clock cycles",
        f"Published median cycles until a waiting thread continues: {', '.join(table)}.",
        Axis("median cycles, from just after the publication", log=True),
        Axis("way to wait", names=list(table)),
        series,
        WAKEUP_FROM,
    )


def _scaling(records: Records) -> Iterator[Chart]:
    rows = published_rows()
    measured = _measured_scaling(records)
    for workload in dict.fromkeys(name for name, _, _ in rows):
        lines: dict[str, dict[int, float]] = {}
        for (name, architecture, threads), speedup in rows.items():
            if name == workload:
                lines.setdefault(architecture, {})[threads] = speedup
        series = [
            Series(each, list(line), list(line.values()), role="published")
            for each, line in lines.items()
        ]
        series += measured.get(workload, [])
        yield Chart(
            "lines",
            f"The cost of recovery: {workload}",
            f"Operations with a recovering spinlock relative to a plain one on {workload}, against "
            f"the number of threads: published between {min(min(e.y) for e in series[:1]):.2f} and "
            f"{max(max(e.y) for e in series[:1]):.2f}.",
            Axis("threads", log=True),
            Axis("speed-up", "times"),
            series,
            SCALING_FROM,
            data={"level": 1},
        )


def _measured_scaling(records: Records) -> dict[str, list[Series]]:
    """Returns, by published workload, this machine's ratio of recovering locks to the reference."""
    found: dict[str, list[Series]] = {}
    if records.against is None:
        return found
    points: dict[tuple[str, str], dict[int, float]] = {}
    cells = [cell for study in ("scale", "torture") for cell in records.of(study)]
    for group in by_setting(cells, lambda c: f"{c.study} {c.conditions}").values():
        reference = records.against.among(group, RATE)
        for cell in group:
            workload = WORKLOADS.get(cell.workload)
            ratio = reference.ratio(RATE, cell) if reference and cell.recovers_spinning else None
            if workload and ratio:
                points.setdefault((workload, cell.lock), {})[cell.threads] = ratio.median
    for (workload, lock), line in points.items():
        ordered = sorted(line.items())
        found.setdefault(workload, []).append(
            Series(lock, [t for t, _ in ordered], [short(r) for _, r in ordered], mark=lock)
        )
    return found


def _costs(records: Records) -> Iterator[Chart]:
    """Yields the charts of single published figures: a light pair, and a bystander's slowdown."""
    light_ns = float(published_pairs()["light_pair"].split()[0])
    kernel = light_ns * float(published_pairs()["kernel_pair"].split()[0])
    yield _single(
        records, "frequency", "pair_ns", "Lock and unlock that no other thread wants",
        Axis("time of a pair", "ns", log=True),
        {"critical section": light_ns, "mutex in the kernel": kernel}, LIGHT_FROM, {},
    )  # fmt: skip
    printed = {
        row["lock"]: float(row["slowdown"]) for row in printed_rows("bystander_ryzen1700.csv")
    }
    yield _single(
        records, "bystander", "slowdown", "Slowdown of a thread that never uses the lock",
        Axis("times as long", "times", log=True), printed, STALLS_FROM, BYSTANDERS,
    )  # fmt: skip


def _single(  # noqa: PLR0913 - a chart has this many parts
    records: Records, study: str, key: str, title: str, axis: Axis, printed: dict[str, float],
    source: str, names: dict[str, str],
) -> Chart:  # fmt: skip
    here: dict[str, list[float]] = {}
    for cell in records.of(study):
        here.setdefault(names.get(cell.lock, cell.lock), []).extend(cell.values(key))
    medians = {name: short(statistics.median(values)) for name, values in here.items() if values}
    series = [Series("published", list(printed.values()), list(printed), role="published")]
    if medians:
        series.append(Series("this machine", list(medians.values()), list(medians)))
    return Chart(
        "dots",
        title,
        f"{title}: published {', '.join(f'{name} {value:g}' for name, value in printed.items())}.",
        axis,
        Axis("lock", names=list(dict.fromkeys([*printed, *medians]))),
        series,
        source,
    )
