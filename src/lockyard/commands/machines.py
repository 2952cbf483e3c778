# SPDX-License-Identifier: Apache-2.0
"""List the machines and schedulers that can be simulated, show a machine's costs and their
sources, or measure this machine."""

from __future__ import annotations

import dataclasses
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import command_of, option, options_class
from lockyard.errors import ExitStatus, LockyardError, UsageError
from lockyard.files import replace_file
from lockyard.machine.procfs import KernelFiles
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


@options_class
class MachinesOptions:
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME|FILE.toml|measure]",
            help="The machine to show; without it, all are listed. 'measure' defines this machine "
            "by its measured costs.",
            autocompletion=completions.machines,
            show_default=False,
        ),
    ] = ""
    out: Annotated[
        Path | None,
        option(
            "FILE.toml",
            "With measure: write the definition here and not to standard output.",
            FILE,
            shown=False,
        ),
    ] = None
    records: Annotated[
        Path | None,
        option(
            "FILE",
            "With measure: take the costs from records that 'lockyard measure costs' wrote.",
            FILE,
            names=("--from",),
            shown=False,
        ),
    ] = None
    as_json: Json = False


@command_of(
    MachinesOptions,
    "lockyard machines",
    "lockyard machines ryzen1700",
    "lockyard machines my-server.toml --json",
    "lockyard machines measure --out here.toml",
)
def command(options: MachinesOptions) -> int:
    if options.name == MEASURE:
        return _define(options.records, options.out)
    if options.out is not None or options.records is not None:
        raise UsageError("--out and --from apply only to 'lockyard machines measure'; drop them")
    of = abilities()
    if options.name:
        _show(machines.load(options.name, of), of, options.as_json)
    else:
        _list_all(of, options.as_json)
    return ExitStatus.DONE


def _list_all(of: Abilities, as_json: bool) -> None:
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


def _define(records: Path | None, out: Path | None) -> int:
    """Measures this machine, or takes records of one, and writes its definition."""
    of = abilities()
    siblings = KernelFiles().read(FIRST_CORE) or ""
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
