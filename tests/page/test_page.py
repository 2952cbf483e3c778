# SPDX-License-Identifier: Apache-2.0
"""The file of a page: what it holds, how large it is, and what bad input does to it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from pages import RECORDS, write_page_of

from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.measure.session import Measured
from lockyard.page import bundle
from lockyard.page.distributions import percentile_line
from lockyard.page.marks import marks_of
from lockyard.page.model import Axis, Chart, Page, Section, Series, Table
from lockyard.page.of_records import page_of
from lockyard.page.wanted import WantedPage
from lockyard.records.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

MOST_BYTES = 8_000_000


def lines_of(path: Path = RECORDS) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


def page_text(records: list[dict[str, Any]], **wanted: Any) -> str:
    environment = next((each for each in records if each.get("record") == "environment"), {})
    measured = Measured(environment, [each for each in records if "record" not in each])
    page, order = page_of(measured, "std::mutex", **wanted)
    return bundle.page_text(page, order, "")


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def charts_of(text: str) -> list[dict[str, Any]]:
    return [each for each in data_of(text)["drawn"] if each["draw"] == "chart"]


def test_a_page_is_one_small_file_without_addresses_of_others(page_file: Path) -> None:
    text = page_file.read_text()
    assert len(text.encode()) < MOST_BYTES
    assert not re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?!data:)', text)
    assert "default-src 'none'" in text


def test_every_subject_is_a_section_or_names_the_command_that_fills_it() -> None:
    text = page_text([each for each in lines_of() if each.get("study") in (None, "wait")])
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    assert titles[0] == "Advice"
    assert {"Waiting", "Free but wanted", "Wake-ups", "Scaling", "Causes of stalls"} <= set(titles)
    for study in ("idle", "contention", "frequency", "wakeup", "throughput", "stalls", "noise"):
        assert re.search(rf"To add it: <code>lockyard measure [^<]*{study}", text), study


def test_published_figures_stand_next_to_this_machines() -> None:
    charts = {chart["title"]: chart for chart in charts_of(page_text(lines_of()))}
    longest = charts["Longest waits"]["series"]
    assert {each["role"] for each in longest} == {"published", "measured"}
    cfs = next(each for each in longest if each["name"] == "linux-cfs")
    assert dict(zip(cfs["y"], cfs["x"], strict=True))["std::mutex"] == 2.9e6
    cycles = charts["Wake-up latency in clock cycles"]["series"]
    assert dict(zip(cycles[0]["y"], cycles[0]["x"], strict=True))["event"] == 90000
    assert {"The cost of recovery: lock1", "The cost of recovery: locktorture"} <= charts.keys()


def test_published_rates_are_curves_of_the_study_scale() -> None:
    records = lines_of()
    for each in records:
        if each.get("study") == "throughput":
            each["study"] = "scale"
            each["conditions"]["parameters"] = {"workload": "lock1"}
    (chart,) = (c for c in charts_of(page_text(records)) if c["title"].startswith("scale:"))
    printed = {s["name"]: s for s in chart["series"] if s["role"] == "published"}
    assert printed.keys() == {"published qspinlock", "published rqspinlock"}
    line = printed["published qspinlock"]
    assert dict(zip(line["x"], line["y"], strict=True))[8] == pytest.approx(12949698.64, rel=1e-3)


def test_simulated_lines_join_the_measured_ones(tmp_path: Path) -> None:
    figure = {"value": 5e6, "low": 4e6, "high": 6e6, "depends_on": []}
    cells = [
        {
            "lock": "mutex",
            "scheduler": "eevdf",
            "threads": n,
            "figures": {"operations_per_s": figure},
        }
        for n in (1, 32)
    ]
    document = {"study": "throughput", "machine": "ryzen1700", "seed": 1, "cells": cells}
    path = tmp_path / "simulated.json"
    path.write_text(json.dumps(document))
    found = WantedPage(tmp_path / "page.html", [path]).simulated_documents()
    charts = charts_of(page_text(lines_of(), simulated=found))
    roles = {
        series["role"]
        for chart in charts
        if chart["title"].startswith("throughput")
        for series in chart["series"]
    }
    assert roles == {"measured", "simulated"}


def scaling_with(hold_ns: int, gap_ns: int) -> list[dict[str, Any]]:
    """Returns the lines of the chart of throughput if its threads hold the lock that long."""
    records = lines_of()
    for each in records:
        if each.get("study") == "throughput":
            each["conditions"] |= {"hold_ns": hold_ns, "gap_ns": gap_ns}
    (chart,) = (c for c in charts_of(page_text(records)) if c["title"].startswith("throughput:"))
    lines: list[dict[str, Any]] = chart["series"]
    return lines


@pytest.mark.parametrize(
    ("hold_ns", "gap_ns", "bounds"),
    [
        (1000, 0, [1e6, 1e6]),  # a hold follows the other
        (1000, 9000, [2e5, 4e5]),  # 2 and 4 threads, an operation each 10 µs
        (1000, 2000, [2e6 / 3, 1e6]),
    ],
)
def test_the_serial_bound_is_a_line_that_no_lock_exceeds(
    hold_ns: int, gap_ns: int, bounds: list[float]
) -> None:
    (bound,) = (each for each in scaling_with(hold_ns, gap_ns) if each["role"] == "ideal")
    assert bound["name"] == "serial bound"
    assert bound["x"] == [2, 4]
    assert bound["y"] == pytest.approx(bounds, rel=1e-3)


def test_without_a_hold_nothing_bounds_the_threads() -> None:
    assert {each["role"] for each in scaling_with(0, 1000)} == {"measured"}


def test_a_percentile_line_ends_at_the_longest_value() -> None:
    histogram = Histogram()
    histogram.counts.update({100.0: 900, 1000.0: 99, 5e6: 1})
    line = percentile_line("lock", histogram)
    assert line is not None
    assert (line.x[0], line.y[0]) == (0, 100)
    at = dict(zip(line.x, line.y, strict=True))
    assert at[1.0] == 1000  # 90 % are shorter than 1 µs
    assert at[3.0] == 5e6 == line.y[-1]


def test_marks_tell_two_hundred_locks_apart_and_neighbours_by_colour() -> None:
    names = [f"lock_{number}" for number in range(190)]
    marks = marks_of(names, names)
    assert len({tuple(mark.values()) for mark in marks.values()}) == len(names)
    assert len({marks[name]["hue"] for name in names[:8]}) == 8
    assert len({marks[name]["dash"] for name in names[:6]}) == 6
    # A lock keeps its colour on a page with other locks.
    assert marks_of(names[3:9], names)["lock_5"]["hue"] == marks["lock_5"]["hue"]


def test_without_plotly_the_page_has_its_tables_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bundle, "find_spec", lambda _name: None)
    path = write_page_of(RECORDS, tmp_path / "page.html")
    assert "pip install 'lockyard[page]'" in capsys.readouterr().err
    text = path.read_text()
    assert "pip install &#x27;lockyard[page]&#x27;" in text
    assert text.count("<table") > 3 and "Plotly.js" not in text


def test_data_cannot_end_their_script_element() -> None:
    chart = Chart(
        "lines", "</script>", "<!--", Axis("x"), Axis("y"), [Series("</SCRIPT>", [1], [2])]
    )
    text = bundle.page_text(Page("<b>", "&", [Section("s", [chart])]), (), "")
    assert data_of(text)["drawn"][0]["title"] == "</script>"
    assert "<title>&lt;b&gt;</title>" in text


def test_a_table_has_heads_of_rows_and_columns() -> None:
    text = bundle.page_text(
        Page("t", "", [Section("s", [Table("n", ["a", "b"], [["x", "1"]])])]), (), ""
    )
    assert '<th scope="col">a</th>' in text and '<th scope="row">x</th>' in text


@pytest.mark.parametrize("locks", [1, 100])
def test_one_lock_and_a_hundred_locks_have_pages(locks: int, tmp_path: Path) -> None:
    records = lines_of()
    runs = [
        each for each in records if each.get("lock") == "std::mutex" and each["study"] == "wait"
    ]
    many = [{**run, "lock": f"lock_{number}"} for number in range(locks) for run in runs]
    path = write_page_of(written(tmp_path / "r.jsonl", [records[0], *many]), tmp_path / "p.html")
    data = data_of(path.read_text())
    assert len(data["locks"]) == locks
    assert 1 <= len(data["chosen"]) <= 7
    assert path.stat().st_size < MOST_BYTES


def test_records_of_an_older_schema_have_a_page(tmp_path: Path) -> None:
    golden = RECORDS.parents[1] / "cli" / "golden_schema_1.jsonl"
    path = write_page_of(golden, tmp_path / "page.html")
    assert charts_of(path.read_text())


def test_the_command_writes_a_page_next_to_its_output(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_text(RECORDS.read_text() + '{"schema": 2, "stu')
    page = tmp_path / "page.html"
    found = lockyard("report", "--from", str(torn), "--page", str(page))
    assert found.returncode == 0, found.stderr
    assert f"page: {page}" in found.stderr
    assert "the last line is incomplete" in page.read_text()
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".partial"] == []


def test_records_of_two_machines_and_files_without_runs_are_refused(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    environment, *runs = lines_of()
    other = [{**run, "environment": "elsewhere"} for run in runs]
    mixed = written(tmp_path / "mixed.jsonl", [environment, *runs, *other])
    empty = written(tmp_path / "empty.jsonl", [environment])
    for path, problem in ((mixed, "2 environments"), (empty, "holds no run")):
        page = tmp_path / "page.html"
        found = lockyard("report", "--from", str(path), "--page", str(page))
        assert found.returncode == 2
        assert problem in found.stderr
        assert not page.exists()


@pytest.mark.parametrize("place", ["missing/page.html", "."])
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(
    lockyard: Callable[..., Outcome], tmp_path: Path, place: str
) -> None:
    found = lockyard("measure", "wait", "--locks", "mutex", "--page", str(tmp_path / place))
    assert found.returncode == 2
    assert "no page can be written and nothing was done" in found.stderr
    assert "measuring" not in found.stderr


def test_a_full_disk_leaves_no_half_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    monkeypatch.setattr(type(path), "replace", _no_space)
    with pytest.raises(MissingCapabilityError, match="No space left"):
        bundle.write(path, Page("t", "", []))
    monkeypatch.undo()
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "before"


def _no_space(*_: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("content", "problem"),
    [("{", "not what"), ('{"cells": 3}', "not what"), (None, "cannot be read")],
)
def test_bad_simulated_figures_are_refused(
    tmp_path: Path, content: str | None, problem: str
) -> None:
    path = tmp_path / "simulated.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=problem):
        WantedPage(tmp_path / "page.html", [path]).check()
    with pytest.raises(UsageError, match="add --page"):
        WantedPage(None, [path]).check()
