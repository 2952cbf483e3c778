# SPDX-License-Identifier: Apache-2.0
"""The page in a browser: it draws without network and errors, and answers its reader."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pages import QUICK, RECORDS, Opened, write_page_of

if TYPE_CHECKING:
    from pathlib import Path

# Kinds of faults that axe reports and that keep a reader from using the page.
SERIOUS = ("serious", "critical")
# Charts are images to axe and to screen readers: what they are made of is none of its subjects.
CHECKED = "{include: [document], exclude: ['.plot svg']}"


def shown_figures(opened: Opened) -> int:
    return opened.page.locator("figure.chart:visible").count()


def x_range(opened: Opened, title: str) -> list[float]:
    found: list[float] = opened.page.evaluate(
        """title => [...document.querySelectorAll('figure')].find(
            each => each.querySelector('h3').textContent.startsWith(title)
        ).querySelector('.plot').layout.xaxis.range""",
        title,
    )
    return found


def test_every_shown_chart_is_drawn_without_errors_and_requests(whole_page: Opened) -> None:
    page = whole_page
    drawn = page.page.locator("figure.chart:visible .plot[data-state=drawn] svg.main-svg")
    assert shown_figures(page) > 10
    assert page.page.locator(
        "figure.chart:visible .plot[data-state=drawn]"
    ).count() == shown_figures(page)
    assert drawn.count() >= shown_figures(page)
    assert page.errors == []
    assert page.requests == []
    marks = page.page.evaluate("performance.getEntriesByType('mark').map(each => each.name)")
    assert {"visible-charts-drawn", "all-charts-drawn"} <= set(marks)


def test_lines_show_the_values_of_the_records(small_page: Opened) -> None:
    page = small_page
    lines = page.page.evaluate(
        """() => [...document.querySelectorAll('figure')].find(
            each => each.querySelector('h3').textContent.startsWith('Waiting · 16 threads')
        ).querySelector('.plot').data.filter(each => each.mode === 'lines').map(
            each => [each.name, Math.max(...each.y)])"""
    )
    longest = dict(lines)
    assert longest.keys() == {"tas_spinlock", "ticket_spinlock", "std::mutex"}
    title = page.page.locator("summary", has_text="wait: from the call").filter(
        has_text="16 threads"
    )
    rows = title.locator("xpath=..").locator("tbody tr")
    table = {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows.all()
    }
    assert any(
        text.startswith(f"{longest['tas_spinlock'] / 1e6:.0f}") for text in table["tas_spinlock"]
    )


def test_a_column_sorts_by_numbers_with_units_in_both_directions(small_page: Opened) -> None:
    page = small_page
    table = page.page.locator("#tables details", has_text="wait: from the call").last
    if table.get_attribute("open") is None:
        table.locator("summary").click()
    heads = [each.strip() for each in table.locator("thead th").all_inner_texts()]
    column = next(at for at, head in enumerate(heads) if head.startswith("max"))
    button = table.locator("thead th").nth(column).locator("button")

    def order() -> list[float]:
        scale = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
        texts = table.locator(f"tbody tr td:nth-child({column + 1})").all_inner_texts()
        return [float(text.split()[0]) * scale[text.split()[1]] for text in texts]

    button.click()
    assert order() == sorted(order())
    assert table.locator("thead th").nth(column).get_attribute("aria-sort") == "ascending"
    button.focus()
    page.page.keyboard.press("Enter")
    assert order() == sorted(order(), reverse=True)


def test_the_theme_changes_page_and_charts_and_is_remembered(
    opened: Any, small_page_file: Path
) -> None:
    page = opened(small_page_file, color_scheme="light").drawn()
    look = """() => [getComputedStyle(document.body).backgroundColor,
        document.querySelector('.plot').layout.paper_bgcolor]"""
    light = page.page.evaluate(look)
    for _ in range(2):  # auto, light, dark
        page.page.click("#theme")
    page.drawn()
    dark = page.page.evaluate(look)
    assert dark[0] != light[0] and dark[1] != light[1]
    page.page.reload()
    page.drawn()
    assert page.page.evaluate(look) == dark


def test_a_chart_zooms_by_keys(small_page: Opened) -> None:
    page = small_page
    whole = x_range(page, "Waiting")
    page.page.locator("#waiting .plot").first.focus()
    page.page.keyboard.press("+")
    low, high = x_range(page, "Waiting")
    assert whole[0] < low < high < whole[1]
    page.page.keyboard.press("ArrowRight")
    assert x_range(page, "Waiting")[0] > low
    page.page.keyboard.press("0")
    assert x_range(page, "Waiting") == whole


def test_a_figure_saves_as_svg_and_csv(small_page: Opened, tmp_path: Path) -> None:
    page = small_page
    figure = page.page.locator("#waiting figure").last
    with page.page.expect_download() as svg:
        figure.get_by_role("button", name="Save as SVG").click()
    assert svg.value.suggested_filename.endswith(".svg")
    svg.value.save_as(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<svg")
    with page.page.expect_download() as csv:
        figure.get_by_role("button", name="Save as CSV").click()
    csv.value.save_as(tmp_path / "figure.csv")
    head, *rows = (tmp_path / "figure.csv").read_text().splitlines()
    assert head.startswith("series,source,share of the waits that are shorter [nines],wait [ns]")
    assert {row.split(",")[0] for row in rows} == {"tas_spinlock", "ticket_spinlock", "std::mutex"}


def test_highlighting_changes_every_chart(small_page: Opened) -> None:
    page = small_page
    colour = """() => document.querySelector('#waiting .plot').data.find(
        each => each.name === 'std::mutex').line.color"""
    before = page.page.evaluate(colour)
    page.page.locator("#locks label", has_text="std::mutex").locator("input").uncheck()
    page.drawn()
    assert page.page.evaluate(colour) != before
    page.page.locator("#locks label", has_text="std::mutex").locator("input").check()
    page.drawn()
    assert page.page.evaluate(colour) == before


def test_a_choice_shows_one_chart_at_a_time(whole_page: Opened) -> None:
    page = whole_page
    choice = page.page.locator("#scaling .charts, #wake-ups .charts").first
    assert choice.locator("figure:visible").count() == 1


def serious_faults(page: Opened) -> dict[str, list[str]]:
    page.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text())
    found = page.page.evaluate(
        f"axe.run({CHECKED}, {{resultTypes: ['violations']}}).then(found => found.violations)"
    )
    return {
        each["id"]: [node["html"][:200] for node in each["nodes"][:3]]
        for each in found
        if each["impact"] in SERIOUS
    }


def test_axe_finds_no_serious_fault(whole_page: Opened, small_page: Opened) -> None:
    assert serious_faults(whole_page) == {}
    small_page.page.emulate_media(color_scheme="dark")
    assert serious_faults(small_page.drawn()) == {}
    small_page.page.emulate_media(color_scheme="light")
    small_page.drawn()


def test_without_scripts_the_advice_and_the_tables_remain(
    opened: Any, small_page_file: Path
) -> None:
    page = opened(small_page_file, java_script_enabled=False).page
    assert page.locator("ul.advice li:visible").count() > 0
    assert page.locator("#tables table:visible").count() > 0
    assert page.locator(".plot:visible").count() == 0
    assert (
        page.locator("#waiting .summary:visible")
        .first.inner_text()
        .startswith("Wait by percentile")
    )


def test_a_phone_shows_everything_without_scrolling_sideways(opened: Any, page_file: Path) -> None:
    page = opened(page_file, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    page.drawn()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 360
    widths = page.page.evaluate(
        """[...document.querySelectorAll('.plot[data-state=drawn] svg.main-svg')].map(
            each => each.clientWidth)"""
    )
    assert widths and max(widths) <= 360
    assert page.page.evaluate("document.querySelector('#waiting .plot').layout.dragmode") is False


def test_paper_shows_every_chart_and_table_in_light_colours(
    opened: Any, small_page_file: Path
) -> None:
    page = opened(small_page_file, color_scheme="dark").drawn()
    page.page.emulate_media(media="print")
    page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    figures = page.page.locator("figure.chart")
    assert figures.locator("visible=true").count() > 0
    assert page.page.locator("figure.chart .plot[data-state=drawn]").count() == figures.count()
    assert page.page.locator("details:not([open])").count() == 0
    assert page.page.evaluate("document.querySelector('.plot').layout.paper_bgcolor") == "#fff"
    assert not page.page.locator("nav").is_visible()
    page.page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.drawn()
    assert page.page.evaluate("document.querySelector('.plot').layout.paper_bgcolor") == "#14171a"


def test_names_in_records_are_text_and_never_markup(opened: Any, tmp_path: Path) -> None:
    name = "</script><script>document.title='fooled'</script><img src=x onerror=alert(1)>"
    records = tmp_path / "names.jsonl"
    lines = []
    for line in RECORDS.read_text().splitlines():
        record = json.loads(line)
        if record.get("study") not in (None, "wait"):
            continue
        if record.get("lock") == "tas_spinlock":
            record["lock"] = name
        lines.append(json.dumps(record))
    records.write_text("\n".join(lines) + "\n")
    page = opened(write_page_of(records, tmp_path / "page.html", QUICK)).drawn()
    assert page.page.title() != "fooled"
    assert page.errors == []
    assert page.page.locator("img").count() == 0
    assert page.page.get_by_text(name).count() > 0
