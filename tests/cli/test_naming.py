# SPDX-License-Identifier: Apache-2.0
"""How cells are called."""

from __future__ import annotations

from typing import Any

import pytest
from fake_records import a_record, summed_up

from lockyard.report.naming import Naming, counted


def settings(*conditions: dict[str, Any], study: str = "wait", lock: str | None = "a") -> list[str]:
    records = [a_record(study, lock, cell=n, **each) for n, each in enumerate(conditions)]
    cells = summed_up(*records)
    naming = Naming.of(cells)
    return [naming.setting(cell) for cell in cells]


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ({"pinning": "compact"}, "pinning compact"),
        ({"pinning": [0, 2]}, "pinning 0,2"),
        ({"policy": "rr", "priority": 7}, "policy rr · priority 7"),
        ({"nice": -5}, "nice -5"),
        ({"slice_ns": 3_000_000}, "slice 3.00 ms"),
        (
            {"deadline": {"runtime_ns": 1000, "deadline_ns": 20_000, "period_ns": 3_000_000}},
            "deadline 1.00 µs/20.0 µs/3.00 ms",
        ),
        ({"load": 3, "load_nice": 4}, "load 3 · load nice 4"),
        ({"timer_slack_ns": 1}, "timer slack 1.00 ns"),
        ({"autogroup": False}, "autogroup off"),
        ({"quota_cpus": 1.5}, "quota of 1.5 processors"),
        ({"rest_s": 0.25}, "rest 250 ms"),
        ({"hold_ns": 200, "gap_ns": 2000}, "hold 200 ns · gap 2.00 µs"),
        ({"hold_ns": 1, "lengths": "exponential"}, "hold 1.00 ns · lengths exponential"),
        (
            {"parameters": {"share_percent": 2.5, "rate_per_s": 15000.0, "interval_ns": 310.0}},
            "share 2.5 % · rate 15.0 k/s · interval 310 ns",
        ),
        ({"load": 1, "parameters": {"low_threads": 3.0}}, "load 1 · low threads 3"),
    ],
)
def test_names_what_cannot_be_taken_for_granted(conditions: dict[str, Any], words: str) -> None:
    assert settings(conditions) == [f"2 threads · {words}"]


def test_names_no_default() -> None:
    assert settings({"autogroup": True, "threads": 1}) == ["1 thread"]
    assert settings({"as_published": True}) == ["2 threads"]
    assert settings({"parameters": {"sleepers": 1}}) == ["2 threads"]
    assert settings({}, study="noise", lock=None) == ["2 processors"]


def test_names_a_default_where_it_varies_within_the_study() -> None:
    assert settings({"nice": 0}, {"nice": 3}) == ["2 threads · nice 0", "2 threads · nice 3"]
    assert settings(*({"parameters": {"sleepers": number}} for number in (1, 2))) == [
        "2 threads · sleepers 1",
        "2 threads · sleepers 2",
    ]
    assert settings({}, {"slice_ns": 1000}) == ["2 threads", "2 threads · slice 1.00 µs"]


def test_what_varies_between_studies_only_is_not_named() -> None:
    cells = summed_up(a_record("wait", nice=3), a_record("noise", None, cell=1))
    naming = Naming.of(cells)
    named = {cell.study: naming.setting(cell) for cell in cells}
    assert named == {"wait": "2 threads · nice 3", "noise": "2 processors"}


def test_counts_one_and_many() -> None:
    assert [counted(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
