# SPDX-License-Identifier: Apache-2.0
"""Writes a page's content as HTML that needs no script; scripts add charts, sorting and steps."""

from __future__ import annotations

import re
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from lockyard.page.model import (
    Advice,
    Chart,
    Choice,
    Execution,
    Facts,
    Missing,
    Remark,
    Section,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lockyard.page.model import Block, Page


class Body:
    """The HTML of all sections, and the charts and executions in them, which scripts draw."""

    def __init__(self, page: Page) -> None:
        self.drawn: list[dict[str, Any]] = []
        self._writers: dict[type, Callable[[Any], Iterator[str]]] = {
            Chart: self._chart,
            Choice: self._choice,
            Execution: self._execution,
            Table: _table,
            Facts: _facts,
            Remark: _remark,
            Missing: _missing,
        }
        self.sections = "\n".join(
            line for section in page.sections for line in self._section(section)
        )
        self.contents = "\n".join(
            f'<li><a href="#{anchor(each.title)}">{escape(each.title)}</a></li>'
            for each in page.sections
        )

    def _section(self, section: Section) -> Iterator[str]:
        name = anchor(section.title)
        yield f'<section id="{name}" aria-labelledby="{name}-title">'
        yield f'<h2 id="{name}-title">{escape(section.title)}</h2>'
        if section.lead:
            yield f'<p class="lead">{escape(section.lead)}</p>'
        for kind, blocks in _runs(section.blocks):
            if kind is Advice:
                yield from _advice(blocks)
                continue
            if kind is Chart:
                yield '<div class="charts">'
            for block in blocks:
                yield from self._writers[kind](block)
            if kind is Chart:
                yield "</div>"
        yield "</section>"

    def _chart(self, chart: Chart) -> Iterator[str]:
        number = self._added({"draw": "chart", **asdict(chart)})
        wide = " wide" if chart.wide else ""
        yield f'<figure class="chart{wide}" id="figure-{number}" data-drawn="{number}">'
        yield f"<figcaption><h3>{escape(chart.title)}</h3>"
        if chart.subtitle:
            yield f"<p>{escape(chart.subtitle)}</p>"
        yield "</figcaption>"
        yield f'<div class="plot" role="img" tabindex="0" aria-label="{escape(chart.summary)}">'
        yield f'</div><p class="summary">{escape(chart.summary)}</p></figure>'

    def _choice(self, choice: Choice) -> Iterator[str]:
        yield f'<div class="charts choice" data-label="{escape(choice.label)}">'
        for name, chart in choice.charts.items():
            yield f'<div class="option" data-name="{escape(name)}">'
            yield from self._chart(chart)
            yield "</div>"
        yield "</div>"

    def _execution(self, execution: Execution) -> Iterator[str]:
        """Writes the steps as a table with a column for each thread, complete without scripts."""
        number = self._added({"draw": "execution", "steps": [s["edges"] for s in execution.steps]})
        yield f'<article class="execution" id="figure-{number}" data-drawn="{number}">'
        yield f"<h3>{escape(execution.title)}</h3>"
        yield f'<p class="verdict">{escape(execution.verdict)}</p>'
        heads = "".join(f'<th scope="col">{escape(each)}</th>' for each in execution.lanes)
        yield '<div class="scroll" tabindex="0" role="region" '
        yield f'aria-label="{escape(execution.title)}: steps"><table class="lanes"><thead><tr>'
        yield f'<th scope="col">step</th>{heads}<th scope="col">source</th></tr></thead><tbody>'
        for place, step in enumerate(execution.steps, start=1):
            yield f'<tr id="figure-{number}-step-{place}"><th scope="row">{place}</th>'
            yield from _lanes(step, len(execution.lanes))
            yield f"<td><code>{escape(step['where'])}</code></td></tr>"
        yield "</tbody></table></div>"
        if execution.command:
            yield f"<p>Replay it: <code>{escape(execution.command)}</code></p>"
        yield "</article>"

    def _added(self, drawn: dict[str, Any]) -> int:
        self.drawn.append(drawn)
        return len(self.drawn) - 1


def anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _runs(blocks: Sequence[Block]) -> Iterator[tuple[type, list[Block]]]:
    """Yields neighbours of one kind together."""
    run: list[Block] = []
    for block in blocks:
        if run and type(block) is not type(run[0]):
            yield type(run[0]), run
            run = []
        run.append(block)
    if run:
        yield type(run[0]), run


def _lanes(step: dict[str, Any], lanes: int) -> Iterator[str]:
    if step["lane"] is None:
        yield f'<td colspan="{lanes}" class="end">{escape(step["text"])}</td>'
        return
    for lane in range(lanes):
        mine = lane == step["lane"]
        yield f'<td class="step">{escape(step["text"])}</td>' if mine else '<td class="rail"></td>'


def _advice(blocks: Sequence[Any]) -> Iterator[str]:
    yield '<ul class="advice">'
    for each in blocks:
        evidence = f"<p>{escape(each.evidence)}</p>" if each.evidence else ""
        yield f"<li><strong>{escape(each.text)}</strong>{evidence}</li>"
    yield "</ul>"


def _facts(facts: Facts) -> Iterator[str]:
    yield '<dl class="facts">'
    for name, value in facts.pairs:
        yield f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
    yield "</dl>"


def _remark(remark: Remark) -> Iterator[str]:
    yield f'<p class="remark">{escape(remark.text)}</p>'


def _missing(missing: Missing) -> Iterator[str]:
    yield (
        f'<p class="missing">Not in these records: {escape(missing.what)}. To add it: '
        f"<code>{escape(missing.command)}</code></p>"
    )


def _table(table: Table) -> Iterator[str]:
    is_open = " open" if table.open else ""
    rows = "1 row" if len(table.rows) == 1 else f"{len(table.rows)} rows"
    yield f"<details{is_open}><summary>{escape(table.title)} <small>{rows}</small></summary>"
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
    heads = "".join(f'<th scope="col">{escape(each)}</th>' for each in table.columns)
    yield f'<table class="sortable"><thead><tr>{heads}</tr></thead><tbody>'
    for row in table.rows:
        first, *others = row
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        yield f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>'
    yield "</tbody></table></div>"
    if table.caption:
        yield f'<p class="remark">{escape(table.caption)}</p>'
    yield "</details>"
