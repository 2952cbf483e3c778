# SPDX-License-Identifier: Apache-2.0
"""lockyard machines: the machines and schedulers that can be simulated."""

from __future__ import annotations

import dataclasses
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.errors import ExitStatus, LockyardError
from lockyard.files import replace_file
from lockyard.machine.tree import Tree
from lockyard.measure.session import say
from lockyard.report.console import print_line, stdout_console, titled_table
from lockyard.simulate import definition, machines
from lockyard.simulate.simulator import abilities

if TYPE_CHECKING:
    from lockyard.simulate.machines import Machine
    from lockyard.simulate.simulator import Abilities

MEASURE = "measure"  # in place of a machine's name
FIRST_CORE = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"
RUNS = 10


def run(name: str, as_json: bool) -> None:
    of = abilities()
    if name:
        _show(machines.load(name, of), of, as_json)
        return
    all_machines = [machines.load(each, of) for each in machines.names()]
    if as_json:
        document = {
            "machines": [dataclasses.asdict(each) for each in all_machines],
            "schedulers": list(of.schedulers.values()),
        }
        print(json.dumps(document))  # noqa: T201
        return
    table = titled_table("machines")
    for title in ("name", "processors", "what it is"):
        table.add_column(title, justify="right" if title == "processors" else "left")
    for each in all_machines:
        table.add_row(Text(each.name), str(each.processors), Text(each.summary))
    console = stdout_console()
    console.print(table)
    schedulers = titled_table("schedulers")
    for title in ("name", "what it is", "parameters", "source"):
        schedulers.add_column(title)
    for name_of, about in of.schedulers.items():
        parameters = ", ".join(f"{one['name']}={one['usual']:g}" for one in about["parameters"])
        schedulers.add_row(name_of, about["summary"], parameters, about["source"])
    console.print(schedulers)


def run_measure(records: Path | None, out: Path | None) -> ExitStatus:
    """Measures this machine, or takes records of one, and writes its definition."""
    of = abilities()
    siblings = Tree().read(FIRST_CORE) or ""
    if records is not None:
        found, notes = definition.measured(records, siblings, of)
    else:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{out.stem if out else platform.node() or 'machine'}.jsonl"
            _measure_costs(file)
            found, notes = definition.measured(file, siblings, of)
    text = definition.to_toml(found)
    if out is None:
        print(text, end="")  # noqa: T201
    else:
        replace_file(out, text.encode(), "so there is no definition")
        say(f"{out}: simulate it by lockyard simulate throughput --machine {out}")
    for note in notes:
        say(note)
    return ExitStatus.DONE


def _measure_costs(file: Path) -> None:
    """Runs `lockyard measure costs` as a user would; its tables are of no interest here."""
    command = [sys.executable, "-c", "from lockyard.cli.app import main; main()", "measure"]
    done = subprocess.run(
        [*command, "costs", "--runs", str(RUNS), "--out", str(file)],
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        raise LockyardError(
            f"the costs of this machine were not measured (exit status {done.returncode}), so "
            "there is no definition; the lines above say why"
        )


def _show(machine: Machine, of: Abilities, as_json: bool) -> None:
    if as_json:
        print(json.dumps(dataclasses.asdict(machine)))  # noqa: T201
        return
    console = stdout_console()
    print_line(console, f"{machine.name}: {machine.summary}")
    for key, value in machine.topology.items():
        print_line(console, f"  {key} = {str(value).lower()}")
    print_line(console, f"  source: {machine.sources['topology']}")
    table = titled_table("costs")
    for title in ("name", "value", "meaning", "source"):
        table.add_column(title, justify="right" if title == "value" else "left")
    for name, cost in machine.costs.items():
        table.add_row(name, f"{cost:g}", of.costs[name], Text(machine.sources[name]))
    console.print(table)
