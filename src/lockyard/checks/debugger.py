# SPDX-License-Identifier: Apache-2.0
"""Runs a failing execution of a user's code under gdb, which stops at each of its steps."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.checks import gdb_commands
from lockyard.errors import ExitStatus, MissingCapabilityError, UsageError

if TYPE_CHECKING:
    from lockyard.checker import Checker
    from lockyard.checks.result import Result


def run(checker: Checker, result: Result, as_json: bool) -> ExitStatus:
    """Gives the terminal to gdb, and returns when the user leaves it."""
    if as_json:
        raise UsageError("--gdb and --json: gdb writes for a reader; drop --json, or drop --gdb")
    gdb = shutil.which("gdb")
    if gdb is None:
        raise MissingCapabilityError(
            "gdb is not installed, so --gdb cannot step through the execution; install it "
            "(apt-get install -y gdb), or drop --gdb to see the execution as text"
        )
    job = {**result.check.to_job(), "ask": "replay", "replay": result.choices, "stops": True}
    checker.close()
    with tempfile.TemporaryDirectory(prefix="lockyard-gdb-") as place:
        plan, asked = Path(place, "plan.json"), Path(place, "job.json")
        asked.write_text(json.dumps(job) + "\n")
        program, *words = checker.command
        run = f"{shlex.join(words)} < {shlex.quote(str(asked))} > /dev/null"
        plan.write_text(json.dumps({"run": run, "steps": result.steps, "module": words[-1]}))
        done = subprocess.run(
            [gdb, "-q", "-x", gdb_commands.FILE, program],
            env={**os.environ, gdb_commands.PLAN: str(plan)},
            check=False,
        )
    if done.returncode != 0:
        raise MissingCapabilityError(
            f"gdb ended with status {done.returncode}; read its message above, or drop --gdb to "
            "see the execution as text"
        )
    return ExitStatus.DONE
