# SPDX-License-Identifier: Apache-2.0
"""The cost of including a header: in lines, since the time depends on the machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def lines_of(header: str) -> int:
    """Counts the lines that this machine's compiler reads, with everything that is included."""
    preprocessed = subprocess.run(
        ["c++", "-std=c++20", f"-I{ROOT}/include", "-E", "-x", "c++", "-"],
        input=f"#include <{header}>\n",
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return preprocessed.stdout.count("\n")


def test_the_mutex_is_no_more_than_half_as_long_again_as_the_standard_one() -> None:
    assert lines_of("lockyard/park/mutex.hpp") <= 1.5 * lines_of("mutex")
