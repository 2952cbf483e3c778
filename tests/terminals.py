# SPDX-License-Identifier: Apache-2.0
"""The command at a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from typing import TYPE_CHECKING

from conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def on_a_terminal(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """What a person at one of 80 columns sees, with its control sequences."""
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [COMMAND, *arguments],
        stdout=terminal,
        stderr=terminal,
        env={**environment, "TERM": "xterm"},
    ) as process:
        os.close(terminal)
        shown = b""
        while select.select([controller], [], [], 60)[0]:
            try:
                shown += os.read(controller, 4096)
            except OSError:
                break  # the other side is closed
        assert process.wait(timeout=60) == 0
    os.close(controller)
    return shown.decode()
