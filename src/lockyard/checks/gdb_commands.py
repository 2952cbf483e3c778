# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: T201 - within gdb, its terminal is this file's output
"""Commands for gdb that step through an execution of the checker; gdb itself runs this file.

The checker calls lockyard_replay_step() for each line of an execution, on the stack of the thread
whose line it is, so the frames above that call are the user's.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FILE = __file__
PLAN = "LOCKYARD_GDB_PLAN"

try:
    import gdb  # type: ignore[import-not-found,import-untyped,unused-ignore]
except ImportError:  # lockyard imports this file for its name
    gdb = None


class Walk:
    """The steps of the execution, and the one at which it stands."""

    def __init__(self, steps: list[dict[str, Any]], module: str) -> None:
        self.steps = steps
        self.module = module
        self.at = -1

    def line(self, number: int) -> str:
        step = self.steps[number]
        mark = "=>" if number == self.at else "  "
        position = f"{mark} step {number + 1} of {len(self.steps)}: T{step['thread']}"
        return f"{position} {step['where'] or 'the client'}: {step['text']}"

    def go_to(self, wanted: int) -> None:
        """Runs to a later step, or to the user's own breakpoint before it."""
        while self.at < wanted:
            gdb.execute("continue", to_string=True)
            if not is_running():
                print("the execution is over")
                return
            if gdb.newest_frame().name() != "lockyard_replay_step":
                print("stopped before the next step")
                return
            self.at = int(gdb.parse_and_eval("*(unsigned long*)&lockyard_replay_number"))
        self.show()

    def show(self) -> None:
        """Selects the thread's frame in the user's code, and prints the step and its line."""
        print(self.line(self.at))
        frame = gdb.newest_frame()
        while frame and gdb.current_progspace().solib_name(frame.pc()) != self.module:
            frame = frame.older()
        if frame:
            frame.select()
        where = self.steps[self.at]["where"]
        try:
            gdb.execute(f"list {where},{where.rpartition(':')[2]}" if where else "frame")
        except gdb.error as error:  # a file that is not there any longer
            print(error)


def is_running() -> bool:
    return bool(gdb.selected_inferior().pid)


def define(walk: Walk) -> None:
    class Step(gdb.Command):  # type: ignore[misc,unused-ignore]
        """lockyard-step [N]: runs to the next step of the execution, of whichever thread."""

        def __init__(self) -> None:
            super().__init__("lockyard-step", gdb.COMMAND_RUNNING)

        def invoke(self, argument: str, _from_tty: bool) -> None:
            last = len(walk.steps) - 1
            if walk.at == last:
                print("this is the last step: the failure")
            walk.go_to(min(walk.at + int(argument or 1), last))

    class Failure(gdb.Command):  # type: ignore[misc,unused-ignore]
        """lockyard-failure: runs to the failing step."""

        def __init__(self) -> None:
            super().__init__("lockyard-failure", gdb.COMMAND_RUNNING)

        def invoke(self, _argument: str, _from_tty: bool) -> None:
            walk.go_to(len(walk.steps) - 1)

    class Steps(gdb.Command):  # type: ignore[misc,unused-ignore]
        """lockyard-steps: lists the steps of the execution."""

        def __init__(self) -> None:
            super().__init__("lockyard-steps", gdb.COMMAND_STATUS)

        def invoke(self, _argument: str, _from_tty: bool) -> None:
            for number in range(len(walk.steps)):
                print(walk.line(number))

    Step()
    Failure()
    Steps()


def begin() -> None:
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    for setting in ("pagination", "confirm", "print inferior-events"):
        gdb.execute(f"set {setting} off")
    # A crash of the code is a failing step, where the checker's handler stops.
    gdb.execute("handle SIGSEGV SIGBUS SIGFPE SIGILL SIGABRT nostop noprint pass", to_string=True)
    walk = Walk(plan["steps"], plan["module"])
    define(walk)
    gdb.Breakpoint("lockyard_replay_begins", internal=True, temporary=True).silent = True
    gdb.execute(f"run {plan['run']}", to_string=True)
    gdb.Breakpoint("lockyard_replay_step", internal=True).silent = True
    print(
        "lockyard-step [N] runs to the next step of the execution, lockyard-failure to the failing "
        "one; lockyard-steps lists them"
    )
    walk.go_to(0)


if gdb is not None:
    begin()
