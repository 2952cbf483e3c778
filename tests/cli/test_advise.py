# SPDX-License-Identifier: Apache-2.0
"""lockyard advise: the choice, the runner-up, the price, and where the figures are from."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import a_record, a_study
from fake_verdict import CATALOG

from lockyard.advise import document, evidence, text
from lockyard.advise.choice import Advice, Tails, advised
from lockyard.advise.use import Use
from lockyard.commands import advise
from lockyard.errors import UsageError
from lockyard.machine.environment import describe
from lockyard.machine.procfs import KernelFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conftest import Outcome

STUDIES = evidence.STUDIES
LOCKS = [lock for lock in CATALOG.locks if lock.excludes and lock.kind != "control"]
USE = Use(4, 300, 5000)


def runs(lock: str, rate: float, p999_ns: float, **conditions: Any) -> list[dict[str, Any]]:
    """Seven runs of each study; the waits of a run are all alike."""
    made = []
    work = {"threads": 4, "hold_ns": 300, "gap_ns": 5000, **conditions}
    for block in range(7):
        values = {
            "complete": True,
            "operations_per_s": rate * (1 + block / 1000),
            "cpu_share": 0.5,
            "fairness_jain": 0.99,
            "wait_max_ns": p999_ns * 2,
        }
        waits = {
            "unit": "ns",
            "scale": p999_ns / 128,
            "sub_bucket_bits": 7,
            "counts": [[128, 99999]],
        }
        for study in ("throughput", "wait"):
            record = a_record(study, lock, block, values=values, **work)
            record["histograms"] = {"wait": waits} if study == "wait" else {}
            made.append(record)
    return made


def advice(*found: Sequence[dict[str, Any]], by_tail: bool = False) -> Advice:
    nearest = evidence._nearest([run for each in found for run in each], USE, CATALOG)  # noqa: SLF001
    return advised(USE, nearest, LOCKS, by_tail, "from records")


def names(of: Advice) -> list[str]:
    return [each.lock.name for each in of.ranked]


FAST = runs("tas_spinlock", 9e6, 4e6)
STEADY = runs("ticket_spinlock", 3e6, 2e3)
BOTH = runs("futex_mutex", 8e6, 1e5)


def test_the_fastest_lock_is_advised_with_its_price() -> None:
    found = advice(FAST, STEADY, BOTH)
    assert names(found) == ["tas_spinlock", "futex_mutex", "ticket_spinlock"]
    first, _, runner_up, price = text.lines(found)
    assert first == "Use tas_spinlock: 9.03 M/s."
    assert "runner-up: futex_mutex, 8.02 M/s; ratio 0.89" in runner_up
    assert "with ticket_spinlock 2" in price
    assert "never sleep" in price


def test_by_the_tail_the_steadiest_lock_is_advised() -> None:
    found = advice(FAST, STEADY, BOTH, by_tail=True)
    assert names(found) == ["ticket_spinlock", "futex_mutex", "tas_spinlock"]
    price = list(text.lines(found))[3]
    assert "tas_spinlock has 3.00 times its throughput" in price


def test_of_equal_locks_the_one_with_the_shorter_tail_is_advised() -> None:
    other = runs("futex_mutex", 9e6, 1e5)
    for number, run in enumerate(other):  # now faster, now slower
        run["values"]["operations_per_s"] = 9e6 * (1 + 0.02 * (-1) ** (number // 2))
    assert names(advice(FAST, other))[0] == "futex_mutex"


def test_a_broken_lock_is_never_advised() -> None:
    broken = runs("tas_spinlock", 9e9, 1)
    for run in broken:
        run["checks"] = {"counter": False}
    assert names(advice(broken, STEADY)) == ["ticket_spinlock"]


@pytest.mark.parametrize("study", ["throughput", "wait"])
def test_a_lock_that_failed_in_one_study_is_not_advised(study: str) -> None:
    broken = runs("tas_spinlock", 9e9, 1)
    for run in broken:
        run["checks"] = {"counter": run["study"] != study}
    assert names(advice(broken, STEADY)) == ["ticket_spinlock"]


def with_rates(lock: str, p999_ns: float, *rates: float) -> list[dict[str, Any]]:
    """Makes runs whose rates, one of each block, come round again and again."""
    made = runs(lock, 1, p999_ns)
    for run in made:
        run["values"]["operations_per_s"] = rates[run["block"] % len(rates)]
    return made


@pytest.mark.parametrize(
    ("rates", "first"),
    [
        ((8.9e6, 9.3e6, 8.8e6), "futex_mutex"),  # no difference is shown
        ((8.7e6,), "tas_spinlock"),  # 3 % slower in every block
        ((5e6, 1e7, 4e6), "tas_spinlock"),  # no difference is shown, but it may be large
    ],
)
def test_a_shorter_tail_decides_only_between_equal_rates(
    rates: tuple[float, ...], first: str
) -> None:
    assert names(advice(FAST, with_rates("futex_mutex", 1e5, *rates)))[0] == first


def test_of_equal_tails_the_faster_lock_is_advised() -> None:
    slower, faster = runs("tas_spinlock", 3e6, 2e3), runs("futex_mutex", 9e6, 2e3)
    assert names(advice(slower, faster, by_tail=True))[0] == "futex_mutex"
    longer = runs("futex_mutex", 9e6, 3e3)
    assert names(advice(slower, longer, by_tail=True))[0] == "tas_spinlock"


def with_few_waits(of: list[dict[str, Any]], *p99_ns: float) -> list[dict[str, Any]]:
    """Leaves the runs 2000 waits each: too few for a 99.9th percentile, enough for a 99th one."""
    for run in of:
        if run["study"] == "wait":
            scale = p99_ns[run["block"] % len(p99_ns)] / 128
            run["histograms"]["wait"] |= {"scale": scale, "counts": [[128, 2000]]}
    return of


@pytest.mark.parametrize(
    ("p99_ns", "first"),
    [
        ((2100, 1950, 2080), "futex_mutex"),  # no difference is shown
        ((2100,), "tas_spinlock"),  # 5 % longer in every block
    ],
)
def test_of_tails_from_few_waits_the_99th_percentile_is_compared(
    p99_ns: tuple[float, ...], first: str
) -> None:
    steady = with_few_waits(runs("tas_spinlock", 3e6, 2e3), 2000)
    other = with_few_waits(runs("futex_mutex", 9e6, 2e3), *p99_ns)
    assert names(advice(steady, other, by_tail=True))[0] == first


def test_tails_are_compared_by_a_percentile_that_all_locks_have() -> None:
    # The lock with many waits has a 99.9th percentile, too.
    often, seldom = runs("tas_spinlock", 3e6, 2e3), runs("futex_mutex", 3e6, 2e3)
    seldom = with_few_waits(seldom, 1e3)
    found = advice(often, seldom, by_tail=True)
    assert found.tails.share == 0.99
    assert names(found) == ["futex_mutex", "tas_spinlock"]
    first = next(text.lines(found))
    assert first.startswith("Use futex_mutex: 99 % of waits are below 1.0")
    (written,) = document.document([found], []).advice
    assert written.tail_share == 0.99
    assert written.locks[0].wait_tail_ns == pytest.approx(1e3, rel=0.01)
    price = list(text.lines(advice(seldom, runs("tas_spinlock", 9e6, 2e3))))[3]
    assert "1 of 100 waits is longer than 2.0" in price


def test_a_lock_with_too_few_waits_for_any_percentile_comes_last_and_says_so() -> None:
    often, seldom = runs("tas_spinlock", 3e6, 2e9), runs("futex_mutex", 3e6, 1e3)
    for run in seldom:
        if run["study"] == "wait":
            run["histograms"]["wait"] |= {"counts": [[128, 50]]}
    found = advice(often, seldom, by_tail=True)
    assert names(found) == ["tas_spinlock", "futex_mutex"]
    assert (
        "futex_mutex, too few waits for a percentile, the longest 2.00"
        in list(text.lines(found))[2]
    )


@pytest.mark.parametrize(("by_tail", "times"), [(False, 1), (True, 3)])
def test_waits_get_more_time_if_the_tail_decides(by_tail: bool, times: float) -> None:
    catalog = replace(CATALOG, studies=tuple(map(a_study, STUDIES)))
    cells = evidence.planned(USE, LOCKS[:3], 20, by_tail, catalog)
    budgets = {study: {c.budget_s for c in cells if c.study == study} for study in STUDIES}
    ((rate_s,), (wait_s,)) = budgets["throughput"], budgets["wait"]
    assert wait_s == pytest.approx(times * rate_s)
    assert len({cell.runs for cell in cells}) == 1  # as many blocks of both


def test_what_a_short_measurement_leaves_open_is_said() -> None:
    few = runs("futex_mutex", 8e6, 1e5)
    for run in few:
        if run["study"] == "wait":
            run["histograms"]["wait"] |= {"counts": [[128, 50]]}
    found = advice(FAST, few, by_tail=True)
    (said,) = advise._doubts(found)  # noqa: SLF001
    assert said.startswith("Too few waits of futex_mutex for the 90th percentile")
    short = replace(found.best, rate=replace(found.best.rate, runs=found.best.rate.runs[:2]))
    (said,) = advise._doubts(replace(found, by_tail=False, ranked=[short]))  # noqa: SLF001
    assert said.startswith("Fewer than 6 runs of tas_spinlock fitted into the time")


def test_an_interrupted_measurement_still_advises_if_it_has_every_lock(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nearest = evidence._nearest([*FAST, *STEADY], USE, CATALOG)  # noqa: SLF001
    monkeypatch.setattr(evidence, "planned", lambda *_: [])
    monkeypatch.setattr(evidence, "measured", lambda *_: (nearest, True))
    wanted = advise.Wanted("300ns", "5us", 4, False, None, (), "", 1.0, True, 1)
    remarks: list[str] = []
    both = [lock for lock in LOCKS if lock.name in ("tas_spinlock", "ticket_spinlock")]
    found = advise._advice(USE, wanted, both, CATALOG, remarks)  # noqa: SLF001
    assert found.is_interrupted
    assert "Interrupted, so the figures are from the runs until then." in remarks
    with pytest.raises(KeyboardInterrupt):
        advise._advice(USE, wanted, LOCKS, CATALOG, remarks)  # noqa: SLF001
    assert "not every lock has been measured, so nothing is advised" in capsys.readouterr().err


def test_interrupted_tails_are_those_of_the_runs_until_then() -> None:
    found = advice(FAST, STEADY, by_tail=True)
    short = [replace(each.wait, runs=each.wait.runs[:2]) for each in found.ranked]
    tails = Tails.common(short)
    assert tails.share == 0.999
    assert not any(math.isinf(tails.of(each.lock)) for each in short)
    said = list(advise._doubts(replace(found, is_interrupted=True)))  # noqa: SLF001
    assert said == ["Interrupted, so the figures are from the runs until then."]


def test_an_interrupt_keeps_the_advice_for_earlier_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    found = advice(FAST, STEADY)

    first, second = (Use(threads, 300, 5000) for threads in (2, 4))

    def stopped_at_the_second(use: Use, *_: object) -> Advice:
        if use == second:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(advise, "_advice", stopped_at_the_second)
    wanted = advise.Wanted("300ns", "5us", 4, False, None, (), "", 1.0, True, 1)
    told = partial(advise._answers, wanted=wanted, locks=[], catalog=CATALOG, remarks=[])  # noqa: SLF001
    assert told([first, second, first]) == [found]
    with pytest.raises(KeyboardInterrupt):
        told([second])


@pytest.mark.parametrize(
    ("threads", "gap_ns", "said"),
    [
        (1, 300, "for 1 thread that holds it for 300 ns, with 300 ns in between: 0.5 threads"),
        (1000, 300, "for 1000 threads that hold it for 300 ns, with 300 ns in between: 500 th"),
        (1, 0, "with 0 in between: 1 thread wants it"),
    ],
)
def test_the_use_is_said_in_words(threads: int, gap_ns: float, said: str) -> None:
    found = replace(advice(FAST, STEADY), use=Use(threads, 300, gap_ns))
    assert said in list(text.lines(found))[1]


def test_the_price_names_only_what_is_shown() -> None:
    equal = with_rates("tas_spinlock", 4e6, 3.1e6, 2.9e6, 3.05e6)
    price = list(text.lines(advice(STEADY, equal, by_tail=True)))[3]
    assert "times its throughput" not in price
    assert "unequal shares" not in price
    unfair = runs("tas_spinlock", 9e6, 4e6)
    for run in unfair:
        run["values"]["fairness_jain"] = 0.5
    assert "unequal shares (fairness 0.50 of 1)" in list(text.lines(advice(unfair, STEADY)))[3]


def test_conditions_with_most_locks_are_taken_and_few_runs_are_not() -> None:
    near = {"hold_ns": 330, "gap_ns": 5000}
    both = runs("tas_spinlock", 7e6, 4e6, **near), runs("ticket_spinlock", 3e6, 2e3, **near)
    found = advice(FAST, *both)
    assert names(found) == ["tas_spinlock", "ticket_spinlock"]
    assert found.best.rate_per_s == pytest.approx(7e6, rel=0.01)
    few = [run for run in FAST if run["block"] < 5]
    assert names(advice(few, STEADY)) == ["ticket_spinlock"]


@pytest.mark.parametrize(
    ("conditions", "is_near"),
    [
        ({}, True),
        ({"hold_ns": 360, "gap_ns": 4500}, True),
        ({"hold_ns": 900}, False),
        ({"gap_ns": 0}, False),
        ({"threads": 5}, False),
        ({"policy": "fifo"}, False),
        ({"load": 2}, False),
        ({"machine": {"smt": "off"}}, False),
        ({"lengths": "bimodal"}, False),
    ],
)
def test_records_count_only_if_they_are_near(conditions: dict[str, Any], is_near: bool) -> None:
    known = {"threads": 4, "hold_ns": 300, "gap_ns": 5000, **conditions}
    assert (USE.distance(known) is not None) == is_near


def written(path: Path, model: str | None, *found: Sequence[dict[str, Any]]) -> Path:
    environment = {"schema": 2, "record": "environment", **describe(KernelFiles())}
    environment["cpu"] = {**environment["cpu"], "model": model}
    lines = [environment, *({"schema": 2, **run} for each in found for run in each)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_records_of_another_machine_do_not_count(tmp_path: Path) -> None:
    here = describe(KernelFiles())["cpu"]["model"]
    written(tmp_path / "a.jsonl", here, FAST, STEADY)
    other = written(tmp_path / "b.jsonl", "another", BOTH)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(other.read_bytes()))
    other.unlink()
    cells, remarks = evidence.recorded([tmp_path], USE, CATALOG)
    assert set(cells["throughput"]) == {"tas_spinlock", "ticket_spinlock"}
    assert [remark for remark in remarks if "another machine" in remark]
    wanted = [lock for lock in LOCKS if lock.name in ("tas_spinlock", "ticket_spinlock")]
    assert evidence.lacking(cells, wanted) == []
    assert evidence.lacking(cells, LOCKS) == LOCKS
    _, remarks = evidence.recorded([tmp_path / "a.jsonl"], Use(16, 0, 0), CATALOG)
    assert remarks == [
        "The records of this machine have 4 threads, hold 300 ns, gap 5.00 µs (7 runs); advice "
        "needs 6 runs of both studies near the use."
    ]
    with pytest.raises(UsageError, match="cannot be read"):
        evidence.recorded([tmp_path / "none.jsonl"], USE, CATALOG)


def test_measures_what_no_record_has(lockyard: Callable[..., Outcome], tmp_path: Path) -> None:
    told = lockyard(
        *("advise", "--hold", "300ns", "--gap", "5us", "--threads", "2", "--for", "1s"),
        *("--locks", "mutex,std::mutex", "--json", "--from", str(tmp_path)),
    )
    assert told.returncode == 0, told.stderr
    (found,) = json.loads(told.stdout)["advice"]
    assert found["source"] == "measured now"
    assert {found["lock"], found["runner_up"]} == {"mutex", "std::mutex"}
    for each in found["locks"]:  # too few waits, on a busy machine, have no such percentile
        assert each["operations_per_s"] > 0
        assert each["wait_p999_ns"] is None or each["wait_p999_ns"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say how the lock is used"),
        (("--hold", "1us"), "say how the lock is used"),
        (("--hold", "1", "--threads", "2"), "--hold 1: not a duration"),
        (("--hold", "1us", "--threads", "0"), "--threads 0: must be from 1"),
        (("--hold", "100s", "--threads", "2"), "--hold 100s: longer than 100 ms"),
        (("--from-profile", "/nonexistent"), "the file cannot be read"),
        (("--hold", "1us", "--threads", "2", "--locks", "null_lock"), "excludes other threads"),
        (("--hold", "1us", "--threads", "2", "--no-measure"), "drop --no-measure"),
        (("--from-profile", "/dev/null", "--threads", "2"), "would have no effect"),
        (("--from-profile", "/dev/null"), "the file has no profile"),
    ],
)
def test_refuses_what_is_no_use_of_a_lock(
    lockyard: Callable[..., Outcome], arguments: tuple[str, ...], message: str
) -> None:
    told = lockyard("advise", *arguments)
    assert told.returncode == 2
    assert message in told.stderr
