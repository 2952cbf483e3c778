# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

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
    studies = {study["name"]: study for study in listed["studies"]}
    assert studies.keys() >= {"wait", "idle", "uncontended"}
    # The help of --ways sends its readers here.
    assert {"futex", "event_count"} <= set(studies["wakeup"]["ways"])


def test_shows_the_parameters_of_studies_with_range_and_defaults(
    lockyard: Callable[..., Outcome],
) -> None:
    shown = " ".join(lockyard("list").stdout.split())
    assert "contention --rate-per-s 100 to 1000000000 /s 15000 acquisitions per second" in shown


def test_has_no_colour_codes_in_a_pipe(lockyard: Callable[..., Outcome]) -> None:
    assert "\x1b" not in lockyard("list").stdout


def test_tells_its_version(lockyard: Callable[..., Outcome]) -> None:
    shown = lockyard("--version")
    assert shown.stdout.startswith("lockyard 0.")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("wait --locks tas_spinlock,ticket_s", ["tas_spinlock,ticket_spinlock"]),
        ("wait --against ticket_s", ["ticket_spinlock"]),
        ("contention --set rate_p", ["rate_per_s="]),
        ("torture --workload classic,no", ["classic,nohold"]),
        ("wakeup --against event", ["event_count", "eventfd"]),
    ],
)
def test_completes_names(
    lockyard: Callable[..., Outcome], words: str, completed: list[str]
) -> None:
    answer = lockyard(
        extra={
            "_LOCKYARD_COMPLETE": "complete_bash",
            "COMP_WORDS": f"lockyard measure {words}",
            "COMP_CWORD": "4",
        }
    )
    assert answer.stdout.split() == completed
