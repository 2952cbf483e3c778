# SPDX-License-Identifier: Apache-2.0
"""Classes that --lock cannot compile: one line of ours, then the compiler's own words."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND
from user_lock_headers import TICKET_LOCK, measure, write_headers

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.timeout(300)
SLOW_COMPILER = """#!/bin/sh
case "$*" in *--version*) echo "slow 1.0"; exit 0;; esac
echo $$ >"$STARTED"
exec sleep 600
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_headers(tmp_path / "home")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def environment(environment: dict[str, str], cache: Path) -> dict[str, str]:
    return {**environment, "XDG_CACHE_HOME": str(cache)}


@pytest.fixture
def refused(home: Path, environment: dict[str, str]) -> Callable[..., list[str]]:
    """The lines of a refusal, the first of which is ours."""

    def run(*arguments: str) -> list[str]:
        found = measure(home, environment, "wait", *arguments)
        assert found.returncode == 2, found.stderr
        assert found.stdout == ""
        lines = found.stderr.splitlines()
        assert lines[0].startswith("lockyard: --"), found.stderr
        return lines

    return run


def test_shows_the_line_of_the_header_that_does_not_compile(
    refused: Callable[..., list[str]],
) -> None:
    first, *said = refused("--lock", "my/misspelt.hpp:my::misspelt")
    assert "does not compile, so nothing was measured; fix" in first
    assert any("my/misspelt.hpp:8:" in line and "error:" in line for line in said)
    assert any("held_.put(false)" in line for line in said)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("no_unlock", "it has no unlock() that can be called without arguments"),
        ("no_lock", "it has no lock() that can be called without arguments"),
        ("of_two_words", "it has no lock() that can be called without arguments"),
        (
            "tries_in_vain",
            "its try_lock() does not return a bool that says whether it acquired the lock",
        ),
        ("wants_a_name", "it has no constructor without arguments"),
        ("large", "it is larger than 3968 bytes"),
    ],
)
def test_names_what_a_class_lacks_to_be_a_lock(
    refused: Callable[..., list[str]], name: str, cause: str
) -> None:
    first, *said = refused("--lock", f"my/no_locks.hpp:my::{name}")
    assert f"not a lock that can be measured, because {cause}" in first
    assert "so nothing was measured; add" in first
    assert any("static assertion failed" in line for line in said)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (
            "my/no_locks.hpp:my::nothing",
            "my/no_locks.hpp declares no type my::nothing, so nothing was measured; choose from ",
        ),
        (
            "my/no_locks.hpp:my::no_locc",
            "my/no_locks.hpp declares no type my::no_locc, so nothing was measured; did you mean "
            "my::no_lock or ",
        ),
        (
            "my/open_door.hpp:my::open_door",
            "my::open_door is a template without its arguments, so nothing was measured; add them",
        ),
    ],
)
def test_says_in_one_line_why_the_option_names_no_type(
    refused: Callable[..., list[str]], named: str, message: str
) -> None:
    (only,) = refused("--lock", "my/open_door.hpp:my::open_door<1>", "--lock", named)
    assert only.startswith(f"lockyard: --lock {named}: {message}")


def test_names_the_lock_at_fault_among_several(refused: Callable[..., list[str]]) -> None:
    good = "my/open_door.hpp:my::open_door<1>"
    first, *_ = refused("--lock", good, "--lock", "my/misspelt.hpp:my::misspelt")
    assert first.startswith("lockyard: --lock my/misspelt.hpp:my::misspelt: does not compile,")


def test_says_that_headers_do_not_go_together(
    home: Path, refused: Callable[..., list[str]]
) -> None:
    text = (home / "my" / "open_door.hpp").read_text()
    (home / "copy.hpp").write_text(f"{text}// Another file of the same class.\n")
    locks = ("--lock", "my/open_door.hpp:my::open_door<1>", "--lock", "copy.hpp:my::open_door<2>")
    first, *said = refused(*locks)
    assert "does not compile together, so nothing was measured" in first
    assert any("redefinition of" in line for line in said)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--lock", "nowhere.hpp:my::lock"), "there is no file nowhere.hpp"),
        (("--lock", "my:my::lock"), "my cannot be read (Is a directory)"),
        (("--lock", "my/ticket_lock.hpp"), "not HEADER:TYPE; name both"),
        (("--lock", "my/ticket_lock.hpp:a;b"), "not HEADER:TYPE; name both"),
        ((*TICKET_LOCK, "--include", "nowhere"), "no such folder"),
        ((*TICKET_LOCK, "--flags", "'"), "cannot be split into words"),
        ((*TICKET_LOCK, "--flags", "-fsanitize=thread"), "are incompatible with the harness's"),
        ((*TICKET_LOCK, "--flags", "-o other"), "lockyard sets this flag itself"),
        (("--include", "waits"), "applies only to a user lock"),
        (("--flags", "-O1"), "applies only to a user lock"),
        (("--lock", "my/no_locks.hpp:std::mutex"), "the catalogue has a lock of this name"),
        (
            ("--lock", "my/no_locks.hpp:x::y", "--lock", "my/misspelt.hpp:x::y"),
            "is named from two headers",
        ),
    ],
)
def test_refuses_options_that_name_no_lock(
    refused: Callable[..., list[str]], arguments: tuple[str, ...], message: str
) -> None:
    (said,) = refused(*arguments)
    assert message in said
    assert ";" in said


def test_refuses_studies_that_measure_no_user_lock(home: Path, environment: dict[str, str]) -> None:
    found = measure(home, environment, "costs", "wakeup", "recovery", *TICKET_LOCK)
    assert found.returncode == 2
    assert (
        "costs, wakeup, recovery cannot measure a user lock, so nothing was measured"
        in found.stderr
    )
    assert "choose from wait" in found.stderr


def test_says_what_the_linker_misses(home: Path, environment: dict[str, str]) -> None:
    found = measure(home, environment, "wait", "--lock", "my/no_locks.hpp:my::elsewhere")
    assert found.returncode == 2
    assert "does not link, so nothing was measured" in found.stderr
    assert "undefined reference to `my::elsewhere::lock()'" in found.stderr


@pytest.mark.parametrize("compiler", ["/nowhere/g++", "/bin/false"])
def test_says_that_there_is_no_compiler(
    home: Path, environment: dict[str, str], compiler: str
) -> None:
    found = measure(home, {**environment, "CXX": compiler}, "wait", *TICKET_LOCK)
    assert found.returncode == 3
    assert "so --lock cannot compile anything; correct or unset CXX" in found.stderr


def test_says_that_there_is_no_binutils(home: Path, environment: dict[str, str]) -> None:
    compiler = shutil.which(os.environ.get("CXX") or "g++")
    assert compiler is not None
    found = measure(
        home, {**environment, "CXX": compiler, "PATH": "/nowhere"}, "wait", *TICKET_LOCK
    )
    assert found.returncode == 3
    assert "readelf does not list the libraries of" in found.stderr
    assert "install binutils" in found.stderr


@pytest.fixture
def slow(tmp_path: Path, environment: dict[str, str]) -> dict[str, str]:
    """An environment whose compiler never ends."""
    path = tmp_path / "slow-compiler"
    path.write_text(SLOW_COMPILER)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {**environment, "CXX": str(path), "STARTED": str(tmp_path / "started")}


def leftovers(cache: Path) -> list[str]:
    return [path.name for path in (cache / "lockyard" / "user_locks").iterdir()]


def begun_build(home: Path, slow: dict[str, str], how: signal.Signals) -> int:
    """The status of a command that was ended while its compiler was at work."""
    started = Path(slow["STARTED"])
    command: list[str | Path] = [COMMAND, "measure", "wait", *TICKET_LOCK]
    with subprocess.Popen(command, cwd=home, env=slow, stderr=subprocess.PIPE) as process:
        while not (started.exists() and started.read_text().endswith("\n")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(how)
        return process.wait(timeout=60)


def test_an_interrupted_build_leaves_nothing(home: Path, slow: dict[str, str], cache: Path) -> None:
    assert begun_build(home, slow, signal.SIGINT) == 130
    assert leftovers(cache) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path(slow["STARTED"]).read_text()), 0)


def test_what_a_killed_build_leaves_is_removed_by_the_next(
    home: Path, slow: dict[str, str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lockyard.user_locks.cache import tidy, workplace

    assert begun_build(home, slow, signal.SIGKILL) == -signal.SIGKILL
    os.kill(int(Path(slow["STARTED"]).read_text()), signal.SIGKILL)  # a compiler ends by itself
    (left,) = leftovers(cache)
    assert left.startswith("build.")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    with workplace() as place:
        tidy([])
        assert leftovers(cache) == [place.name]
    assert leftovers(cache) == []


def test_a_compiler_that_does_not_end_is_ended(
    home: Path, slow: dict[str, str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lockyard.errors import UsageError
    from lockyard.user_locks.build import harness_with
    from lockyard.user_locks.lock_spec import user_locks_of

    monkeypatch.chdir(home)
    for name in ("CXX", "XDG_CACHE_HOME", "STARTED"):
        monkeypatch.setenv(name, slow[name])
    named = user_locks_of([TICKET_LOCK[1]], [TICKET_LOCK[3]], "")
    assert named is not None
    with pytest.raises(UsageError, match=r"did not end within 0\.2 s and was stopped"):
        harness_with(named, ["wait"], limit_s=0.2)
    assert leftovers(cache) == []


def test_completes_the_names_of_headers_and_folders(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lockyard.cli.completions import folders, headers

    monkeypatch.chdir(home)
    assert headers("my/t") == ["my/ticket_lock.hpp:"]
    assert headers("m") == ["my/"]
    assert folders("") == ["my/", "waits/"]
    assert headers("nowhere/") == []
