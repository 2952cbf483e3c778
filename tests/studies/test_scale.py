# SPDX-License-Identifier: Apache-2.0
"""The study scale: what is measured and shown."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from fake_records import shown
from fake_scaling import LOCKS, RECOVERING, SLEEPING, rows_of, runs, tables_of
from measured_records import measured
from rich.console import Console

from lockyard.report.summary import summarise
from lockyard.report.tables import tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome


def test_every_lock_of_a_block_has_the_same_think_steps(lockyard: Callable[..., Outcome]) -> None:
    bound = ("--threads", "1", "--for", "60ms", "--runs", "2")
    locks = ("--locks", "queued_spinlock,mutex")
    steps: dict[tuple[str, int], set[int]] = {}
    for run in measured(lockyard, "scale", *bound, *locks):
        place = (run["conditions"]["parameters"]["workload"], run["block"])
        steps.setdefault(place, set()).add(run["values"]["think_steps"])
    assert all(len(found) == 1 for found in steps.values())
    assert all(min(found) > 0 for found in steps.values())


KERNEL = ("--for", "60ms", "--runs", "1", "--calls", "kernel")


def test_the_kernels_calls_succeed_and_leave_no_file(
    lockyard: Callable[..., Outcome], environment: dict[str, str], tmp_path: Path
) -> None:
    environment["TMPDIR"] = str(tmp_path)
    found = measured(lockyard, "scale", *KERNEL, "--locks", "null_lock", "--threads", "1,3")
    ran = {run["conditions"]["parameters"]["workload"] for run in found}
    assert ran == {"lock1", "lock2", "open1", "open2"}
    for run in found:
        assert run["checks"]["objects"] is True, run
        assert run["values"]["operations"] > 0
        assert run["values"]["think_steps"] is None
    assert not list(tmp_path.glob("lockyard-scale.*"))


def test_the_kernels_calls_use_no_lock_of_ours(lockyard: Callable[..., Outcome]) -> None:
    refused = lockyard("measure", "scale", *KERNEL, "--locks", "mutex", "--workload", "lock1")
    assert refused.returncode != 0
    assert "the kernel's calls use the kernel's locks, not mutex" in refused.stdout + refused.stderr


def test_the_kernels_calls_have_the_published_rate_of_the_plain_spinlock() -> None:
    parameters = {"workload": "lock1", "calls": "kernel"}
    records = runs("scale", "ticket_spinlock", 1.0, 0, parameters=parameters, threads=8)
    text = shown(*tables(summarise(records, LOCKS), None, Console(width=300)))
    (row,) = rows_of(text, "ticket_spinlock")
    assert row.endswith("12.9 M/s ± 99.3 k/s –")


def test_the_published_ratios_are_shown_with_recovering_spinlocks_only() -> None:
    text = tables_of("scale", ("lock1", 8), ("lock2", 9))
    first, second, mean = rows_of(text, RECOVERING.name)
    assert first.endswith("0.50 [0.50, 0.50] 0.77 9.95 M/s ± 143 k/s 0.99 (mean) –")
    assert second.endswith("0.50 [0.50, 0.50] 0.96 (mean) – 0.97 (mean) –")
    expected = statistics.geometric_mean([0.77, 0.958])
    assert mean.endswith(f"0.50 [0.50, 0.50] {expected:.2f} (mean) – 0.98 (mean) –")
    assert all(row.endswith("0.25 [0.25, 0.25] – – – –") for row in rows_of(text, SLEEPING.name))
    assert "conditions compared" not in text


def test_each_workload_has_a_mean_over_its_cells_and_all_have_one() -> None:
    text = tables_of("scale", ("lock1", 2), ("lock1", 4), ("lock2", 2))
    titles = [line for line in text.splitlines() if "geometric mean over the cells" in line]
    assert titles == [
        "scale: geometric mean over the cells · lock1",
        "scale: geometric mean over the cells",
    ]
    *_, of_lock1, of_all = rows_of(text, RECOVERING.name)
    assert of_lock1.startswith(f"{RECOVERING.name} 2 0.50")
    assert of_all.startswith(f"{RECOVERING.name} 3 0.50")
