# SPDX-License-Identifier: Apache-2.0
"""The example of resilient locks completes all work and prints what its page says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "resilient"
PARTS = {"HARNESS": "OFF", "CHECKER": "OFF", "TESTS": "OFF"}


def run(*command: str | Path, limit_s: int = 100) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library has been installed, and nothing else."""
    place = tmp_path_factory.mktemp("installed")
    options = [f"-DLOCKYARD_BUILD_{part}={value}" for part, value in PARTS.items()]
    run("cmake", "-G", "Ninja", "-S", ROOT, "-B", place / "build", *options)
    run("cmake", "--install", place / "build", "--prefix", place / "prefix")
    return place / "prefix"


def without_what_differs(line: str) -> str:
    """Addresses, numbers of threads, and the folder of the source."""
    line = re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"thread \d+", "thread", line))
    return re.sub(r" at \S*?([\w.]+:\d+)$", r" at \1", line)


def page_lines() -> list[str]:
    page = (EXAMPLE / "README.md").read_text()
    return re.findall(r"(?<=^    ).*", page, re.MULTILINE)


def check_example(place: Path, option: str) -> None:
    flags = "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
    run("cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", place, option, flags)
    run("cmake", "--build", place)
    for _ in range(10):
        market = run(place / "market", limit_s=30)
        lines = page_lines()
        # Which of the two is told differs; the lines are the page's, of whichever it is.
        told = [without_what_differs(line) for line in market.stderr.splitlines()]
        wants = sorted(line for line in told if " wants " in line)
        assert wants == sorted(
            without_what_differs(line) for line in lines if line.startswith("  thread")
        )
        wanted, held = re.findall(r"'(.*?)'", told[0])[0], re.findall(r"'(.*?)'", told[-1])[0]
        assert {wanted, held} == {"order book", "ledger"}
        assert told[0] == f"lockyard: lock '{wanted}' 0x waiting for it would be a deadlock"
        assert told[1].startswith(f"  thread wants '{wanted}'")
        assert told[3:] == [f"  this thread holds '{held}' 0x"]
        results = lines[-3:]
        assert results[1] == "recovered from 100 deadlocks"
        assert market.stdout.splitlines() == results


def test_the_example_recovers_with_the_installed_package(prefix: Path, tmp_path: Path) -> None:
    check_example(tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")


def test_the_example_recovers_with_lockyard_in_a_folder(tmp_path: Path) -> None:
    check_example(tmp_path, f"-DLOCKYARD_FOLDER={ROOT}")
