# SPDX-License-Identifier: Apache-2.0
"""The environment of a measurement, what the machine did meanwhile, and what distorts figures."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lockyard.errors import LockyardError
from lockyard.page.distributions import percentile_line
from lockyard.page.model import Axis, Chart, Facts, Missing, Remark, Section, Table
from lockyard.report.clock import clock_line
from lockyard.report.units import duration
from lockyard.report.watch import watches_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.page.cells import Records
    from lockyard.page.model import Block

MOST_PARTS = 6  # a longer list is only counted
PARTS = ("system", "cpu", "scheduler", "limits", "harness")


def section(records: Records, environment: dict[str, Any], warnings: Sequence[str]) -> Section:
    blocks: list[Block] = [Remark(warning) for warning in warnings]
    blocks += _noise(records)
    if environment:
        blocks.append(Facts(list(_first(environment))))
        blocks += _problems(environment)
        rows = [list(pair) for part in PARTS for pair in _flat(part, environment.get(part, {}))]
        blocks.append(Table("everything recorded about the machine", ["what", "value"], rows))
    else:
        blocks.append(Missing("the environment", "lockyard measure … --out FILE"))
    return Section(
        "The machine and its problems",
        blocks,
        "What the machine did while locks were measured. A stall shorter than the machine's own "
        "gaps needs no lock to explain it.",
    )


def _first(environment: dict[str, Any]) -> Iterator[tuple[str, str]]:
    topology = environment["harness"]["topology"]
    yield "processor", f"{environment['cpu']['model']}"
    yield "cores and processors", f"{topology['cores']} cores, {topology['processors']} processors"
    yield (
        "kernel",
        f"Linux {environment['system']['kernel']} {environment['system']['architecture']}",
    )
    yield "virtual machine", str(environment["system"]["hypervisor"])
    yield "clock", clock_line(environment["clock"]).removeprefix("clock: ")
    load = environment.get("load_average")
    if load:
        busy = " (more than the processors)" if load[0] > topology["processors"] else ""
        yield "load average at the start", f"{load[0]:.2f}{busy}"
    started = environment.get("started_unix_s")
    if started:
        yield "measured", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(started))
    yield "environment", str(environment.get("environment"))


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _flat(f"{name} · {key}", each)
    elif isinstance(value, list) and len(value) > MOST_PARTS:
        yield name, f"{len(value)} entries"
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for place, each in enumerate(value):
            yield from _flat(f"{name} {place}", each)
    else:
        yield name.replace("_", " "), "unknown" if value is None else str(value)


def _noise(records: Records) -> Iterator[Block]:
    cells = records.of("noise")
    for cell in cells:
        line = percentile_line("gaps", cell.histogram("gap"))
        watches = watches_of(cell)
        if line is None or not watches:
            continue
        longest = max(watch.longest_ns for watch in watches.values())
        yield Chart(
            "lines",
            "Gaps that the machine itself causes",
            f"Gaps in a thread that only watches the clock; the longest is {duration(longest)}.",
            Axis("share of the gaps that are shorter", "nines", zero=True),
            Axis("gap", "ns", log=True),
            [replace(line, mark="")],
            f"watched without a lock on {len(watches)} processors",
            data={"plain": True},
        )
    if not cells:
        yield Missing("the machine's own gaps", "lockyard measure noise --out FILE")


def _problems(environment: dict[str, Any]) -> Iterator[Block]:
    """Yields what lockyard doctor finds, if the records come from this machine as it is now."""
    from lockyard.doctor.checks import examine
    from lockyard.doctor.facts import collect
    from lockyard.machine import environment as machine

    elsewhere = Missing("problems of the machine that was measured", "lockyard doctor")
    try:
        here = machine.collect()
    except (LockyardError, OSError):
        yield elsewhere
        return
    if here.get("environment") != environment.get("environment"):
        yield elsewhere
        return
    diagnosis = examine(collect())
    rows = [
        [each.severity.value, name.replace("_", " "), each.cause, each.consequence,
         each.remedy or each.about_remedy]
        for name, each in diagnosis.findings.items()
    ]  # fmt: skip
    columns = ["weight", "check", "found", "consequence", "fix"]
    yield Remark(f"lockyard doctor, when this page was written: {diagnosis.sentence}.")
    if rows:
        yield Table("problems that lockyard doctor finds", columns, rows, open=True)
