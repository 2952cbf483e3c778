# SPDX-License-Identifier: Apache-2.0
"""The study of priorities: inversion where it has to be, none where it cannot be, and who may."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from conftest import COMMAND, as_nobody
from fake_records import a_record, a_study, shown, summed_up
from measured_records import runs_of, total
from rich.console import Console

from lockyard import harness
from lockyard.errors import UsageError
from lockyard.machine.conditions import Conditions
from lockyard.measure import defaults
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.report.tables import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

# The low thread nearly always holds the lock, and the hog nearly always the processor.
CROWDED = ("--set", "hog_percent=90", "--set", "hold_ns=1e6", "--set", "gap_ns=0")
SHORT = ("--set", "interval_ns=1e6", "--runs", "1", "--json")


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> dict[str, dict[str, Any]]:
    runs = runs_of(lockyard("measure", "priority", *arguments, *SHORT), (0, 4))
    return {run["lock"]: run for run in runs}


def measured_in_real_time(
    lockyard: Callable[..., Outcome], *arguments: str
) -> dict[str, dict[str, Any]]:
    """Skips where a user other than root is told that real-time priorities are not permitted."""
    if os.geteuid() != 0 and not defaults.is_permitted("fifo"):
        refused = lockyard("measure", "priority", *arguments, *SHORT)
        assert refused.returncode == 3
        assert "is not permitted" in refused.stderr
        pytest.skip("real-time priorities are not permitted here")
    return measured(lockyard, *arguments)


def test_a_plain_mutex_is_inverted_and_one_with_inheritance_never(
    lockyard: Callable[..., Outcome],
) -> None:
    locks = ("--locks", "mutex,pthread_mutex[normal],pi_mutex,pthread_mutex[pi]")
    runs = measured_in_real_time(lockyard, *locks, "--policy", "fifo", *CROWDED, "--loops", "60")
    for lock, run in runs.items():
        values = run["values"]
        assert set(run["checks"].values()) == {True}, lock
        assert values["complete"] is True, lock
        assert values["high_operations"] == total(run["histograms"]["wait"]) == 60
        assert values["inverted_waits"] == total(run["histograms"]["inversion"])
        assert 0 < values["hog_cpu_share"] <= 1
        inherits = "pi" in lock
        assert (values["inverted_waits"] == 0) == inherits, lock
        assert (values["inversion_ns"] == 0) == inherits, lock
        assert values["inversion_max_ns"] <= values["wait_max_ns"]
        assert 0 < values["wait_mean_ns"] <= values["wait_max_ns"]


def test_without_a_hog_nothing_is_inverted(lockyard: Callable[..., Outcome]) -> None:
    alone = ("--set", "hog_percent=0", "--set", "gap_ns=0")
    arguments = ("--locks", "mutex,tas_spinlock", "--policy", "fifo", *alone, "--loops", "20")
    for run in measured_in_real_time(lockyard, *arguments).values():
        assert run["values"]["inverted_waits"] == 0
        assert run["values"]["hog_cpu_share"] == 0


def test_one_that_spins_above_the_owner_is_rescued(lockyard: Callable[..., Outcome]) -> None:
    spins = ("--locks", "tas_spinlock,ticket_spinlock", "--policy", "rr", "--threads", "3")
    for lock, run in measured_in_real_time(lockyard, *spins, *CROWDED, "--loops", "15").items():
        values = run["values"]
        assert values["complete"] is True, lock
        assert values["rescues"] > 0, lock
        assert values["wait_max_ns"] >= values["rescued_after_ns"] > 0, lock
        assert run["stalls"][0]["length_ns"] == values["wait_max_ns"]


def test_by_nice_it_needs_no_permission_and_no_rescuer(lockyard: Callable[..., Outcome]) -> None:
    locks = ("--locks", "mutex,ticket_spinlock", "--policy", "batch", "--for", "500ms")
    for lock, run in measured(lockyard, *locks).items():
        assert set(run["checks"].values()) == {True}, lock
        assert run["values"]["high_operations"] > 0
        assert run["values"]["rescued_after_ns"] is None
        assert run["values"]["rescues"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--policy", "idle", "--dry-run"), "means nothing to study"),
        (("--policy", "other", "--nice", "18"), "leaves no room"),
        (("--set", "hog_percent=91"), "from 0 to 90 %"),
        (("--gap", "1us"), "mean nothing to studies"),
    ],
)
def test_refuses_what_has_no_ranks(
    lockyard: Callable[..., Outcome], arguments: tuple[str, ...], message: str
) -> None:
    refused = lockyard("measure", "priority", "--locks", "mutex", *arguments)
    assert refused.returncode == 2
    assert message in refused.stderr


def of_nobody(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = as_nobody(COMMAND, "measure", "priority", "--locks", "mutex", *arguments, *SHORT)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_an_unprivileged_user_is_told_and_measures_by_nice_unless_asked_otherwise() -> None:
    refused = of_nobody("--policy", "fifo")
    assert refused.returncode == 3, refused.stderr
    assert "/etc/security/limits.d" in refused.stderr
    found = of_nobody("--for", "100ms")
    assert found.returncode == 0, found.stderr
    assert "priority: this process may not use the policy fifo" in found.stderr
    runs = [json.loads(line) for line in found.stdout.splitlines()]
    (run,) = [run for run in runs if run.get("lock")]
    assert run["conditions"]["policy"] == "other"


RANKED = a_study(
    "priority", default_locks=("pi_mutex", "mutex"), default_policies=("fifo", "rr", "other")
)
PLAIN = a_study("wait")


@pytest.mark.parametrize(
    ("permitted", "policy", "remarks"),
    [({"fifo"}, "fifo", 0), ({"rr"}, "rr", 1), (set(), "other", 2)],
)
def test_takes_the_first_policy_that_is_permitted_and_says_which_are_not(
    permitted: set[str], policy: str, remarks: int
) -> None:
    asked = Conditions(load=2, nice=3)
    found, said = defaults.conditions([PLAIN, RANKED], asked, lambda each: each in permitted)
    assert list(found) == ["priority"]
    (conditions,) = found["priority"]
    assert (conditions.policy, conditions.load) == (policy, 2)
    assert conditions.priority == (0 if policy == "other" else 1)
    assert conditions.nice == (3 if policy == "other" else 0)
    assert len(said) == remarks


def test_default_locks_belong_to_their_study_alone() -> None:
    default_conditions, _ = defaults.conditions([RANKED], Conditions(), lambda _policy: True)
    request = Request(
        [2], default_locks={"priority": ["pi_mutex"]}, default_conditions=default_conditions
    )
    cells = plan_cells([PLAIN, RANKED], [], request)
    assert [(cell.study, cell.lock, cell.conditions.policy) for cell in cells] == [
        ("priority", "pi_mutex", "fifo")
    ]


@pytest.mark.parametrize("policy", ["idle", "deadline"])
def test_a_policy_without_ranks_is_refused_before_anything_runs(policy: str) -> None:
    study = harness.catalog().select_studies(["priority"])
    locks = harness.catalog().locks[:1]
    for known, priority in (("fifo", 1), ("rr", 1), ("other", 0), ("batch", 0)):
        ranked = [Conditions(policy=known, priority=priority)]
        assert plan_cells(study, locks, Request([3], conditions=ranked))
    unranked = [Conditions(), Conditions(policy=policy)]
    with pytest.raises(UsageError, match=f"--policy {policy}: .*'priority'; measure it under"):
        plan_cells(study, locks, Request([3], conditions=unranked))


def test_the_default_locks_are_locks_and_others_are_added() -> None:
    catalog = harness.catalog()
    (study,) = catalog.select_studies(["priority"])
    found = defaults.locks(catalog, [study], ["futex_mutex", "mutex"])
    assert found == {"priority": [*study.default_locks, "futex_mutex"]}
    assert {"pi_mutex", "pthread_mutex[pi]", "mutex"} <= set(study.default_locks)


def test_shows_waits_inversion_and_rescues() -> None:
    values = {
        "high_operations": 200,
        "low_operations_per_s": 5e3,
        "wait_mean_ns": 1e6,
        "wait_max_ns": 14e6,
        "inverted_waits": 50,
        "inversion_max_ns": 5e6,
        "inversion_ns": 6e7,
        "hog_cpu_share": 0.5,
    }
    plain = {**values, "rescues": 0, "rescued_after_ns": None}
    strict = {**values, "rescues": 2, "rescued_after_ns": 51e6}
    records = [
        a_record("priority", lock, block, values=each)
        for lock, each in (("futex_mutex", plain), ("ticket_spinlock", strict))
        for block in range(6)
    ]
    text = shown(*tables(summed_up(*records), None, Console(width=300)))
    rows = {line.split()[0]: line for line in text.splitlines() if line}
    assert rows["futex_mutex"].startswith("futex_mutex 6 1.00 ms")
    assert "14.0 ms 25.0 % – 5.00 ms – 5.00 k/s 50.0 %" in rows["futex_mutex"]
    assert "14.0 ms 25.0 % – 5.00 ms 12 after 51.0 ms 5.00 k/s" in rows["ticket_spinlock"]
