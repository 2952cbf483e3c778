# SPDX-License-Identifier: Apache-2.0
"""The study frequency: what is measured and shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_record, a_study, own_tables_of
from measured_records import BRIEF, measured
from rich.console import Console

from lockyard import harness
from lockyard.catalog import Parameter
from lockyard.report.reference import Against
from lockyard.report.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

SHARE = Parameter("share_percent", "%", "", 0, 100, (0, 50))
INTERVAL = Parameter("interval_ns", "ns", "", 10, 1e7, (100,))
KNOWN = replace(CATALOG, studies=(a_study("frequency", parameters=(INTERVAL, SHARE)),))


def frequency_of(lock: str, pair_ns: float, **by_place: float) -> list[Any]:
    return [
        a_record(
            "frequency",
            lock,
            block,
            cell,
            {"parallelism": value, "pair_ns": pair_ns * (1 + block)},
            parameters={"interval_ns": float(interval), "share_percent": float(share)},
        )
        for cell, (place, value) in enumerate(by_place.items())
        for interval, share in [place.removeprefix("at").split("_")]
        for block in range(-3, 4)
    ]


def frequency_text(*records: Any, against: str | None = None, **terminal: Any) -> str:
    cells = summarise([run for each in records for run in each], KNOWN)
    console = Console(width=200, **terminal)
    with console.capture() as capture:
        for table in own_tables_of(cells, console, Against.of(against, KNOWN), KNOWN):
            console.print(table)
    return capture.get()


MAP = frequency_of("futex_mutex", 10, at100_0=0.5, at100_50=0.01, at3100_0=2.0, at3100_50=1.5)


def test_the_heat_map_is_one_without_colours_too() -> None:
    text = frequency_text(MAP, color_system=None)
    assert "\x1b" not in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "100 ns (10.0 M/s) 0.50 ░ 0.01 ·" in lines
    assert "3.10 µs (323 k/s) 2.00 █ 1.50 ▓" in lines


def test_on_a_terminal_it_has_colours_and_no_color_takes_them() -> None:
    terminal: dict[str, Any] = {"force_terminal": True, "color_system": "truecolor"}
    coloured = frequency_text(MAP, **terminal)
    assert "48;2;26;152;80m2.00 █" in coloured  # all threads: green
    assert "48;2;179;26;44m0.01" in coloured  # next to nothing: red
    plain = frequency_text(MAP, no_color=True, **terminal)
    assert "48;" not in plain
    assert "2.00 █" in plain


def test_the_pair_is_shown_with_the_published_ones() -> None:
    light = frequency_of("ticket_spinlock", 20, at100_0=0.5, at100_50=0.01)
    text = frequency_text(MAP, light, against="ticket_spinlock", color_system=None)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "futex_mutex 10.0 ns 0.50 [0.50, 0.50]" in lines
    assert "ticket_spinlock 20.0 ns the reference" in lines
    assert "published: light 23.5 ns –" in lines
    assert "published: in the kernel 25 × a light one –" in lines


def test_frequency_has_the_pair_of_light_locks_and_of_one_in_the_kernel(
    lockyard: Callable[..., Outcome],
) -> None:
    some = ("--locks", "mutex,kernel_mutex", "--threads", "3", *BRIEF)
    places = ("--set", "interval_ns=10,31000", "--set", "share_percent=0,75")
    runs = measured(lockyard, "frequency", *some, *places)
    assert len(runs) == 8
    for run in runs:
        assert run["checks"] == {"refused_while_held": True, "counter": True}
        assert run["values"]["pair_ns"] > 0
        assert run["values"]["parallelism"] > 0
        assert "waiting_share" not in run["values"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--interval-ns", "9"), "from 10 to 10000000 ns"),
        (("--hold", "1us"), "mean nothing to studies"),
    ],
)
def test_refuses_values_that_cannot_be_measured(
    lockyard: Callable[..., Outcome], arguments: tuple[str, ...], message: str
) -> None:
    refused = lockyard("measure", "frequency", *arguments, "--locks", "mutex", *BRIEF)
    assert refused.returncode == 2
    assert message in " ".join(refused.stderr.split())


def test_the_report_shows_the_map(lockyard: Callable[..., Outcome]) -> None:
    some = ("--locks", "mutex", *BRIEF, "--share-percent", "50", "--interval-ns", "3100")
    printed = lockyard("measure", "frequency", *some, extra={"COLUMNS": "120"})
    assert printed.returncode == 0, printed.stderr
    assert "frequency: parallelism of mutex" in printed.stdout
    assert "\x1b" not in printed.stdout


def test_the_harness_lists_its_parameters() -> None:
    (study,) = harness.catalog().select_studies(["frequency"])
    assert [each.name for each in study.parameters] == ["interval_ns", "share_percent"]
