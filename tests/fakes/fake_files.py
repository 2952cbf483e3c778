# SPDX-License-Identifier: Apache-2.0
"""Fake record files, with the fields that compare reads."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fake_records import a_record

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

GOLDEN = Path(__file__).parents[1] / "cli" / "golden_schema_1.jsonl"
LOCKS = ("ticket_spinlock", "futex_mutex", "std::mutex")
SHARES = (0.5, 0.99, 0.999, 1.0)


@cache
def golden_environment() -> dict[str, Any]:
    with GOLDEN.open() as lines:
        return dict(json.loads(next(lines)))


def an_environment(**changes: Any) -> dict[str, Any]:
    """Returns the golden records' environment with other parts: cpu={"governor": "powersave"}."""
    environment = dict(golden_environment())
    for part, change in changes.items():
        is_part = isinstance(change, dict)
        environment[part] = {**environment[part], **change} if is_part else change
    return environment


def a_file(
    path: Path,
    records: Iterable[dict[str, Any]],
    environment: dict[str, Any] | None = None,
    seed: int = 1,
) -> Path:
    first = an_environment() if environment is None else environment
    plan = {"record": "plan", "command": "measure", "seed": seed, "reference": None, "cells": []}
    named = {"schema": 1, "environment": first.get("environment", "")}
    lines = [*([first] if first else []), {"schema": 1, **plan}]
    lines += [{**named, **record} for record in records]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def rates(*values: float, lock: str = "futex_mutex", **others: Any) -> list[dict[str, Any]]:
    """A run of throughput for each block."""
    return [
        a_record("throughput", lock, block, values={"operations_per_s": value}, **others)
        for block, value in enumerate(values)
    ]


def a_histogram(quantiles: Iterable[tuple[float, float]]) -> dict[str, Any]:
    """100,000 waits, none longer than each of these (share, ns) for its share."""
    counts, before = [], 0.0
    for share, ns in quantiles:
        bits, ticks = 7, max(1, round(ns))
        shift = max(ticks.bit_length() - 1 - bits, 0)
        counts.append([(shift << bits) + (ticks >> shift), round((share - before) * 100_000)])
        before = share
    return {"unit": "ns", "scale": 1.0, "sub_bucket_bits": 7, "counts": counts}


def measured_waits(
    chance: random.Random, blocks: int, slower: float = 1.0, sigma: float = 0.04
) -> list[dict[str, Any]]:
    """Like real measurements: rates have two modes, by where the lock lies in a block; waits have
    long tails, maxima longer ones; the machine drifts."""
    cells = [a_record("wait", lock, 0, threads=n) for lock in LOCKS for n in (2, 16)]
    records = []
    for block in range(blocks):
        drift = 1 + 0.1 * math.sin(block / 5)
        for number, cell in enumerate(cells):
            mode = 1.4 if chance.random() < 0.2 else 1.0
            took = slower * drift * mode * chance.lognormvariate(0, sigma)
            tail = took * chance.lognormvariate(0, 3 * sigma)
            quantiles = zip(SHARES, (200 * took, 2e3 * tail, 9e3 * tail, 2e4 * tail), strict=True)
            values = {
                "complete": True,
                "operations_per_s": 5e6 / took,
                "wait_max_ns": 3e4 * took * chance.paretovariate(1.2),
            }
            histograms = {"wait": a_histogram(quantiles)}
            run = {"block": block, "cell": number, "values": values, "histograms": histograms}
            records.append({**cell, **run})
    return records
