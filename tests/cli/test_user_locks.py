# SPDX-License-Identifier: Apache-2.0
"""A lock that was written on the spot, compiled into the studies and measured."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from conftest import COMMAND
from measured_records import RECORDS
from user_lock_headers import TICKET_LOCK, measure, write_headers

if TYPE_CHECKING:
    from pathlib import Path

WAIT = ("wait", *TICKET_LOCK, "--threads", "2", "--for", "60ms", "--seed", "3")

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def cache(builds: Path) -> Path:
    """Returns a folder that modules of other tests do not push harnesses out of."""
    return builds / "harnesses"


@pytest.fixture
def environment(environment: dict[str, str], cache: Path) -> dict[str, str]:
    return {**environment, "XDG_CACHE_HOME": str(cache), "COLUMNS": "200"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_headers(tmp_path / "home")


def lines_of(measured: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in measured.stdout.splitlines()]


def test_measures_it_with_the_catalogue(home: Path, environment: dict[str, str]) -> None:
    measured = measure(home, environment, *WAIT, "--locks", "ticket_spinlock", "--json")
    assert measured.returncode == 0, measured.stderr
    lines = lines_of(measured)
    for line in lines:
        RECORDS.validate(line)
    runs = [line for line in lines if line.get("lock")]
    assert {run["lock"] for run in runs} == {"my::ticket_lock", "ticket_spinlock"}
    header = home / "my" / "ticket_lock.hpp"
    for run in runs:
        if run["lock"] != "my::ticket_lock":
            assert "lock_source" not in run
            continue
        # It has no try_lock, so nothing can be said of whether it refuses.
        assert run["checks"] == {"refused_while_held": None, "counter": True}
        assert run["lock_source"]["header"] == "my/ticket_lock.hpp"
        digest = hashlib.sha256(header.read_bytes()).hexdigest()
        assert run["lock_source"]["sha256"] == digest
    environment_record, plan = lines[:2]
    assert list(environment_record["harness"]["own_locks"]) == ["my::ticket_lock"]
    assert plan["own"]["locks"] == [
        {"header": "my/ticket_lock.hpp", "type_name": "my::ticket_lock"}
    ]


def test_compares_it_and_is_compared_with_it(home: Path, environment: dict[str, str]) -> None:
    for reference in ("ticket_spinlock", "my::ticket_lock"):
        shown = measure(
            home, environment, *WAIT, "--locks", "ticket_spinlock", "--against", reference
        )
        assert shown.returncode == 0, shown.stderr
        rows = [line for line in shown.stdout.splitlines() if "the reference" in line]
        assert rows and all(reference in row for row in rows)


def test_shows_its_records_without_its_header(home: Path, environment: dict[str, str]) -> None:
    path = home / "records.jsonl"
    assert measure(home, environment, *WAIT, "--out", str(path)).returncode == 0
    shutil.rmtree(home / "my")
    shown = subprocess.run(
        [COMMAND, "report", "--tables", "--from", str(path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert "my::ticket_lock" in shown.stdout


def test_catches_one_that_does_not_exclude(home: Path, environment: dict[str, str]) -> None:
    measured = measure(
        home,
        environment,
        *("throughput", "--lock", "my/open_door.hpp:my::open_door<2>", "--locks", "tas_spinlock"),
        *("--threads", "2", "--for", "60ms"),
    )
    assert measured.returncode == 4
    (said,) = [line for line in measured.stdout.splitlines() if line.startswith("BROKEN")]
    assert "my::open_door<2>" in said and "refused_while_held" in said


def test_builds_once_and_says_so(home: Path, environment: dict[str, str], cache: Path) -> None:
    def built() -> set[str]:
        return {path.name for path in (cache / "lockyard" / "user_locks").iterdir()}

    measure(home, environment, *WAIT)
    before = built()
    again = measure(home, environment, *WAIT)
    assert "using an earlier build" in again.stderr
    assert "building" not in again.stderr
    assert built() == before
    assert not any(name.startswith("build.") for name in before)


def test_builds_again_whenever_what_it_read_has_changed(
    home: Path, environment: dict[str, str]
) -> None:
    def is_built(*flags: str) -> bool:
        measured = measure(home, environment, *WAIT, *flags)
        assert measured.returncode == 0, measured.stderr
        return "building wait" in measured.stderr

    is_built()
    for name, line in (
        ("my/ticket_lock.hpp", "// An afterthought.\n"),
        ("waits/patience.hpp", "inline constexpr int patience = 2;\n"),
    ):
        path = home / name
        path.write_text(path.read_text() + line)
        assert is_built(), name
    assert is_built("--flags", "-DPATIENCE=3")
    assert not is_built("--flags", "-DPATIENCE=3")


def test_continues_with_the_same_lock_only(home: Path, environment: dict[str, str]) -> None:
    path = home / "records.jsonl"
    asked = ("wait", *TICKET_LOCK, "--locks", "ticket_spinlock", "--threads", "2", "--runs", "2")
    whole = measure(home, environment, *asked, "--out", str(path))
    assert whole.returncode == 0, whole.stderr
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:4]))
    resumed = measure(home, environment, "--resume", str(path))
    assert resumed.returncode == 0, resumed.stderr
    assert "using an earlier build" in resumed.stderr
    assert len(path.read_text().splitlines()) == len(lines) + 1  # another environment record
    header = home / "my" / "ticket_lock.hpp"
    header.write_text(header.read_text() + "// Another lock.\n")
    refused = measure(home, environment, "--resume", str(path))
    assert refused.returncode == 2
    assert "harness.own_locks" in refused.stderr


def test_leaves_out_of_readers_what_cannot_be_shared(
    home: Path, environment: dict[str, str]
) -> None:
    refused = measure(home, environment, "readers", *TICKET_LOCK)
    assert refused.returncode == 2
    assert re.search(r"my::ticket_lock lacks some of lock_shared\(\)", refused.stderr)
