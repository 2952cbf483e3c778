# SPDX-License-Identifier: Apache-2.0
"""Curves over a parameter: contention, frequency, wake-ups, and the number of threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockyard.page.cells import by_setting, in_words, line_over
from lockyard.page.distributions import together
from lockyard.page.model import Axis, Chart, Missing, Section, Series, short
from lockyard.report.grids import Grid, grids
from lockyard.report.ideal import ideal, serial_bound_per_s
from lockyard.report.scaling import PUBLISHED_LOCKS, PUBLISHED_NAMES, published_rates
from lockyard.report.units import duration, rate
from lockyard.studies.contention import INTERVAL, SHARE
from lockyard.studies.contention import published as published_contention

if TYPE_CHECKING:
    from lockyard.page.cells import Records
    from lockyard.report.summary import CellSummary

SCALING_STUDIES = ("throughput", "scale", "torture", "readers")
CONTENTION = {
    "parallelism": "work done, relative to one thread",
    "waiting_share": "share of the threads' time spent waiting",
}
# Less processor time than this is shown as this much, since the axis is logarithmic.
LEAST_PERCENT = 0.01


def contention(records: Records) -> Section:
    curves: dict[str, Chart] = {}
    for grid in grids(records.of("contention"), [SHARE], records.naming):
        if len(grid.values(SHARE)) > 1:
            for key, title in CONTENTION.items():
                curves[f"{title}, {grid.setting}"] = _contention(records, grid, key, title)
    blocks = together("figure and conditions", curves)
    if not blocks:
        blocks.append(Missing("contention curves", "lockyard measure contention --out FILE"))
    maps = {
        f"{lock}, {grid.setting}": _heat_map(grid, lock)
        for grid in grids(records.of("frequency"), [INTERVAL, SHARE], records.naming)
        for lock in grid.locks
    }
    blocks += together("lock and conditions", maps)
    if not maps:
        blocks.append(Missing("the frequency heat map", "lockyard measure frequency --out FILE"))
    return Section(
        "Contention and frequency",
        blocks,
        "How much work threads get done when part of it needs the lock. A lock costs nothing if "
        "its line follows the ideal; the heat maps show from which frequency on it costs much.",
    )


def _contention(records: Records, grid: Grid, key: str, title: str) -> Chart:
    percent = key == "waiting_share"
    factor = 100.0 if percent else 1.0
    series = [
        line_over(lock, grid.of(lock), lambda cell: float(cell.parameters[SHARE]), key, factor)
        for lock in grid.locks
    ]
    shares = grid.values(SHARE)
    if records.processors is not None:
        found = [ideal(grid.threads, records.processors, share / 100) for share in shares]
        values = [100 * e.waiting_share if percent else e.parallelism for e in found]
        series.append(Series("ideal", shares, [short(v) for v in values], role="ideal"))
    printed = {
        share: (100 * found.waiting_share if percent else found.parallelism)
        for (threads, share), found in published_contention().items()
        if threads == grid.threads
    }
    if printed:
        series.append(Series("published", list(printed), list(printed.values()), role="published"))
    return Chart(
        "lines",
        f"{title[0].upper()}{title[1:]}",
        f"{title} against the share of the work that needs the lock, for {in_words(grid.locks)}.",
        Axis("share of the work that needs the lock", "percent"),
        Axis(
            "share of time waiting" if percent else "parallelism",
            "percent" if percent else "number",
            zero=True,
        ),
        series,
        grid.setting,
    )


def _heat_map(grid: Grid, lock: str) -> Chart:
    shares, intervals = grid.values(SHARE), grid.values(INTERVAL)
    rows: list[list[float | None]] = []
    for interval in intervals:
        at = [grid.at(lock, **{INTERVAL: interval, SHARE: share}) for share in shares]
        rows.append([short(cell.median("parallelism")) if cell else None for cell in at])
    known = [value for row in rows for value in row if value is not None]
    return Chart(
        "heat",
        f"Parallelism of {lock}",
        f"Heat map of the work done with {lock}, relative to one thread: from {min(known):.2f} to "
        f"{max(known):.2f}, over {len(intervals)} intervals and {len(shares)} shares.",
        Axis("share of the work that needs the lock", names=[f"{share:g} %" for share in shares]),
        Axis("interval", names=[f"{duration(ns)} ({rate(1e9 / ns)})" for ns in intervals]),
        subtitle=f"by interval and share · {grid.setting}",
        data={"z": rows, "top": grid.threads, "of": "parallelism"},
    )


def wakeups(records: Records) -> Section:
    charts: dict[str, Chart] = {}
    for setting, cells in by_setting(records.of("wakeup"), records.naming.setting).items():
        series = [one for cell in cells if (one := _wakeup(cell)) is not None]
        if not series:
            continue
        fastest = min(series, key=lambda each: each.y[0])
        charts[setting] = Chart(
            "points",
            f"Wake-up latency against processor time · {setting}",
            f"Median latency of each way to wait against the processor time that a waiting "
            f"thread uses; the fastest is {fastest.name} with {duration(fastest.y[0])}.",
            Axis("processor time used while waiting", "percent", log=True),
            Axis("latency", "ns", log=True),
            series,
            "median of the runs' medians; the bar reaches to the longest wake-up",
            wide=True,
        )
    blocks = together("threads and conditions", charts) if len(charts) > 2 else [*charts.values()]
    if not blocks:
        blocks.append(Missing("ways to wait", "lockyard measure wakeup --out FILE"))
    return Section(
        "Wake-ups",
        blocks,
        "A thread that spins continues at once and uses its processor all the time; a thread "
        "that sleeps uses none and continues late. Good ways to wait are at the lower left.",
    )


def _wakeup(cell: CellSummary) -> Series | None:
    share, median = cell.median("waiting_cpu_share"), cell.median("wakeup_median_ns")
    if share is None or median is None:
        return None
    middle = max(median, 1.0)
    longest = max(cell.maximum("wakeup_max_ns") or middle, middle)
    return Series(
        cell.lock,
        [short(max(100 * share, LEAST_PERCENT))],
        [short(middle)],
        mark=cell.lock,
        low=[short(middle)],
        high=[short(longest)],
        notes=[f"{len(cell.runs)} runs"],
    )


def scaling(records: Records) -> Section:
    charts: dict[str, Chart] = {}
    simulated = _simulated(records)
    for study in SCALING_STUDIES:
        groups = by_setting(records.of(study), lambda cell: _besides_threads(records, cell))
        for setting, cells in groups.items():
            if len({cell.threads for cell in cells}) > 1:
                more = simulated.pop(study, []) if study in simulated else []
                charts[f"{study}, {setting}"] = _scaling(study, setting, cells, more)
    charts |= {f"{s}, simulated": _only_simulated(s, series) for s, series in simulated.items()}
    blocks = together("study and conditions", charts)
    if not blocks:
        command = "lockyard measure throughput scale --threads 1,2,4,8,16 --out FILE"
        blocks.append(Missing("several thread counts of one study of throughput", command))
    return Section(
        "Scaling",
        blocks,
        "Operations per second of all threads together, against the number of threads. Bars are "
        "the quartiles of the runs. No lock exceeds the serial bound, because only one thread at a "
        "time holds it.",
    )


def _besides_threads(records: Records, cell: CellSummary) -> str:
    return " · ".join(records.naming.conditions(cell))


def _scaling(study: str, setting: str, cells: list[CellSummary], simulated: list[Series]) -> Chart:
    key = "reads_per_s" if study == "readers" else "operations_per_s"
    locks = list(dict.fromkeys(cell.lock for cell in cells))
    series = [
        line_over(lock, [c for c in cells if c.lock == lock], lambda c: float(c.threads), key)
        for lock in locks
    ]
    every = [each for each in series if each.x] + simulated
    if study == "throughput":
        every += _serial_bound(cells)
    most = max(threads for each in every for threads in each.x)
    every += _published_rates(cells[0].workload)
    return Chart(
        "lines",
        f"{study}: {key.split('_')[0]} per second by threads",
        f"{key.replace('_', ' ')} of {in_words(locks)} with up to {most:g} threads.",
        Axis("threads", log=max(threads for each in every for threads in each.x) > 8),
        Axis(f"{key.split('_')[0]} per second", "per_s", log=True),
        every,
        setting,
    )


def _published_rates(workload: str) -> list[Series]:
    """Returns the printed curves of the kernel's two spinlocks; none for workloads without them."""
    found = []
    for lock in PUBLISHED_LOCKS:
        line = {
            float(threads): short(per_s)
            for (name, _, threads), (per_s, _) in published_rates(lock).items()
            if name == PUBLISHED_NAMES.get(workload)
        }
        if line:
            found.append(
                Series(f"published {lock}", list(line), list(line.values()), role="published")
            )
    return found


def _serial_bound(cells: list[CellSummary]) -> list[Series]:
    """Returns the line of the serial bound; none if the threads hold the lock for no time."""
    bounds = {cell.threads: serial_bound_per_s(cell) for cell in cells}
    known = {float(threads): bound for threads, bound in sorted(bounds.items()) if bound}
    values = [short(bound) for bound in known.values()]
    return [Series("serial bound", list(known), values, role="ideal")] if known else []


def _simulated(records: Records) -> dict[str, list[Series]]:
    """Returns the simulated lines by study."""
    found: dict[str, list[Series]] = {}
    for document in records.simulated:
        lines: dict[tuple[str, str], list[tuple[float, Any]]] = {}
        cells: Any = document["cells"]
        for cell in cells:
            figure = cell["figures"].get("operations_per_s")
            if figure is not None:
                key = (cell["lock"], cell["scheduler"])
                lines.setdefault(key, []).append((float(cell["threads"]), figure))
        schedulers = {scheduler for _, scheduler in lines}
        for (lock, scheduler), points in lines.items():
            points.sort(key=lambda point: point[0])
            under = f" ({scheduler})" if len(schedulers) > 1 else ""
            found.setdefault(str(document["study"]), []).append(
                Series(
                    f"{lock}{under}",
                    [threads for threads, _ in points],
                    [short(figure["value"]) for _, figure in points],
                    mark=lock,
                    role="simulated",
                    low=[short(figure["low"]) for _, figure in points],
                    high=[short(figure["high"]) for _, figure in points],
                    notes=[f"simulated machine {document['machine']}, {scheduler}"] * len(points),
                )
            )
    return found


def _only_simulated(study: str, series: list[Series]) -> Chart:
    most = max(threads for each in series for threads in each.x)
    return Chart(
        "lines",
        f"{study}: simulated operations per second by threads",
        f"Simulated operations per second of {in_words([each.name for each in series])}.",
        Axis("threads", log=most > 8),
        Axis("operations per second", "per_s", log=True),
        series,
        "simulated; bars are the spread over the inputs that are uncertain",
    )
