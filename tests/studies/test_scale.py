# SPDX-License-Identifier: Apache-2.0
"""The study scale: what is measured and shown."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from fake_scaling import RECOVERING, SLEEPING, rows_of, tables_of
from measured_records import measured

if TYPE_CHECKING:
    from collections.abc import Callable

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
