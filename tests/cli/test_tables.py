# SPDX-License-Identifier: Apache-2.0
"""Tables of locks, and of one lock under several conditions, from made-up runs."""

from __future__ import annotations

from typing import Any

import pytest
from fake_records import CATALOG, MS, a_record, shown, summed_up
from rich.console import Console

from lockyard.report.reference import Against
from lockyard.report.tables import tables

WIDE = Console(width=300)
BLOCKS = 9


def runs(rates: list[float], **others: Any) -> list[dict[str, Any]]:
    """One a block, with a longest wait of the square of its rate."""
    return [
        a_record(
            block=block,
            values={"operations_per_s": rate, "wait_max_ns": rate**2, "run_ns": 50 * MS},
            **others,
        )
        for block, rate in enumerate(rates)
    ]


def tables_of(*records: dict[str, Any], against: str | None = None) -> list[str]:
    reference = Against.of(against, CATALOG)
    return [shown(each) for each in tables(summed_up(*records), reference, WIDE)]


def row(table: str, *parts: str) -> str:
    (found,) = [line for line in table.splitlines() if all(part in line for part in parts)]
    return found


# Rates that differ more between blocks than between conditions: only pairs show the ratio.
ONE_TO_NINE = [float(n) for n in range(1, BLOCKS + 1)]
DOUBLE = [2 * rate for rate in ONE_TO_NINE]
TENFOLD = [10 * rate for rate in ONE_TO_NINE]


def test_a_lock_is_set_against_itself_under_the_first_conditions() -> None:
    *_, compared = tables_of(
        *runs(ONE_TO_NINE, cell=0, lock="ticket_spinlock"),
        *runs(TENFOLD, cell=1, lock="futex_mutex"),
        *runs(DOUBLE, cell=2, lock="ticket_spinlock", load=4),
        *runs(TENFOLD[::-1], cell=3, lock="futex_mutex", load=4),
    )
    assert "wait: conditions compared" in compared
    loaded = "ticket_spinlock load 4"  # what all have in common is left out
    assert row(compared, loaded) == f"{loaded} 2.00 [2.00, 2.00] 4.00 [4.00, 4.00]"
    first = "ticket_spinlock load 0"
    assert row(compared, first) == f"{first} the reference the reference"
    # 10, 20 … 90 divided by the same values backwards: the median ratio is 1.
    rates = "1.00 [0.25, 4.00] no difference shown"
    longest = "1.00 [0.06, 16.0] no difference shown"
    assert row(compared, "futex_mutex", "load 4").endswith(f"{rates} {longest}")


def test_locks_stay_together_and_conditions_as_planned() -> None:
    *_, compared = tables_of(
        *runs(ONE_TO_NINE, cell=0, lock="ticket_spinlock", policy="rr", priority=1),
        *runs(ONE_TO_NINE, cell=1, lock="futex_mutex", policy="rr", priority=1),
        *runs(ONE_TO_NINE, cell=2, lock="ticket_spinlock"),
        *runs(ONE_TO_NINE, cell=3, lock="futex_mutex"),
    )
    rows = [line for line in compared.splitlines() if "policy" in line]
    assert [
        line.split(" 1.00")[0].removesuffix(" the reference the reference") for line in rows
    ] == [
        "ticket_spinlock policy rr · priority 1",
        "ticket_spinlock policy other",
        "futex_mutex policy rr · priority 1",
        "futex_mutex policy other",
    ]


def test_a_lock_without_runs_under_the_first_conditions_is_compared_with_nothing() -> None:
    failed = {**a_record(), "status": "crashed", "reason": "signal 6", "values": {}}
    *_, compared = tables_of(failed, *runs(DOUBLE, cell=1, load=4))
    assert row(compared, "load 4").endswith("load 4 – –")
    assert row(compared, "crashed") == "futex_mutex crashed"


def test_only_blocks_of_both_are_paired() -> None:
    *_, compared = tables_of(*runs(ONE_TO_NINE), *runs(DOUBLE[:3], cell=1, load=4))
    assert "2.00 [too few blocks]" in row(compared, "load 4")


def test_each_set_of_conditions_has_its_own_table_and_its_own_reference() -> None:
    plain, loaded, *_ = tables_of(
        *runs(ONE_TO_NINE, cell=0, lock="ticket_spinlock"),
        *runs(DOUBLE, cell=1, lock="futex_mutex"),
        *runs(TENFOLD, cell=2, lock="ticket_spinlock", load=4),
        *runs(TENFOLD, cell=3, lock="futex_mutex", load=4),
        against="ticket_spinlock",
    )
    assert "2 threads · load 0" in plain
    assert "2.00 [2.00, 2.00]" in row(plain, "futex_mutex")
    assert "2 threads · load 4" in loaded
    assert "1.00 [1.00, 1.00] no difference shown" in row(loaded, "futex_mutex")


@pytest.mark.parametrize("other", [{"threads": 16}, {"as_published": True}, {"hold_ns": 200}])
def test_what_measures_something_else_is_not_compared(other: dict[str, Any]) -> None:
    found = tables_of(*runs(ONE_TO_NINE), *runs(DOUBLE, cell=1, **other))
    assert len(found) == 2
    assert not any("conditions compared" in table for table in found)


def test_says_so_where_it_has_no_table() -> None:
    (said,) = tables_of(a_record("later"))
    assert "later: this version has no table for it" in said
