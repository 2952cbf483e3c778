# SPDX-License-Identifier: Apache-2.0
"""The harness: its location, its catalogue, and a process of it that answers jobs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from lockyard.catalog import Catalog
from lockyard.errors import MissingCapabilityError
from lockyard.program import Answer, Job, Program, program_path

if TYPE_CHECKING:
    from pathlib import Path

    from lockyard.records import types

Record = Answer

BAD_JOB_STATUS = 2


# The harness with user locks that was built for this process, if any.
_own: Path | None = None


def harness_path() -> Path:
    """Returns the harness of this installation, or the one that LOCKYARD_HARNESS names, or the one
    that was built with user locks."""
    return _own or program_path("harness", "LOCKYARD_HARNESS", "nothing can be measured")


def use(path: Path) -> None:
    """Makes this process measure with that harness from now on."""
    global _own  # noqa: PLW0603 - a process has one harness
    _own = path


def exec_harness() -> None:
    """Is the entry point of the script lockyard-harness: becomes the harness."""
    path = str(harness_path())
    os.execv(path, [path, *sys.argv[1:]])  # noqa: S606 - the harness is part of this program


def ask(option: str) -> Any:
    """Returns the harness's answer to --catalog or --environment."""
    asked = subprocess.run(
        [harness_path(), option], capture_output=True, text=True, timeout=60, check=False
    )
    if asked.returncode != 0:
        raise MissingCapabilityError(
            f"the harness does not answer {option}, so nothing can be measured; reinstall "
            f"lockyard, or correct LOCKYARD_HARNESS: {asked.stderr}"
        )
    return json.loads(asked.stdout)


def catalog() -> Catalog:
    return Catalog.from_json(ask("--catalog"))


class Harness(Program):
    """A process of the harness."""

    def __init__(self) -> None:
        super().__init__("harness", harness_path())

    def run(self, job: Job | types.Job, timeout_s: float) -> Record:
        """Returns the record of one job. Raises ProgramDiedError or ProgramOverrunError."""
        self.send(job)
        return self.receive(timeout_s)
