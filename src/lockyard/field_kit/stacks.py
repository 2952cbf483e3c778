# SPDX-License-Identifier: Apache-2.0
"""The call stacks of all threads, by a debugger. This stops the process while they are read."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_S = 60


def stacks(pid: int, core: Path | None, program: str) -> str:
    """Returns what eu-stack or gdb prints."""
    of_core = [f"--core={core}", *([f"--executable={program}"] if program else [])]
    if tool := shutil.which("eu-stack"):
        command = [tool, *(of_core if core else ["-p", str(pid)])]
    elif tool := shutil.which("gdb"):
        of = [program, str(core)] if core else ["-p", str(pid)]
        command = [tool, "--batch", "-nx", "-ex", "thread apply all backtrace", *of]
    else:
        raise MissingCapabilityError(
            "neither eu-stack nor gdb is installed, so there are no stacks; install one, for "
            "example with 'apt-get install elfutils', or drop --stacks"
        )
    try:
        shown = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise MissingCapabilityError(
            f"{command[0]} took over {TIMEOUT_S} s, so there are no stacks; call it by hand, or "
            "drop --stacks"
        ) from error
    if not shown.stdout.strip():
        raise MissingCapabilityError(
            f"{command[0]} found no stacks: {shown.stderr.strip() or 'it gave no reason'}; run "
            "this as root, or drop --stacks"
        )
    return shown.stdout.rstrip()
