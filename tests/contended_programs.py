# SPDX-License-Identifier: Apache-2.0
"""The program whose threads contend in known ways, for the tests of profile and guard."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCES = sorted((Path(__file__).parent / "field_kit").glob("contended_*.cpp"))


def compiled(binary: Path, *flags: str) -> Path:
    command = ["c++", "-std=c++20", "-O1", "-pthread", *flags, *map(str, SOURCES)]
    command += ["-o", str(binary)]
    subprocess.run(command, check=True, timeout=100)
    return binary
