# SPDX-License-Identifier: Apache-2.0
"""Published figures, read from the files in the folder data."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


def printed_rows(name: str) -> list[dict[str, str]]:
    """Returns the rows of a CSV file, each by the names of its columns."""
    text = (files("lockyard") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def printed_costs_ns() -> dict[str, float]:
    """Returns the costs that the text on stalls gives, by our names of the lock or operation."""
    return {row["figure"]: float(row["ns"]) for row in printed_rows("costs_ryzen1700.csv")}
