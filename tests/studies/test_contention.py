# SPDX-License-Identifier: Apache-2.0
"""The study contention and its preset frequency: what is planned, measured and shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_record, a_study, own_tables_of, shown, workloads
from measured_records import BRIEF, measured
from rich.console import Console

from lockyard import harness
from lockyard.catalog import Choice, Parameter
from lockyard.compare.figures import headline
from lockyard.errors import UsageError
from lockyard.measure.parameters import check_clock
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.report.ideal import ideal
from lockyard.report.reference import Against
from lockyard.report.summary import summarise
from lockyard.report.tables import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

SHARE = Parameter("share_percent", "%", "", 0, 100, (0, 50))
RATE = Parameter("rate_per_s", "/s", "", 100, 1e9, (15_000,))
ALLOCATOR = Choice("allocator", "", 3, 0.1, 1.0, {"rate_per_s": (100.0, 200.0)})
CONTENTION = a_study(
    "contention",
    takes="none",
    parameters=(workloads("draws", ALLOCATOR), RATE, SHARE),
    clock_reads=2,
)
KNOWN = replace(CATALOG, studies=(CONTENTION,))
INTERVAL = Parameter("interval_ns", "ns", "", 10, 1e7, (100,))
FREQUENCY = a_study("frequency", parameters=(INTERVAL, SHARE))
WITH_FREQUENCY = replace(CATALOG, studies=(FREQUENCY,))
WIDE = Console(width=300)


def test_a_workload_may_have_its_own_default_values() -> None:
    cells = plan_cells([CONTENTION], CATALOG.locks[:1], Request([2]))
    found = [(*dict(cell.parameters).values(), cell.threads) for cell in cells]
    assert found == [
        ("draws", 15_000, 0, 2),
        ("draws", 15_000, 50, 2),
        *(("allocator", rate, share, 3) for rate in (100, 200) for share in (0, 50)),
    ]


@pytest.mark.parametrize(
    ("clock", "rate", "is_refused"),
    [
        ({"source": "tsc", "tsc_read_ns": 10.0}, 5e7, False),
        ({"source": "tsc", "tsc_read_ns": 10.0}, 5.1e7, True),
        ({"source": "monotonic_raw", "tsc_read_ns": 1, "monotonic_raw_read_ns": 50}, 2e7, True),
    ],
)
def test_intervals_that_reading_the_clock_would_fill_are_refused(
    clock: dict[str, Any], rate: float, is_refused: bool
) -> None:
    cells = plan_cells(
        [CONTENTION], CATALOG.locks, Request([2], parameters={"rate_per_s": (f"{rate:g}",)})
    )
    if is_refused:
        with pytest.raises(
            UsageError, match=r"study 'contention' reads its clock in each interval"
        ):
            check_clock(cells, [CONTENTION], clock)
    else:
        check_clock(cells, [CONTENTION], clock)
    without_clock = replace(CONTENTION, clock_reads=0)
    check_clock(cells, [without_clock], clock)


@pytest.mark.parametrize(
    ("threads", "processors", "share", "parallelism", "waiting"),
    [
        (2, 2, 0.0, 2.0, 0.0),
        (2, 2, 0.5, 1.6, 0.2),  # π = 1, 2, 2 of 5: (2 + 2·2 + 1·2) / 5, and 2/5 · 1/2
        (2, 1, 0.5, 1.0, None),
        (4, 4, 1.0, 1.0, 0.75),
        (1, 4, 0.3, 1.0, 0.0),
        (4, 2, 0.001, 2.0, None),
    ],
)
def test_the_ideal_is_the_steady_state_of_a_closed_queue(
    threads: int, processors: int, share: float, parallelism: float, waiting: float | None
) -> None:
    found = ideal(threads, processors, share)
    assert found.parallelism == pytest.approx(parallelism, abs=0.005)
    if waiting is not None:
        assert found.waiting_share == pytest.approx(waiting)


def test_the_ideal_falls_with_the_share_and_rises_with_the_threads() -> None:
    shares = [ideal(4, 4, percent / 100).parallelism for percent in range(0, 101, 10)]
    assert shares == sorted(shares, reverse=True)
    threads = [ideal(n, 8, 0.3).parallelism for n in range(1, 9)]
    assert threads == sorted(threads)


def a_run(
    study: str, lock: str, block: int, cell: int, values: dict[str, float], **conditions: Any
) -> dict[str, Any]:
    return a_record(study, lock, block, cell, values, **conditions)


def contention_of(
    lock: str, by_share: dict[float, float], workload: str = "draws", **conditions: Any
) -> list[Any]:
    return [
        a_run(
            "contention",
            lock,
            block,
            cell,
            {"parallelism": value * (1 + block), "waiting_share": 0.1},
            **conditions,
            parameters={"workload": workload, "rate_per_s": 15_000.0, "share_percent": share},
        )
        for cell, (share, value) in enumerate(by_share.items())
        for block in range(-3, 4)
    ]


def contention_text(*records: Any, console: Console = WIDE, against: str | None = None) -> str:
    cells = summarise([run for each in records for run in each], KNOWN)
    reference = Against.of(against, KNOWN)
    assert list(tables(cells, reference, console)) == []  # it has tables of its own
    return shown(*own_tables_of(cells, console, reference, KNOWN))


def row(text: str, *starts: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(starts)]


def test_a_row_for_each_lock_and_a_column_for_each_share_with_ideal_and_published() -> None:
    text = contention_text(contention_of("futex_mutex", {0: 1.9, 50: 1.5, 60: 0.6}))
    parallelism, waiting = text.split("contention: share of")
    assert "2 threads · workload draws · rate 15.0 k/s" in " ".join(parallelism.split())
    assert row(parallelism, "futex", "ideal", "published") == [
        "futex_mutex 1.90 1.50 0.60 50 to 60 %: 56.5 %",
        "ideal 2.00 1.60 1.47 –",
        "published – 1.50 – –",
    ]
    assert row(waiting, "futex", "ideal", "published") == [
        "futex_mutex 10.0 % 10.0 % 10.0 %",
        "ideal 0.0 % 20.0 % 26.5 %",
        "published – 25.0 % –",
    ]


def test_the_cliff_of_four_threads_is_named_where_there_are_four() -> None:
    text = contention_text(contention_of("futex_mutex", {50: 1.5, 60: 1.4, 70: 1.3}, threads=4))
    assert row(text, "published") == ["published – – – near 60 %"]
    three = contention_text(contention_of("futex_mutex", {50: 1.5, 60: 1.4}, threads=3))
    assert row(three, "published") == []
    assert row(three, "futex")[0] == "futex_mutex 1.50 1.40 –"  # no fall between two alone


def test_the_allocator_has_no_published_parallelism() -> None:
    records = contention_of("futex_mutex", {50: 1.5}, workload="allocator")
    assert row(contention_text(records), "published") == []


def test_ratios_are_paired_by_block_at_each_share() -> None:
    text = contention_text(
        contention_of("futex_mutex", {0: 2.0, 50: 1.0}),
        contention_of("ticket_spinlock", {0: 1.0, 50: 1.0}),
        against="ticket_spinlock",
    )
    ratios = text.split("contention: parallelism / ticket_spinlock")[1]
    (found,) = row(ratios, "futex_mutex")
    assert found == "futex_mutex 2.00 [2.00, 2.00] 1.00 [1.00, 1.00] no difference shown"


def test_a_narrow_terminal_shows_every_share_in_several_tables() -> None:
    shares = range(0, 101, 10)
    records = contention_of("futex_mutex", {float(share): 1.0 for share in shares})
    narrow = contention_text(records, console=Console(width=60))
    heads = [line for line in narrow.splitlines() if line.startswith("lock ")]
    assert len(heads) > 2
    for share in shares:
        assert f" {share} %" in "".join(heads)


def test_every_lock_excludes_and_work_adds_up(lockyard: Callable[..., Outcome]) -> None:
    some = ("--set", "share_percent=0,50", "--set", "rate_per_s=100000", "--threads", "3")
    runs = measured(lockyard, "contention", "--locks", "ours", *some, *BRIEF)
    assert {run["conditions"]["parameters"]["workload"] for run in runs} == {"draws", "allocator"}
    for run in runs:
        values, conditions = run["values"], run["conditions"]
        of = (run["lock"], conditions["parameters"])
        has_blocks = conditions["parameters"]["workload"] == "allocator"
        checks = {"refused_while_held": True, "counter": True, "blocks": has_blocks or None}
        assert run["checks"] == checks, of
        assert values["interval_ns"] == 10_000
        free = values["units"] - values["held_units"]
        work_ns = free * values["unit_ns"] + values["held_units"] * values["held_unit_ns"]
        assert values["work_ns"] == pytest.approx(work_ns)
        assert values["parallelism"] == pytest.approx(work_ns / values["run_ns"])
        assert 0 <= values["waiting_share"] <= 1
        assert (values["held_units"] == 0) == (conditions["parameters"]["share_percent"] == 0), of


def test_the_mean_interval_and_the_share_are_as_requested(
    lockyard: Callable[..., Outcome],
) -> None:
    """A thread that has used each of its lengths once has done exactly their sum."""
    loops = ("--loops", "1024", "--for", "60s")  # the loops end long before this limit
    some = ("--threads", "1", *loops, "--runs", "2", "--workload", "draws")
    shares = ("--set", "share_percent=0,2.5,50,100", "--set", "rate_per_s=20000,1e6")
    for run in measured(lockyard, "contention", "--locks", "mutex", *some, *shares):
        values, parameters = run["values"], run["conditions"]["parameters"]
        work_ns = 1024 * 1e9 / parameters["rate_per_s"]
        assert values["work_ns"] == pytest.approx(work_ns, abs=2 * values["unit_ns"])
        held_ns = values["held_units"] * values["unit_ns"]
        share = parameters["share_percent"] / 100
        assert held_ns == pytest.approx(share * work_ns, abs=values["unit_ns"])


def test_a_lock_that_admits_everybody_is_caught_and_leaves_the_allocator_whole(
    lockyard: Callable[..., Outcome],
) -> None:
    locks = ("--locks", "broken_lock,null_lock", "--threads", "3")
    for run in measured(lockyard, "contention", *locks, *BRIEF, "--set", "share_percent=50"):
        is_broken = run["lock"] == "broken_lock"
        assert run["checks"]["refused_while_held"] is (False if is_broken else None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("contention", "--share-percent", "100.1"), "from 0 to 100 %"),
        (("contention", "--share-percent", "-1"), "from 0 to 100 %"),
        (("contention", "--rate-per-s", "1e9"), "would measure its clock"),
        (("contention", "--set", "shares=1"), "did you mean share_percent?"),
    ],
)
def test_refuses_values_that_cannot_be_measured(
    lockyard: Callable[..., Outcome], arguments: tuple[str, ...], message: str
) -> None:
    refused = lockyard("measure", *arguments, "--locks", "mutex", *BRIEF)
    assert refused.returncode == 2
    assert message in " ".join(refused.stderr.split())


def test_the_harness_lists_the_parameters_and_the_preset() -> None:
    studies = {study.name: study for study in harness.catalog().studies}
    names = [each.name for each in studies["contention"].parameters]
    assert names == ["workload", "rate_per_s", "share_percent"]
    workload, rate, _ = studies["contention"].parameters
    assert rate.defaults == (15_000,)
    (allocator,) = [each for each in workload.choices if each.name == "allocator"]
    assert allocator.threads == 3
    assert allocator.presets == {"rate_per_s": (15_000, 100_000), "share_percent": (2,)}


def test_the_report_shows_the_tables_of_its_workloads(lockyard: Callable[..., Outcome]) -> None:
    some = ("--locks", "mutex", *BRIEF, "--share-percent", "50")
    printed = lockyard("measure", "contention", *some, extra={"COLUMNS": "120"})
    assert printed.returncode == 0, printed.stderr
    assert "contention: parallelism" in printed.stdout
    assert "workload allocator" in " ".join(printed.stdout.split())
    assert "\x1b" not in printed.stdout


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
    cells = summarise([run for each in records for run in each], WITH_FREQUENCY)
    console = Console(width=200, **terminal)
    with console.capture() as capture:
        for table in own_tables_of(
            cells, console, Against.of(against, WITH_FREQUENCY), WITH_FREQUENCY
        ):
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
def test_refuses_values_that_the_preset_cannot_measure(
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


def test_the_harness_lists_frequency_as_a_preset_with_its_own_parameters() -> None:
    (study,) = harness.catalog().select_studies(["frequency"])
    assert (study.preset_of, study.stem) == ("contention", "contention")
    assert [each.name for each in study.parameters] == ["interval_ns", "share_percent"]


def test_a_preset_is_shown_by_its_study_and_has_its_own_figures() -> None:
    assert [each.name for each in headline("frequency", False)] == ["parallelism", "pair"]
    assert [each.name for each in headline("contention", False)] == ["parallelism", "waiting"]
    assert headline("no_such_study", False) == ()
