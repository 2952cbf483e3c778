# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome


def test_shows_every_lock_of_the_catalogue_with_its_seed_name(
    lockyard: Callable[..., Outcome],
) -> None:
    shown = lockyard("list")
    assert shown.returncode == 0
    for name in ("ticket_spinlock", "terrible_spinlock", "pthread_mutex[adaptive]", "null_lock"):
        assert name in shown.stdout
    for study in ("wait", "idle", "uncontended"):
        assert study in shown.stdout


def test_prints_json_and_nothing_else(lockyard: Callable[..., Outcome]) -> None:
    shown = lockyard("list", "--json")
    listed = json.loads(shown.stdout)
    assert shown.stderr == ""
    names = {lock["name"]: lock for lock in listed["locks"]}
    assert names["ticket_spinlock"]["fairness"] == "fifo"
    assert names["futex_mutex"]["size_bytes"] == 4
    assert {study["name"] for study in listed["studies"]} >= {"wait", "idle", "uncontended"}


def test_has_no_colour_codes_in_a_pipe(lockyard: Callable[..., Outcome]) -> None:
    assert "\x1b" not in lockyard("list").stdout


def test_tells_its_version(lockyard: Callable[..., Outcome]) -> None:
    shown = lockyard("--version")
    assert shown.stdout.startswith("lockyard 0.")


def test_completes_lock_names_behind_a_comma(lockyard: Callable[..., Outcome]) -> None:
    completed = lockyard(
        extra={
            "_LOCKYARD_COMPLETE": "complete_bash",
            "COMP_WORDS": "lockyard measure wait --locks tas_spinlock,ticket_s",
            "COMP_CWORD": "4",
        }
    )
    assert completed.stdout.split() == ["tas_spinlock,ticket_spinlock"]
