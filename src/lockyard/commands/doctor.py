# SPDX-License-Identifier: Apache-2.0
"""Show what would distort measurements here, what is not permitted, and how to fix it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lockyard.cli import completions
from lockyard.cli.arguments import Json
from lockyard.cli.command import command_of, options_class
from lockyard.doctor import fixing
from lockyard.doctor.checks import examine
from lockyard.doctor.document import FixesDocument, UndoneDocument, document
from lockyard.doctor.facts import collect
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, UsageError
from lockyard.machine.procfs import KernelFiles
from lockyard.machine.settings import FIXES

if TYPE_CHECKING:
    from collections.abc import Sequence


@options_class
class DoctorOptions:
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME…]",
            help="For --fix: names of problems, or settings with values (huge_pages=never).",
            autocompletion=completions.problems,
            show_default=False,
        ),
    ] = None
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Change the named settings until --undo or a restart."),
    ] = False
    every: Annotated[
        bool,
        typer.Option("--all", help="With --fix: everything that was found and can be changed."),
    ] = False
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back everything that --fix changed.")
    ] = False
    as_json: Json = False

    def check(self) -> None:
        """Refuses combinations of options that contradict each other or have no effect."""
        if self.undo and (self.fix or self.names or self.every):
            raise UsageError(
                "--undo takes every fix back, so it needs no names and no --fix; drop one of them"
            )
        if (self.names or self.every) and not self.fix:
            raise UsageError("names and --all say what to fix: add --fix")
        if self.fix and bool(self.names) == self.every:
            raise UsageError(
                f"--fix: name what to fix ({', '.join(FIXES)}), or give --all, not both"
            )


@command_of(
    DoctorOptions,
    "lockyard doctor",
    "lockyard doctor --json | jq '.findings[].remedy'",
    "lockyard doctor --fix governor idle_states",
    "lockyard doctor --fix --all",
    "lockyard doctor --fix huge_pages=never",
    "lockyard doctor --undo",
)
def command(options: DoctorOptions) -> int:
    options.check()
    if options.undo:
        return undo(options.as_json)
    if options.fix:
        return fix(options.names or (), options.every, options.as_json)
    return _examine(options.as_json)


def fix(names: Sequence[str], every: bool, as_json: bool) -> int:
    """Changes the named settings, or all that the examination finds fault with."""
    if every:
        names = [name for name in examine(collect()).findings if name in FIXES]
    done = fixing.fix(fixing.wanted(names), KernelFiles())
    if as_json:
        print_document(FixesDocument(schema=1, fixes=list(done)))
    else:
        for each in done:
            why = f": {each.reason}" if each.reason else ""
            print(f"{each.outcome:9} {each.setting}={each.value}{why}")  # noqa: T201
        if not done:
            print("nothing to fix")  # noqa: T201
        if any(each.outcome == "changed" for each in done):
            print("to undo: lockyard doctor --undo")  # noqa: T201
    refused = any(each.outcome == "refused" for each in done)
    return ExitStatus.MISSING_CAPABILITY if refused else ExitStatus.DONE


def undo(as_json: bool) -> int:
    done = fixing.undo(KernelFiles())
    if as_json:
        print_document(UndoneDocument(1, done.restored, done.left, done.problems))
    else:
        if done.restored or not (done.left or done.problems):
            print(f"restored: {', '.join(done.restored) or 'nothing was changed'}")  # noqa: T201
        for name in done.left:
            print(f"left: {name}, which another program has changed since")  # noqa: T201
        for problem in done.problems:
            print(f"not restored: {problem}")  # noqa: T201
    return ExitStatus.MISSING_CAPABILITY if done.problems else ExitStatus.DONE


def _examine(as_json: bool) -> int:
    """Returns the exit status: findings do not fail; a harness that cannot start does."""
    facts = collect()
    diagnosis = examine(facts)
    environment = {
        **facts.described,
        "harness": facts.harness,
        "pressure_cpu": facts.kernel.read("/proc/pressure/cpu"),
    }
    if as_json:
        print_document(document(diagnosis, environment))
    else:
        from lockyard.doctor.text import print_diagnosis

        print_diagnosis(diagnosis, environment)
    return ExitStatus.DONE if facts.harness is not None else ExitStatus.MISSING_CAPABILITY
