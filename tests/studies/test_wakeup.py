# SPDX-License-Identifier: Apache-2.0
"""The study of ways to wait: what is planned, what the harness records, what a person sees."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import a_record, a_study, shown
from measured_records import RECORDS
from rich.console import Console

from lockyard import harness
from lockyard.catalog import Catalog
from lockyard.errors import UsageError
from lockyard.measure.plan import DEFAULT_GAPS_NS, PUBLISHED_GAP_NS, plan_cells
from lockyard.measure.request import Request
from lockyard.measure.work import Work
from lockyard.report.reference import Against
from lockyard.report.summary import summarise
from lockyard.report.tables import tables
from lockyard.studies.wakeup import PUBLISHED_NAMES, published_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

CPUS = sorted(os.sched_getaffinity(0))
PAIRS = [(CPUS[0], CPUS[0]), *([(CPUS[0], CPUS[1])] if len(CPUS) > 1 else [])]
STUDY = a_study(
    "wakeup",
    measures="ways",
    takes="gap",
    ways=("spin", "futex", "sleep_1ms"),
    published_loops=1000,
)
CATALOG = Catalog("0", (), (), (STUDY,))


def planned(**request: Any) -> list[Any]:
    return plan_cells([STUDY], [], Request(**{"threads": [1], **request}))


def test_plans_each_way_on_and_off_the_publishers_processor() -> None:
    cells = planned()
    assert {cell.pinning for cell in cells} == set(PAIRS)
    assert {cell.threads for cell in cells} == {2}
    assert {cell.work.gap_ns for cell in cells} == set(DEFAULT_GAPS_NS)
    assert {cell.lock for cell in cells} == set(STUDY.ways)
    assert len(cells) == len(PAIRS) * len(DEFAULT_GAPS_NS) * len(STUDY.ways)


def test_plans_a_broadcast_with_more_threads() -> None:
    cells = planned(threads=[5], ways=["futex"], work=[Work(gap_ns=7)])
    assert [(cell.threads, cell.pinning) for cell in cells] == [
        *((2, pair) for pair in PAIRS),
        (5, tuple(CPUS)),
    ]


def test_plans_the_places_that_were_given() -> None:
    cells = planned(threads=[1, 3], pinning="spread", ways=["futex"], work=[Work(gap_ns=7)])
    assert [(cell.threads, cell.pinning) for cell in cells] == [(2, "spread"), (3, "spread")]


def test_plans_the_published_form() -> None:
    cells = planned(as_published=True, ways=["spin"])
    assert [(cell.loops, cell.work.gap_ns, cell.threads) for cell in cells] == [
        (1000, PUBLISHED_GAP_NS, max(len(CPUS), 2))
    ]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"work": [Work(hold_ns=1)]}, "no lock to hold"),
        (
            {"work": [Work(gap_ns=1, lengths="exponential")]},
            "the study wakeup varies its gaps itself",
        ),
    ],
)
def test_refuses_what_means_nothing_here(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        planned(**request_)


def test_refuses_ways_without_the_study(lockyard: Callable[..., Outcome]) -> None:
    refused = lockyard("measure", "wait", "--ways", "futex")
    assert refused.returncode == 2
    assert "--ways" in refused.stderr
    unknown = lockyard("measure", "wakeup", "--ways", "futx")
    assert unknown.returncode == 2
    assert "did you mean futex? ('lockyard list --json' shows all)" in unknown.stderr


def test_every_way_of_the_harness_wakes_its_workers(lockyard: Callable[..., Outcome]) -> None:
    """To three workers, on however many processors, so that a wake-up forgotten hangs."""
    rounds = 20
    measured = lockyard(
        *("measure", "wakeup", "--json", "--threads", "4", "--pin", str(CPUS[0])),
        *("--gap", "20us", "--loops", str(rounds), "--runs", "1", "--seed", "1"),
    )
    assert measured.returncode == 0, measured.stderr
    records = [json.loads(line) for line in measured.stdout.splitlines()]
    for record in records:
        RECORDS.validate(record)
    runs = [record for record in records if record.get("study") == "wakeup"]
    assert {run["lock"] for run in runs} == set(harness.catalog().ways)
    for run in runs:
        values = run["values"]
        # Four threads that spin on one processor next to other work may need longer than a run has.
        done = values["operations_per_thread"][0]
        assert values["operations_per_thread"] == [done] * 4, run["lock"]
        assert done == rounds if values["complete"] else 0 < done < rounds
        for stamp in ("wakeup", "published"):
            least, median, most = (
                values[f"{stamp}_{what}_ns"] for what in ("min", "median", "max")
            )
            assert least <= values[f"{stamp}_mean_ns"] <= most
            # The middle of a bucket may lie beyond what is in it.
            assert least - abs(least) * 0.01 - 1 <= median <= most + abs(most) * 0.01 + 1
        # The stamp before the publication is the earlier one.
        assert values["published_mean_ns"] < values["wakeup_mean_ns"]
        assert values["published_negatives"] >= values["wakeup_negatives"]
        counted = sum(count for _, count in run["histograms"]["wakeup"]["counts"])
        assert counted + values["wakeup_negatives"] == done * 3
        assert values["idle_ns"] >= 10_000
        assert 0 < values["waiting_cpu_share"] < 1.1, run["lock"]


def a_wakeup(way: str, median_ns: float, block: int = 0, **values: Any) -> dict[str, Any]:
    record = a_record(
        "wakeup",
        way,
        block,
        values={
            "operations_per_thread": [100, 100],
            "wakeup_median_ns": median_ns,
            "wakeup_mean_ns": median_ns,
            "wakeup_min_ns": 20.0,
            "wakeup_max_ns": 1e6,
            "wakeup_deviation_ns": 5.0,
            "wakeup_negatives": 0,
            "published_negatives": 25,
            "waiting_cpu_share": 0.02,
            "idle_ns": 2e6,
            "power_w": None,
            **values,
        },
        gap_ns=2_000_000,
    )
    return {**record, "clock": {"source": "tsc", "ns_per_tick": 0.5}}


def test_shows_cycles_with_the_published_ones_and_negative_shares() -> None:
    runs = [
        a_wakeup(way, median_ns, block)
        for block in range(6)
        for way, median_ns in (("sleep_1ms", 9e5), ("futex", 4000.0), ("spin", 100.0))
    ]
    cells = summarise(runs, CATALOG)
    against = Against.of("futex", CATALOG)
    text = shown(*tables(cells, against, Console(width=300)))
    assert "way to wait" in text
    rows = {line.split()[0]: line for line in text.splitlines() if line}
    assert list(rows).index("spin") < list(rows).index("futex") < list(rows).index("sleep_1ms")
    assert "100 ns 200 140" in rows["spin"]
    assert "4.00 µs 8,000 –" in rows["futex"]
    assert "the reference" in rows["futex"]
    assert "900 µs 1,800,000 26,400,000" in rows["sleep_1ms"]
    assert "0.0 % 25.0 %" in rows["spin"]
    assert "2.0 %" in rows["spin"]


def test_shows_power_where_the_machine_tells_it() -> None:
    text = shown(
        *tables(
            summarise([a_wakeup("spin", 100.0, power_w=12.34)], CATALOG), None, Console(width=300)
        )
    )
    assert "12.3 W" in text


def test_every_published_figure_has_a_way_of_the_harness() -> None:
    assert set(PUBLISHED_NAMES.values()) == set(published_table())
    assert set(PUBLISHED_NAMES) <= set(harness.catalog().ways)
