# SPDX-License-Identifier: Apache-2.0
"""Puts what a real report shows into README.md and docs/index.md: its first screen and a chart.

    lockyard report --out records.jsonl
    python tools/manual/first_screen.py records.jsonl

The text is what `lockyard report --from` prints. The report's own page, opened in Chromium, saves
the chart. Needs the extra `lockyard[test]`, which `./yard test` installs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
CHART = Path("docs/figures/waiting.svg")
# The files that show a report, and the chart's path in their links.
SHOWN_IN = {"README.md": str(CHART), "docs/index.md": str(CHART.relative_to("docs"))}
BEGIN = "<!-- a report's first screen, written by tools/manual/first_screen.py -->"
END = "<!-- the end of the first screen -->"
WIDTH, HEIGHT = 1100, 900
# How many digits the chart keeps behind the point, far below what a pixel shows.
_LONG_NUMBER = re.compile(r"(\d+\.\d)\d+")
_ATTRIBUTE = re.compile(r'="[^"]*"')


class Chart(NamedTuple):
    svg: str
    title: str
    summary: str


def screen_of(records: Path) -> str:
    """Returns the first screen, without the line that names the file."""
    shown = _lockyard("report", "--from", str(records)).splitlines()
    return "\n".join(line.rstrip() for line in shown if str(records) not in line)


def chart_of(records: Path) -> Chart:
    """Returns the waits at short sections with the most threads, as the page draws them."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "page.html"
        _lockyard("report", "--from", str(records), "--page", str(page_file))
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("LOCKYARD_CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox"],
        )
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", offline=True
        )
        page.goto(page_file.as_uri())
        figures = page.locator("#waiting figure")
        titles = figures.locator("h3").all_text_contents()
        place = titles.index(most_threads(titles))
        if (choice := page.locator("#waiting select")).count():
            choice.select_option(index=place)
        figure = figures.nth(place)
        with page.expect_download() as saved:
            figure.get_by_role("button", name="Save as SVG").click()
        svg = Path(saved.value.path()).read_text(encoding="utf-8")
        chart = Chart(svg, titles[place], figure.locator(".summary").text_content() or "")
        browser.close()
    return chart._replace(svg=shortened(chart.svg))


def shortened(svg: str) -> str:
    """Returns the drawing with shorter numbers in its attributes; what it shows as text stays."""
    return _ATTRIBUTE.sub(lambda found: _LONG_NUMBER.sub(r"\1", found[0]), svg)


def most_threads(titles: list[str]) -> str:
    """Returns the first of the titles with the most threads; the shortest sections come first."""
    return max(titles, key=lambda title: int((re.findall(r"(\d+) threads", title) or ["1"])[0]))


def section(screen: str, chart: Chart, link: str) -> str:
    """Returns the Markdown between the marks."""
    return f"```text\n{screen}\n```\n\n![{chart.title}: {chart.summary}]({link})"


def replaced(text: str, content: str) -> str:
    """Returns the text with the content between its marks. Raises ValueError if it has none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the file lacks the lines {BEGIN} and {END}, so nothing can be replaced")
    return f"{before}{BEGIN}\n\n{content}\n\n{END}{after}"


def _lockyard(*arguments: str) -> str:
    ran = subprocess.run(
        [Path(sys.executable).with_name("lockyard"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )
    if ran.returncode != 0:
        sys.exit(ran.stderr)
    return ran.stdout


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", type=Path)
    records = parser.parse_args().records
    screen, chart = screen_of(records), chart_of(records)
    (ROOT / CHART).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / CHART).write_text(chart.svg, encoding="utf-8")
    for name, link in SHOWN_IN.items():
        file = ROOT / name
        text = replaced(file.read_text(encoding="utf-8"), section(screen, chart, link))
        file.write_text(text, encoding="utf-8")
        print(f"{name}: {len(screen.splitlines())} lines, chart {CHART}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
