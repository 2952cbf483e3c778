# SPDX-License-Identifier: Apache-2.0
"""The part of a campaign that runs on a worker: one task, as a process of the worker's lockyard.

These functions are called by name on other machines, so they take and return plain values.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from lockyard.records.types import SCHEMA

# Names a worker's machine, where its host name does not: several workers on one host.
MACHINE_VARIABLE = "LOCKYARD_MACHINE"
# Starts the command; tests name another program.
START_VARIABLE = "LOCKYARD_CAMPAIGN_START"
START = "import sys; sys.argv[0] = 'lockyard'; from lockyard.cli.app import main; main()"
ERRORS_KEPT = 2000


def identity() -> dict[str, Any]:
    """Returns what tells machines and versions apart."""
    try:
        installed = version("lockyard")
    except PackageNotFoundError:
        installed = "not installed"
    return {
        "machine": os.environ.get(MACHINE_VARIABLE) or socket.gethostname(),
        "lockyard": installed,
        "schema": SCHEMA,
    }


def run_task(command: str, arguments: list[str], limit_s: float) -> dict[str, Any]:
    """Runs a task to its end. Returns exit status, standard output and the end of its errors. If
    this process is killed, the task ends with its next record, whose reader is gone."""
    start = os.environ.get(START_VARIABLE) or START
    line = [sys.executable, "-c", start, command, *arguments, "--json"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return {"status": None, "output": "", "errors": f"not done after {limit_s:g} s"}
    return {
        "status": done.returncode,
        "output": done.stdout,
        "errors": done.stderr[-ERRORS_KEPT:],
    }
