# SPDX-License-Identifier: Apache-2.0
"""Puts a page, its style, its scripts and the chart library into one file."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.files import replace_file
from lockyard.page.html import Body
from lockyard.page.marks import marks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.page.model import Page

SCRIPTS = ("units.js", "theme.js", "tables.js", "charts.js", "figures.js", "lanes.js", "start.js")
PLOTLY = "package_data/plotly.min.js"
NO_CHARTS = "the page has its tables but no charts: pip install 'lockyard[page]' adds them"
# Nothing on the page may reach the network, not even by mistake.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)


def write(path: Path, page: Page, order: Sequence[str] = ()) -> list[str]:
    """Writes the page next to its place, then moves it there. Returns what it could not include.
    `order` is the catalogue's, by which locks get their marks."""
    library = chart_library()
    text = page_text(page, order, library)
    replace_file(path, text.encode(), "so there is no page")
    return [] if library else [NO_CHARTS]


def chart_library() -> str:
    """Returns Plotly's script, or an empty text if the extra `page` is not installed."""
    found = find_spec("plotly")
    for place in (found.submodule_search_locations or ()) if found else ():
        script = Path(place) / PLOTLY
        if script.is_file():
            return script.read_text(encoding="utf-8")
    return ""


def page_text(page: Page, order: Sequence[str], library: str) -> str:
    body = Body(page)
    data = {
        "drawn": body.drawn,
        "marks": marks_of(page.marked, order),
        "locks": list(page.locks),
        "chosen": [each for each in page.marked if each not in page.locks]
        + list(page.chosen or page.locks),
    }
    note = "" if library or not body.drawn else f'<p class="missing">{escape(NO_CHARTS)}</p>'
    scripts = "".join(_asset(name) for name in SCRIPTS)
    title = escape(page.title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{_asset("page.css")}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><h1>{title}</h1><p>{escape(page.subtitle)}</p><div id="tools"></div></header>
<div class="columns">
<nav aria-label="Sections"><ol>
{body.contents}
</ol><div id="locks"></div></nav>
<main id="content">
{note}{body.sections}
</main>
</div>
<script type="application/json" id="data">{_embedded(data)}</script>
{f"<script>{_script(library)}</script>" if library else ""}
<script>
(() => {{
"use strict";
{_script(scripts)}}})();
</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (files("lockyard") / "page" / "assets" / name).read_text(encoding="utf-8")


def _embedded(data: dict[str, Any]) -> str:
    """Returns JSON in which nothing can end the script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _script(text: str) -> str:
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
