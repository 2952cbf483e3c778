# SPDX-License-Identifier: Apache-2.0
"""What a header costs whoever includes it: in lines, for time depends on the machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def lines_of(header: str) -> int:
    """As the compiler of this machine reads it, with all that it includes."""
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
