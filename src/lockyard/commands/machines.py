# SPDX-License-Identifier: Apache-2.0
"""List the machines and schedulers that can be simulated, or show a machine's costs and their
sources."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lockyard.cli import completions
from lockyard.cli.arguments import Json
from lockyard.cli.command import command_of, options_class
from lockyard.errors import ExitStatus
from lockyard.report.console import print_line, stdout_console, titled_table
from lockyard.simulate import machines
from lockyard.simulate.simulator import abilities

if TYPE_CHECKING:
    from lockyard.simulate.machines import Machine
    from lockyard.simulate.simulator import Abilities


@options_class
class MachinesOptions:
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME|FILE.toml]",
            help="The machine to show; without it, all are listed.",
            autocompletion=completions.machines,
            show_default=False,
        ),
    ] = ""
    as_json: Json = False


@command_of(
    MachinesOptions,
    "lockyard machines",
    "lockyard machines ryzen1700",
    "lockyard machines my-server.toml --json",
)
def command(options: MachinesOptions) -> int:
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
        parameters = ", ".join(f"{one['name']}={one['default']:g}" for one in about["parameters"])
        schedulers.add_row(name_of, about["summary"], parameters, about["source"])
    console.print(schedulers)


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
