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


USE = """
#include <lockyard/park/mutex.hpp>
extern template class lockyard::basic_mutex<>;
lockyard::mutex lock;
int count;
void add() {
  lock.lock();
  ++count;
  lock.unlock();
}
"""


def test_a_source_that_leaves_the_slow_paths_to_another_one_inlines_the_fast_paths(
    tmp_path: Path,
) -> None:
    compiled = tmp_path / "use.o"
    subprocess.run(
        ["c++", "-std=c++20", "-O2", f"-I{ROOT}/include", "-c", "-x", "c++", "-", "-o", compiled],
        input=USE,
        check=True,
        text=True,
        timeout=60,
    )

    def symbols(which: str) -> str:
        listed: list[str | Path] = ["nm", "-C", which, compiled]
        return subprocess.run(listed, check=True, capture_output=True, text=True, timeout=60).stdout

    assert "basic_mutex<" not in symbols("--defined-only")
    elsewhere = symbols("--undefined-only")
    assert ">::unlock_with_waiters(" in elsewhere
    assert ">::lock(" not in elsewhere and ">::unlock(" not in elsewhere
