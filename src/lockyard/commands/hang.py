# SPDX-License-Identifier: Apache-2.0
"""Show which threads of a running process wait for which locks, which threads hold these locks, and
any deadlocks. The process is not stopped and needs no preparation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockyard import options as parse
from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import command_of, option, options_class
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, UsageError
from lockyard.field_kit import hang_document, hang_text
from lockyard.field_kit.core_file import CoreFile
from lockyard.field_kit.look import Look, take
from lockyard.field_kit.process import Process
from lockyard.field_kit.stacks import stacks

if TYPE_CHECKING:
    from lockyard.field_kit.target import Target

WATCH_EVERY_S = 0.25


@options_class
class HangOptions:
    pid: Annotated[
        int | None,
        typer.Argument(metavar="[PID]", min=1, help="The process to examine.", show_default=False),
    ] = None
    core: Annotated[
        Path | None, option("FILE", "Examine this core file instead of a running process.", FILE)
    ] = None
    watch: Annotated[
        float | None,
        option(
            "TIME",
            "Repeat until there is a deadlock or a thread has waited for an owner this long, as "
            "in 10s.",
            parse.duration_s,
            shown="look once",
        ),
    ] = None
    stacks: Annotated[
        bool,
        typer.Option(
            "--stacks",
            help="Add all call stacks, read by eu-stack or gdb, which stop the process meanwhile.",
        ),
    ] = False
    as_json: Json = False


@command_of(
    HangOptions,
    "lockyard hang 4711",
    "lockyard hang $(pgrep -n server)",
    "lockyard hang 4711 --watch 10s --stacks",
    "lockyard hang --core core.4711",
    "lockyard hang 4711 --json | jq '.deadlocks'",
)
def command(options: HangOptions) -> int:
    """Returns the exit status: 4 for a deadlock or an owner that has ended; 5 if none was found
    but not everything could be looked at."""
    pid, core, watch_s = options.pid, options.core, options.watch
    if (pid is None) == (core is None):
        raise UsageError(
            "hang looks at one process or one core file; give a process id, or --core FILE"
        )
    if core is not None and watch_s is not None:
        raise UsageError("--watch waits for a running process, and a core file does not change; "
                         "drop --watch or --core")  # fmt: skip
    target: Target = CoreFile(core) if core is not None else Process(pid or 0)
    look = _watched(target, watch_s) if watch_s is not None else take(target, *_pause(core))
    _show(target, look, core, options.stacks, options.as_json)
    if look.deadlocks or look.orphans():
        return ExitStatus.CHECK_FAILED
    return ExitStatus.DONE if look.saw_all else ExitStatus.INCONCLUSIVE


def _pause(core: Path | None) -> tuple[None, ...]:
    return (None,) if core is not None else ()


def _watched(target: Target, watch_s: float) -> Look:
    """Looks until a deadlock exists, or a thread has waited for an owner for so long. Ctrl-C ends
    the watch with what was last seen."""
    since: dict[tuple[object, ...], float] = {}
    while True:
        look = take(target)
        now = time.monotonic()
        waits = {
            (tid, each.thread.runs, each.wait)
            for tid, each in look.waiting.items()
            if tid in look.owners
        }
        since = {wait: since.get(wait, now) for wait in waits}
        if look.deadlocks or look.orphans() or any(now - at >= watch_s for at in since.values()):
            return look
        try:
            time.sleep(WATCH_EVERY_S)
        except KeyboardInterrupt:
            return look


def _show(target: Target, look: Look, core: Path | None, with_stacks: bool, as_json: bool) -> None:
    found = hang_text.named(target, look)
    unwound = stacks(look.pid, core, look.program if core is None else "") if with_stacks else None
    if as_json:
        print_document(hang_document.document(found, unwound))
        return
    for line in hang_text.lines(found):
        print(line)  # noqa: T201
    if unwound:
        print(f"\n{unwound}")  # noqa: T201
