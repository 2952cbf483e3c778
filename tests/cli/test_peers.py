# SPDX-License-Identifier: Apache-2.0
"""Other libraries' locks: those that are there, and those that are not."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

ROOT = Path(__file__).parents[2]
MISSING = "nsync is missing: it was not found; install libnsync-dev"
SHORT = ("--runs", "1", "--threads", "2", "--for", "60ms")


@pytest.fixture
def without_nsync(tmp_path: Path) -> dict[str, str]:
    """An environment in which the harness was built without one library."""
    from lockyard.harness import harness_path

    path = tmp_path / "without-nsync"
    change = (
        "import json, subprocess, sys\n"
        f"real = '{harness_path()}'\n"
        f"missing = '{MISSING}'\n"
        "if sys.argv[1:] == ['--catalog']:\n"
        "    asked = subprocess.run([real, '--catalog'], capture_output=True, timeout=60)\n"
        "    found = json.loads(asked.stdout)\n"
        "    for library in found['libraries']:\n"
        "        if library['name'] == 'nsync':\n"
        "            library |= {'version': None, 'missing': missing}\n"
        "    print(json.dumps(found))\n"
        "elif sys.argv[1:]:\n"
        "    sys.exit(subprocess.run([real, *sys.argv[1:]], timeout=60).returncode)\n"
        "for line in sys.stdin if not sys.argv[1:] else ():\n"
        "    job = json.loads(line)\n"
        "    absent = job['lock'] == 'nsync_mu'\n"
        "    run = {**job, 'lock': 'std::mutex'} if absent else job\n"
        "    record = json.loads(subprocess.run([real], input=json.dumps(run), text=True,\n"
        "        capture_output=True, timeout=60).stdout)\n"
        "    if absent and not job['rehearse']:\n"
        "        record |= {'lock': 'nsync_mu', 'status': 'unavailable', 'reason': missing,\n"
        "            'values': {}, 'histograms': {}, 'stalls': [], 'checks': {}}\n"
        "    print(json.dumps(record), flush=True)\n"
    )
    program = tmp_path / "without_nsync.py"
    program.write_text(change)
    path.write_text(f'#!/bin/sh\nexec python3 {program} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"LOCKYARD_HARNESS": str(path)}


def listed(outcome: Outcome) -> dict[str, dict[str, Any]]:
    assert outcome.returncode == 0, outcome.stderr
    return {peer["name"]: peer for peer in json.loads(outcome.stdout)["peers"]}


def runs_of(text: str) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in text.splitlines()]
    return [record for record in records if record.get("lock") is not None]


def test_lists_each_peer_with_its_library_and_says_what_is_missing(
    lockyard: Callable[..., Outcome],
) -> None:
    peers = listed(lockyard("list", "--peers", "--json"))
    assert peers["std::mutex"]["version"] is None and peers["std::mutex"]["missing"] is None
    for name in ("absl::Mutex", "tbb::queuing_mutex", "ck_spinlock_mcs", "parking_lot::Mutex"):
        assert (peers[name]["version"] is None) != (peers[name]["missing"] is None)
    assert "futex_mutex" not in peers


def test_says_what_to_install_for_a_peer_that_is_missing(
    lockyard: Callable[..., Outcome], without_nsync: dict[str, str]
) -> None:
    peer = listed(lockyard("list", "--peers", "--json", extra=without_nsync))["nsync_mu"]
    assert (peer["version"], peer["missing"]) == (None, MISSING)
    shown = lockyard("list", "--peers", extra=without_nsync)
    assert re.search(r"nsync_mu +nsync +missing", shown.stdout)
    assert MISSING in shown.stdout


def test_measures_every_available_peer_with_the_others(
    lockyard: Callable[..., Outcome],
) -> None:
    peers = listed(lockyard("list", "--peers", "--json"))
    measured = lockyard("measure", "uncontended", "--locks", "all", "--peers", *SHORT, "--json")
    assert measured.returncode == 0, measured.stderr
    status = {run["lock"]: run["status"] for run in runs_of(measured.stdout)}
    assert {"futex_mutex", "std::mutex", *peers} <= set(status)
    for name, peer in peers.items():
        assert status[name] == ("unavailable" if peer["missing"] else "ok")


def test_has_a_row_for_a_peer_that_is_missing(
    lockyard: Callable[..., Outcome], without_nsync: dict[str, str]
) -> None:
    arguments = ("measure", "wait", "--locks", "nsync_mu,std::mutex", *SHORT)
    measured = lockyard(*arguments, "--json", extra=without_nsync)
    assert measured.returncode == 0, measured.stderr
    runs = {run["lock"]: (run["status"], run["reason"]) for run in runs_of(measured.stdout)}
    assert runs == {"nsync_mu": ("unavailable", MISSING), "std::mutex": ("ok", None)}
    shown = lockyard(*arguments, extra=without_nsync).stdout
    assert f"nsync_mu: unavailable: {MISSING}" in shown
    assert re.search(r"nsync_mu +unavailable", shown)


def test_ends_with_3_if_nothing_that_was_asked_for_is_there(
    lockyard: Callable[..., Outcome], without_nsync: dict[str, str]
) -> None:
    measured = lockyard("measure", "wait", "--locks", "nsync_mu", *SHORT, extra=without_nsync)
    assert measured.returncode == 3


def test_takes_other_libraries_locks_only_if_asked(lockyard: Callable[..., Outcome]) -> None:
    measured = lockyard("measure", "uncontended", "--locks", "all", *SHORT, "--json")
    names = {run["lock"] for run in runs_of(measured.stdout)}
    assert "pthread_mutex[pi]" in names
    assert "absl::Mutex" not in names


def test_yard_installs_the_packages_that_the_harness_asks_for() -> None:
    asked = set(
        re.findall(r'"install (lib\S+)"', (ROOT / "harness/peers/CMakeLists.txt").read_text())
    )
    (installed,) = re.findall(r'^PEER_PACKAGES="(.*)"', (ROOT / "yard").read_text(), re.MULTILINE)
    assert asked == set(installed.split())
