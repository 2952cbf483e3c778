# SPDX-License-Identifier: Apache-2.0
"""What the texts printed, as the files in the folder data have it."""

from __future__ import annotations

import csv
from importlib.resources import files


def printed_rows(name: str) -> list[dict[str, str]]:
    """Of a file in CSV, each by the names of its columns."""
    text = (files("lockyard") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
