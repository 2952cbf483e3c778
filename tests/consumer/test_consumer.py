# SPDX-License-Identifier: Apache-2.0
"""That a program can use the library in each of the ways that the build offers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONSUMER = Path(__file__).parent


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library has been installed, without its harness and tests."""
    place = tmp_path_factory.mktemp("installed")
    build = place / "build"
    parts = ("-DLOCKYARD_BUILD_HARNESS=OFF", "-DLOCKYARD_BUILD_TESTS=OFF")
    run("cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *parts)
    run("cmake", "--install", build, "--prefix", place / "prefix")
    return place / "prefix"


def build_consumer(place: Path, option: str) -> None:
    run("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", place, option)
    run("cmake", "--build", place)
    run(place / "consumer")


def test_find_package_finds_the_installed_library(prefix: Path, tmp_path: Path) -> None:
    build_consumer(tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")


def test_add_subdirectory_builds_neither_harness_nor_tests(tmp_path: Path) -> None:
    build_consumer(tmp_path, f"-DLOCKYARD_FOLDER={ROOT}")
    assert not list(tmp_path.rglob("lockyard-harness*"))


def test_pkg_config_names_the_installed_headers(prefix: Path, tmp_path: Path) -> None:
    (folder,) = prefix.rglob("pkgconfig")
    flags = run("pkg-config", "--cflags", "lockyard", PKG_CONFIG_PATH=str(folder)).split()
    source = CONSUMER / "consumer.cpp"
    run("c++", *flags, source, "-o", tmp_path / "consumer", "-pthread")
    run(tmp_path / "consumer")
