# SPDX-License-Identifier: Apache-2.0
"""A program can use the library in each way that the build offers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONSUMER = Path(__file__).parent
EXAMPLE = ROOT / "examples" / "c"
CHECKER = {"lockyard/check.hpp"}  # comes with lockyard::check alone


def attempt(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, **environment},
    )


def run(*command: str | Path, **environment: str) -> str:
    done = attempt(*command, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def headers_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*.hpp")}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library has been installed, without its harness and tests, with its C functions."""
    place = tmp_path_factory.mktemp("installed")
    build = place / "build"
    parts = (
        "-DLOCKYARD_BUILD_HARNESS=OFF",
        "-DLOCKYARD_BUILD_CHECKER=OFF",
        "-DLOCKYARD_BUILD_TESTS=OFF",
        "-DLOCKYARD_BUILD_C=ON",
    )
    run("cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *parts)
    run("cmake", "--build", build)
    run("cmake", "--install", build, "--prefix", place / "prefix")
    return place / "prefix"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of the library as it lies here, changes that are not committed included."""
    place = tmp_path / "repository"
    shutil.copytree(ROOT / "include", place / "include")
    shutil.copytree(ROOT / "cmake", place / "cmake")
    shutil.copy(ROOT / "CMakeLists.txt", place)
    person = ("-c", "user.name=lockyard", "-c", "user.email=lockyard@example.org")
    run("git", "init", "--quiet", "--initial-branch=main", place)
    run("git", "-C", place, "add", ".")
    run("git", *person, "-C", place, "commit", "--quiet", "--no-gpg-sign", "-m", "the library")
    return place


def build_consumer(place: Path, option: str) -> None:
    """Builds and runs the program; its lockyard::lockyard has to list every header there is."""
    run("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", place, option)
    run("cmake", "--build", place)
    run(place / "consumer")
    listed = {path.rpartition("/include/")[2] for path in headers_of(place)}
    assert listed == headers_below(ROOT / "include") - CHECKER


def headers_of(consumer: Path) -> list[str]:
    return (consumer / "headers.txt").read_text().split(";")


def test_every_header_of_the_library_is_installed(prefix: Path) -> None:
    assert headers_below(prefix / "include") == headers_below(ROOT / "include") - CHECKER


def test_find_package_finds_the_installed_library(prefix: Path, tmp_path: Path) -> None:
    build_consumer(tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    assert all(path.startswith(str(prefix)) for path in headers_of(tmp_path))


@pytest.mark.parametrize("version", ["0.0", "0.1.1", "0.2", "1.0"])
def test_find_package_refuses_another_version(prefix: Path, tmp_path: Path, version: str) -> None:
    options = (f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLOCKYARD_VERSION={version}")
    done = attempt("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", tmp_path, *options)
    assert done.returncode != 0
    assert f'requested version "{version}"' in " ".join(done.stderr.split())


def test_add_subdirectory_builds_neither_harness_nor_tests(tmp_path: Path) -> None:
    build_consumer(tmp_path, f"-DLOCKYARD_FOLDER={ROOT}")
    assert not list(tmp_path.rglob("lockyard-harness*"))


def test_fetch_content_clones_the_library(repository: Path, tmp_path: Path) -> None:
    build_consumer(tmp_path / "build", f"-DLOCKYARD_REPOSITORY=file://{repository}")


def package_flags(prefix: Path, what: str, package: str) -> list[str]:
    folders = ":".join(str(path) for path in prefix.rglob("pkgconfig"))
    return run("pkg-config", what, package, PKG_CONFIG_PATH=folders).split()


def test_pkg_config_names_the_installed_headers(prefix: Path, tmp_path: Path) -> None:
    flags = package_flags(prefix, "--cflags", "lockyard")
    source = CONSUMER / "consumer.cpp"
    run("c++", *flags, source, "-o", tmp_path / "consumer", "-pthread")
    run(tmp_path / "consumer")


@pytest.mark.parametrize("standard", ["c99", "c11"])
def test_c_example_is_built_with_pkg_config_and_prints_what_its_page_says(
    prefix: Path, tmp_path: Path, standard: str
) -> None:
    compiles = package_flags(prefix, "--cflags", "lockyard-c")
    links = package_flags(prefix, "--libs", "lockyard-c")
    strict = (f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread")
    program = tmp_path / "main"
    run("cc", *strict, *compiles, EXAMPLE / "main.c", *links, "-o", program)
    folder = next(flag[2:] for flag in links if flag.startswith("-L"))
    printed = run(program, LD_LIBRARY_PATH=folder)
    page = (EXAMPLE / "README.md").read_text()
    assert printed.splitlines() == re.findall(r"(?<=^    )[^./c].*", page, re.MULTILINE)


def test_c_header_is_a_header_of_cpp_too(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "main.cpp"
    source.write_text(
        "#include <lockyard.h>\n"
        "static lockyard_semaphore permits = LOCKYARD_SEMAPHORE_INITIALIZER(1);\n"
        "int main() { return lockyard_semaphore_acquire(&permits, 1); }\n"
    )
    flags = package_flags(prefix, "--cflags", "lockyard-c")
    strict = ("-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    run("c++", *strict, *flags, source, *package_flags(prefix, "--libs", "lockyard-c"),
        "-o", tmp_path / "main")  # fmt: skip


def test_c_library_exports_what_its_header_declares_and_nothing_else(prefix: Path) -> None:
    (library,) = (path for path in prefix.rglob("liblockyard.so") if path.is_symlink())
    lines = run("nm", "--dynamic", "--defined-only", library).splitlines()
    exported = {line.split()[2].partition("@")[0] for line in lines if " A " not in line}
    header = next(prefix.rglob("lockyard.h")).read_text()
    assert exported == set(re.findall(r"\b(lockyard_\w+)\(", header))


@pytest.mark.parametrize(
    ("macro", "header", "message"),
    [
        (
            "__x86_64__" if os.uname().machine == "x86_64" else "__aarch64__",
            "arch.hpp",
            "lockyard has no code for this processor, so none of its locks can be built: compile "
            "for x86-64 or aarch64, or write detail/arch/<name>.hpp and select it in "
            "detail/arch.hpp",
        ),
        (
            "__linux__",
            "os.hpp",
            "lockyard has no code for this operating system, so none of its locks can be built: "
            "compile for Linux, or write detail/os/<name>.hpp and select it in detail/os.hpp",
        ),
    ],
)
def test_headers_stop_where_they_cannot_work(macro: str, header: str, message: str) -> None:
    selector = ROOT / "include/lockyard/detail" / header
    done = attempt("c++", "-std=c++20", "-E", f"-I{ROOT / 'include'}", f"-U{macro}", selector)
    assert done.returncode != 0
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1 and message in errors[0], done.stderr
