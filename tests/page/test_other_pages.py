# SPDX-License-Identifier: Apache-2.0
"""The pages of explain, compare, profile and check, and how a browser shows their own parts."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fake_explanations import explanation_of, records
from fake_trace import FakeTrace
from pages import RECORDS

from lockyard.checks.clients import Client, ClientSize
from lockyard.checks.result import Check, Result, Settings
from lockyard.explain.strips import strips
from lockyard.explain.trace import Kind
from lockyard.field_kit.contention import (
    Buckets,
    Contention,
    Lengths,
    LongWait,
    Process,
    Row,
    WaitGroup,
)
from lockyard.page import bundle, of_checks, of_profile
from lockyard.page.wanted import WantedPage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

US = 1e3


def drawn_of(text: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    drawn: list[dict[str, Any]] = json.loads(found[1])["drawn"]
    return drawn


def a_stall() -> FakeTrace:
    """Thread 1 is preempted while it holds the lock; thread 2 waits for it, asleep."""
    trace = FakeTrace()
    trace.stamps(
        1, (0, Kind.CALLED), (1, Kind.ACQUIRED), (4000, Kind.RELEASING), (4001, Kind.RELEASED)
    )
    trace.out(1, 100, preempted=True).back(1, 3900)
    trace.stamps(
        2, (50, Kind.CALLED), (60, Kind.SLEEP_BEGIN), (4010, Kind.SLEEP_END), (4011, Kind.ACQUIRED),
        (4020, Kind.RELEASING), (4021, Kind.RELEASED),
    )  # fmt: skip
    return trace.out(2, 61, preempted=False).back(2, 4005)


def test_a_timeline_has_the_exact_moments_of_the_trace(tmp_path: Path) -> None:
    explanation = explanation_of(a_stall(), tmp_path)
    lock = explanation.locks[0]
    stall = max(lock.stalls, key=lambda each: each.length)
    found = {each.label: each.slices for each in strips(explanation, lock, stall)}
    at_us = {
        (label, shown.name): (
            explanation.trace.ns(begin) / US,
            explanation.trace.ns(end) / US,
        )
        for label, slices in found.items()
        for begin, end, shown, _ in slices
    }
    assert at_us["worker 2", "ASLEEP"] == (61, 4005)
    assert at_us["worker 1", "HELD_AWAY"] == (100, 3900)
    assert [shown.name for *_, shown, _ in found["lock"]][:2] == ["FREE_WANTED", "HELD"]


def test_explain_writes_causes_remedies_and_timelines(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = records(tmp_path, (1, a_stall()))
    page = tmp_path / "page.html"
    found = lockyard("explain", str(path), "--page", str(page))
    assert found.returncode == 0, found.stderr
    text = page.read_text()
    assert "run fewer threads than processors" in text
    kinds = [each["kind"] for each in drawn_of(text)]
    assert "stack" in kinds and "timeline" in kinds


def test_compare_writes_each_ratio_with_its_verdict(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    slower = tmp_path / "slower.jsonl"
    blocks = [json.loads(line) for line in RECORDS.read_text().splitlines()]
    environment = blocks[0]
    run = next(each for each in blocks if each.get("study") == "throughput")
    fast, slow = [environment], [environment]
    for block in range(12):
        fast.append({**run, "block": block})
        values = {**run["values"], "operations_per_s": run["values"]["operations_per_s"] / 2}
        slow.append({**run, "block": block, "values": values})
    faster = tmp_path / "faster.jsonl"
    for path, some in ((faster, fast), (slower, slow)):
        path.write_text("".join(json.dumps(each) + "\n" for each in some))
    page = tmp_path / "page.html"
    found = lockyard("compare", str(faster), str(slower), "--page", str(page))
    assert found.returncode == 0, found.stderr
    (chart,) = drawn_of(page.read_text())
    worse = next(each for each in chart["series"] if each["name"] == "shown to be worse")
    assert worse["x"] == [0.5] and worse["role"] == "measured"
    others = [each for each in chart["series"] if each["name"] == "no difference shown"]
    assert all(each["role"] == "published" for each in others)


def _with_waits(path: Path, longest_ns: int) -> Path:
    """Writes twelve runs, each of nine waits of 100 ns and one of this length."""
    records = [json.loads(line) for line in RECORDS.read_text().splitlines()]
    run = next(each for each in records if each.get("study") == "wait" and each["status"] == "ok")
    wait = {
        "unit": "ns",
        "scale": 1.0,
        "sub_bucket_bits": 20,
        "counts": [[100, 9], [longest_ns, 1]],
    }
    runs = [{**run, "block": block, "histograms": {"wait": wait}} for block in range(12)]
    path.write_text("".join(json.dumps(each) + "\n" for each in (records[0], *runs)))
    return path


def test_compare_draws_the_distributions_of_both_sides_in_one_chart(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    a = _with_waits(tmp_path / "a.jsonl", 5_000)
    folder = tmp_path / "b"
    folder.mkdir()
    for name, longest_ns in (("1", 8_000), ("2", 9_000)):
        _with_waits(folder / f"{name}.jsonl", longest_ns)
    page = tmp_path / "page.html"
    found = lockyard("compare", str(a), str(folder), "--page", str(page))
    assert found.returncode == 0, found.stderr
    (chart,) = [each for each in drawn_of(page.read_text()) if each["title"].startswith("Waiting")]
    lines = {each["name"]: each for each in chart["series"]}
    assert lines.keys() == {"A", "B"}
    assert (lines["A"]["y"][0], lines["A"]["y"][-1], lines["B"]["y"][-1]) == (100, 5_000, 9_000)
    assert lines["A"]["x"][-1] == round(math.log10(120), 4)
    assert lines["B"]["x"][-1] == round(math.log10(240), 4)


def a_profile() -> Contention:
    lengths = Lengths(0, [], [])
    row = Row(
        1, "queue_lock", "mutex", 1, 2, 100, 10, 2e6, 1e5, 2e5, 3e5, 4e5, 0, 0, 5, 0, 0.0, 0.0, "",
        Buckets("ns", 7, 1.0, [(200, 8), (900, 2)]), lengths, lengths,
    )  # fmt: skip
    found = Contention(Process(1, "/bin/server", 0, 1e7, 2, 0, 2, 0.5))
    found.add(row)
    found.add(
        WaitGroup(
            1, "queue_lock", "mutex", 1, "holder blocked", "fsync", 10, 2e6, 4e5, ["push"],
            ["save"], "push", "save",
        )
    )  # fmt: skip
    found.add(
        LongWait(
            1, 5e6, 4e5, "queue_lock", "mutex", 1, "holder blocked", "fsync", 0, 7, "worker", 8,
            ["push"], ["save"], "push", "save",
        )
    )  # fmt: skip
    return found


def test_a_profile_shows_causes_lengths_moments_and_places() -> None:
    text = bundle.page_text(of_profile.page_of([a_profile()]), (), "")
    drawn = drawn_of(text)
    assert [each["kind"] for each in drawn] == ["stack", "lines", "timeline"]
    assert drawn[2]["data"]["slices"] == [
        [0, 5000000, 400000, 0, "queue_lock at push, behind save"]
    ]
    assert "fsync" in text  # the verdict names the system call
    empty = Contention(Process(2, "/bin/true", 0, 1e9, 1, 0, 2, 0.5))
    assert "No lock made a thread wait." in bundle.page_text(of_profile.page_of([empty]), (), "")


STEPS: list[dict[str, Any]] = [
    {"thread": 0, "where": "x.hpp:4", "text": "store release to word 1 of x.hpp:3: 1"},
    {"thread": 1, "where": "x.hpp:9",
     "text": "exchange relaxed on word 1 of x.hpp:3: 1 (by T0) becomes 2"},
    {"thread": 0, "where": "x.hpp:5", "text": "load acquire of word 1 of x.hpp:3: 2 (by T1)"},
    {"thread": 2, "where": None, "text": "the outcome is not seen"},
]  # fmt: skip


def a_failure(steps: list[dict[str, Any]]) -> Result:
    shape = ClientSize(2, 1)
    subject = Client("spin", "lock", "a lock", "passed", shape)
    return Result(
        Check(subject, shape, Settings()), "assertion", "no luck", steps=steps, choices="001"
    )


def edges_of(steps: list[dict[str, Any]]) -> list[list[int]]:
    page = of_checks.page_of([a_failure(steps)], [])
    drawn = drawn_of(bundle.page_text(page, (), ""))
    return [each["from"] for each in drawn[0]["steps"]]


def test_unseen_functions_are_named() -> None:
    unseen = replace(a_failure(STEPS), unseen=("sched_getcpu",))
    text = bundle.page_text(of_checks.page_of([unseen], []), (), "")
    assert "processors, nor races on what the functions below use." in text
    assert "not seen by the checker: sched_getcpu" in text
    assert "nor races" not in bundle.page_text(of_checks.page_of([a_failure(STEPS)], []), (), "")


def test_a_failing_execution_leads_from_each_read_to_its_write() -> None:
    assert edges_of(STEPS) == [[], [0], [1], []]
    text = bundle.page_text(of_checks.page_of([a_failure(STEPS)], []), (), "")
    assert "Do not use spin before this is fixed: assertion: no luck." in text
    assert "lockyard check spin --replay spin:2x1:001" in text


def test_facts_that_the_checker_states_come_before_those_read_from_its_text() -> None:
    facts = {"word": "owner", "written": None, "reads_from": None, "after": [0], "could_read": []}
    stated = [{**step, **facts} for step in STEPS]
    stated[2]["could_read"] = [{"value": "1", "written_by": 0}, {"value": "0", "written_by": None}]
    assert edges_of(stated) == [[], [0], [0], [0]]
    text = bundle.page_text(of_checks.page_of([a_failure(stated)], []), (), "")
    assert drawn_of(text)[0]["steps"][2]["also"] == ["1 (by T0, step 1)", "0 (initial)"]


def test_a_reader_steps_through_an_execution(opened: Any, tmp_path: Path) -> None:
    path = tmp_path / "check.html"
    WantedPage(path).write(of_checks.page_of([a_failure(STEPS)], []))
    page = opened(path)
    rows = page.page.locator("table.lanes tbody tr")
    assert rows.nth(3).get_attribute("aria-current") == "step"
    page.page.get_by_role("button", name="Step back").click()
    assert rows.nth(2).get_attribute("aria-current") == "step"
    assert "source" in (rows.nth(1).get_attribute("class") or "")
    assert page.page.locator("svg.edges path").count() == 1
    memory = page.page.locator(".memory").first
    assert memory.inner_text() == "Newest values: word 1 of x.hpp:3 = 2 (by T1)"
    page.page.locator(".execution .scroll").focus()
    page.page.keyboard.press("Home")
    assert rows.nth(0).get_attribute("aria-current") == "step"
    assert memory.inner_text().endswith("= 1 (by T0)")
    assert "later" in (rows.nth(1).get_attribute("class") or "")
    assert page.errors == []


def test_timelines_and_bars_are_drawn_and_zoom(opened: Any, tmp_path: Path) -> None:
    path = tmp_path / "profile.html"
    WantedPage(path).write(of_profile.page_of([a_profile()]))
    page = opened(path).drawn()
    assert page.page.locator("figure.chart .plot[data-state=drawn]").count() == 3
    timeline = page.page.locator("figure", has_text="Long waits of each thread")
    width = "each => each.layout.xaxis.range[1] - each.layout.xaxis.range[0]"
    before = timeline.locator(".plot").evaluate(width)
    timeline.get_by_role("button", name="Zoom in").click()
    assert timeline.locator(".plot").evaluate(width) == before / 2
    assert page.errors == [] and page.requests == []
