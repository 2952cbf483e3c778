# SPDX-License-Identifier: Apache-2.0
"""Advice as text and as a document: the lock, the runner-up, and the price."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.text import Text

from lockyard.report.console import machine_table, stdout_console
from lockyard.report.units import MISSING, duration, percent, rate, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.advise.choice import Advice, Candidate

SHOWN = 6


def print_advice(answers: Sequence[Advice], remarks: Sequence[str]) -> None:
    console = stdout_console()
    for advice in answers:
        for line in lines(advice):
            console.print(Text(line), soft_wrap=True, highlight=False)
        console.print(_table(advice))
    for remark in remarks:
        console.print(Text(remark), soft_wrap=True, highlight=False)


def lines(advice: Advice) -> Iterator[str]:
    use, best = advice.use, advice.best
    yield f"Use {best.lock.name}{f' for {use.name}' if use.name else ''}: {_figure(advice, best)}."
    yield (
        f"  for {_many(use.threads, 'thread that holds', 'threads that hold')} it for "
        f"{duration(use.hold_ns)}, with {duration(use.gap_ns)} in between: "
        f"{_many(use.wanted, 'thread wants', 'threads want')} it on average; {advice.source}"
    )
    if advice.runner_up is not None:
        found = advice.compared(advice.runner_up)
        compared = f"; ratio {ratio(found)}" if found else ""
        yield (
            f"  runner-up: {advice.runner_up.lock.name}, "
            f"{_figure(advice, advice.runner_up)}{compared}"
        )
    yield f"  price: {'; '.join(price(advice))}"


def _many(count: float, one: str, more: str) -> str:
    number = f"{count:.0f}" if count >= 10 else f"{count:.2g}"
    return f"{number} {one if number == '1' else more}"


def _figure(advice: Advice, of: Candidate) -> str:
    if advice.by_tail and math.isinf(of.tail_ns):
        return f"too few waits for a percentile, the longest {_time(of.longest_ns)}"
    if advice.by_tail:
        return f"{100 * advice.tails.share:g} % of waits are below {_time(of.tail_ns)}"
    return f"{rate(of.rate_per_s)}"


def _time(ns: float) -> str:
    return MISSING if math.isinf(ns) else duration(ns)


def price(advice: Advice) -> Iterator[str]:
    """Yields what the best lock costs, where another one does better."""
    best, fastest, steadiest = advice.best, advice.fastest, advice.steadiest
    if fastest is not best:
        found = advice.compared(fastest, by_tail=False)
        if found is not None and found.shows_difference and found.median > 1:
            yield f"{fastest.lock.name} has {found.median:.2f} times its throughput"
    if steadiest is not best and math.inf > best.tail_ns > steadiest.tail_ns:
        yield (
            f"1 of {1 / (1 - advice.tails.share):.0f} waits is longer than {_time(best.tail_ns)}, "
            f"with {steadiest.lock.name} {_time(steadiest.tail_ns)}"
        )
    yield f"the longest wait was {_time(best.longest_ns)}"
    if best.cpu_share is not None:
        yield f"threads use {percent(best.cpu_share)} of their time on a processor"
    if best.lock.waiting != "park":
        yield "waiting threads never sleep: do not use it with more threads than processors"
    if best.fairness is not None and best.fairness < 0.9:
        yield f"threads get unequal shares (fairness {best.fairness:.2f} of 1)"
    if best.lock.size_bytes:
        yield f"{best.lock.size_bytes} byte{'' if best.lock.size_bytes == 1 else 's'} each"


def _table(advice: Advice) -> Any:
    table = machine_table(
        f"the {SHOWN} best of {len(advice.ranked)} locks"
        if len(advice.ranked) > SHOWN
        else "all locks",
        *("lock", "rate", f"wait p{100 * advice.tails.share:g}", "longest"),
        *("processor time", "fairness", "bytes"),
    )
    for each in advice.ranked[:SHOWN]:
        table.add_row(
            each.lock.name,
            rate(each.rate_per_s),
            _time(each.tail_ns),
            _time(each.longest_ns),
            percent(each.cpu_share),
            MISSING if each.fairness is None else f"{each.fairness:.2f}",
            str(each.lock.size_bytes or MISSING),
        )
    return table
