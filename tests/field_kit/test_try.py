# SPDX-License-Identifier: Apache-2.0
"""`lockyard try` compares a program alone with the same program with other locks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    Lockyard = Callable[..., Outcome]

# Its figures depend on the library that is loaded, so the verdict is known.
SCRIPT = """#!/bin/sh
case "$LD_PRELOAD" in
  *run-mutex.so*) name=mutex rate=30 delay=3 ;;
  *run-fair_mutex.so*) name=fair_mutex rate=10 delay=1 ;;
  *run-glibc.so*) name=glibc rate=20 delay=${CONTROL_DELAY:-2} ;;
  *) name=alone rate=20 delay=2 ;;
esac
echo "$name" >>"$0.order"
echo "rate 1; warming up"
echo "rate $rate; delay $delay"
"""
RATE, DELAY = "rate ([0-9]+)", "delay ([0-9]+)"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_text(SCRIPT)
    path.chmod(0o700)
    return path


def test_shows_gains_and_losses(lockyard: Lockyard, script: Path) -> None:
    shown = lockyard("try", "--higher", RATE, "--lower", DELAY, "--", str(script))
    assert shown.returncode == 0, shown.stderr
    verdicts = shown.stdout.splitlines()
    assert f"mutex gains: {RATE} 1.5 [1.5, 1.5] of the program alone" in verdicts
    assert f"mutex loses: {DELAY} 1.5 [1.5, 1.5] of the program alone" in verdicts
    assert f"fair_mutex loses: {RATE} 0.5 [0.5, 0.5] of the program alone" in verdicts
    assert f"fair_mutex gains: {DELAY} 0.5 [0.5, 0.5] of the program alone" in verdicts
    rows = [line for line in verdicts if line.startswith("  glibc (control)")]
    assert rows[1].split()[2:] == ["20", "1", "[1,", "1]", "no", "difference", "shown"]
    assert "context switches (lower is better)" in verdicts
    assert verdicts[-1].startswith("7 rounds in random order (seed ")


def test_control_that_differs_comes_first(lockyard: Lockyard, script: Path) -> None:
    shown = lockyard("try", "--lower", DELAY, "--", str(script), extra={"CONTROL_DELAY": "4"})
    assert f"The control differs: {DELAY} 2 [2, 2] of the program alone" in shown.stdout


def test_equal_figures_show_no_difference(lockyard: Lockyard, script: Path) -> None:
    shown = lockyard("try", "--mutex", "futex_mutex", "--higher", RATE, "--json", "--", str(script))
    found = json.loads(shown.stdout)
    rate = next(each for each in found["metrics"] if each["name"] == RATE)
    assert rate["locks"]["futex_mutex"]["gains"] is None
    assert rate["locks"]["futex_mutex"]["ratio"] == {"median": 1, "low": 1, "high": 1}


def test_runs_take_turns_in_an_order_that_the_seed_repeats(
    lockyard: Lockyard, script: Path
) -> None:
    order = script.with_name("program.order")
    orders = []
    for _ in range(2):
        shown = lockyard("try", "--rounds", "8", "--seed", "5", "--json", "--", str(script))
        found = json.loads(shown.stdout)
        orders.append(order.read_text().split())
        order.unlink()
    assert orders[0] == orders[1]
    rounds = [tuple(orders[0][i : i + 4]) for i in range(0, 32, 4)]
    assert all(sorted(each) == ["alone", "fair_mutex", "glibc", "mutex"] for each in rounds)
    assert len(set(rounds)) > 1
    assert [len(each["alone"]) for each in found["metrics"]] == [8, 8]
    assert found["seed"] == 5


def test_a_failed_run_is_no_figure(lockyard: Lockyard, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho broken\ncase "$LD_PRELOAD" in *fair*) exit 9;; esac\n')
    program.chmod(0o700)
    shown = lockyard("try", "--", str(program))
    assert shown.returncode == 4
    assert "with fair_mutex ended with status 9 in round 1" in shown.stderr
    assert "broken" in shown.stderr
    assert shown.stdout == ""


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--rounds", "6"), "fewer than 7 rounds"),
        (("--higher", "rate [0-9]+"), "has 0 groups"),
        (("--higher", "rate (["), "not a regular expression"),
        (("--higher", "speed ([0-9]+)"), "found nothing in the program's output"),
        (("--lower", "(warming)"), "found 'warming', which is not a number"),
        (("--mutex", "mcs_spinlock"), "cannot replace a pthread mutex"),
    ],
)
def test_bad_requests_are_refused(
    lockyard: Lockyard, script: Path, options: tuple[str, ...], why: str
) -> None:
    shown = lockyard("try", *options, "--", str(script))
    assert shown.returncode == 2
    assert why in shown.stderr
    assert shown.stdout == ""
