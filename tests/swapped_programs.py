# SPDX-License-Identifier: Apache-2.0
"""Small programs for tests that run them with other locks."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 60


def compiled(text: str, source: Path, *flags: str) -> Path:
    """Returns the program, or library, of one source; its suffix chooses the compiler."""
    source.write_text(text)
    compiler = ["gcc"] if source.suffix == ".c" else ["g++", "-std=c++20"]
    program = source.with_suffix("")
    subprocess.run(
        [*compiler, "-O1", "-g1", "-pthread", source, "-o", program, *flags],
        check=True, timeout=PATIENCE_S,
    )  # fmt: skip
    return program
