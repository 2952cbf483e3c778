# SPDX-License-Identifier: Apache-2.0
"""A user's test can check a user's lock: the example, with its fault and fixed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "my_lock"
CONSUMER = Path(__file__).parent
PARTS = {"HARNESS": "OFF", "CHECKER": "OFF", "TESTS": "OFF"}

# Each of these compiles the engine, on a machine that may do other things as well.
pytestmark = pytest.mark.timeout(300)


def attempt(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)


def run(*command: str | Path) -> str:
    done = attempt(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def configure(source: Path, build: Path, *options: str) -> None:
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, *options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns where the example was built with lockyard in a folder of its own. The engine is
    compiled here and nowhere else."""
    place = tmp_path_factory.mktemp("folder")
    copy_example(place)
    fast = "-DCMAKE_BUILD_TYPE=None"  # it is the engine's build that takes long
    configure(place / "source", place / "build", f"-DLOCKYARD_FOLDER={ROOT}", fast)
    run("cmake", "--build", place / "build", "--parallel", "2")
    return place


@pytest.fixture(scope="module")
def prefix(folder: Path) -> Path:
    """Returns where the library was installed with lockyard::check, and nothing else."""
    run("cmake", "--install", folder / "build", "--prefix", folder / "prefix")
    return folder / "prefix"


def copy_example(place: Path) -> None:
    shutil.copytree(EXAMPLE, place / "source")


def check_example(place: Path) -> None:
    """Its fault is found at its line; without the fault the same test passes."""
    lock = place / "source" / "spinlock.hpp"
    faulty = lock.read_text()
    line = 1 + next(i for i, text in enumerate(faulty.splitlines()) if "the fault:" in text)
    run("cmake", "--build", place / "build", "--parallel", "2")
    found = attempt(place / "build" / "spinlock_test")
    assert found.returncode == 1
    assert "race: " in found.stdout
    assert f"spinlock.hpp:{line}  store relaxed" in found.stdout
    assert 'replay: "' in found.stdout
    lock.write_text(faulty.replace("memory_order_relaxed", "memory_order_release"))
    run("cmake", "--build", place / "build", "--parallel", "2")
    assert "[  PASSED  ] 1 test." in run(place / "build" / "spinlock_test")


def check_plain_lock(place: Path) -> None:
    """lockyard_add_check() passes a lock that knows no world, and finds a fault in it."""
    lock = place / "source" / "plain_lock.hpp"
    test = ("ctest", "--test-dir", place / "build", "-R", "plain_lock_check", "--output-on-failure")
    run("cmake", "--build", place / "build", "--parallel", "2", "--target", "plain_lock_check")
    assert "100% tests passed" in run(*test)
    lock.write_text(lock.read_text().replace("memory_order_release", "memory_order_relaxed"))
    run("cmake", "--build", place / "build", "--target", "plain_lock_check")
    found = attempt(*test)
    assert found.returncode != 0
    assert "my::plain_lock 2x1: race: " in found.stdout
    assert "plain_lock.hpp:18  store relaxed" in found.stdout


def test_locks_are_checked_with_the_installed_package(prefix: Path, tmp_path: Path) -> None:
    copy_example(tmp_path)
    configure(tmp_path / "source", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    check_example(tmp_path)
    check_plain_lock(tmp_path)


def test_locks_are_checked_with_lockyard_in_a_folder(folder: Path) -> None:
    check_example(folder)
    check_plain_lock(folder)


def test_who_uses_the_locks_alone_needs_nothing_of_the_checkers(
    prefix: Path, tmp_path: Path
) -> None:
    without = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("Boost", "absl")]
    configure(CONSUMER, tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", *without)
    run("cmake", "--build", tmp_path)
    run(tmp_path / "consumer")


def test_a_lockyard_without_the_checker_says_so(tmp_path: Path) -> None:
    options = [f"-DLOCKYARD_BUILD_{part}={value}" for part, value in PARTS.items()]
    configure(ROOT, tmp_path / "build", *options)
    run("cmake", "--install", tmp_path / "build", "--prefix", tmp_path / "prefix")
    done = attempt(
        *("cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", tmp_path / "example"),
        f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}",
    )
    assert done.returncode != 0
    assert "this lockyard has no component check" in " ".join(done.stderr.split())


def test_the_header_says_what_is_missing_without_the_engine() -> None:
    header = ROOT / "include" / "lockyard" / "check.hpp"
    done = attempt("c++", "-std=c++20", "-E", f"-I{ROOT / 'include'}", header)
    assert done.returncode != 0
    assert "link lockyard::check" in done.stderr
