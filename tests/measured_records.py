# SPDX-License-Identifier: Apache-2.0
"""What tests look for in the records that `lockyard measure --json` prints."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema

from lockyard.records.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from conftest import Outcome

# One that is made once: making it takes longer than holding a record against it.
RECORDS = jsonschema.Draft202012Validator(
    json.loads(files("lockyard").joinpath("schema/record.schema.json").read_text())
)


def runs_of(found: Outcome, statuses: Collection[int] = (0,)) -> list[dict[str, Any]]:
    """Returns the runs of locks, checked against the schema."""
    assert found.returncode in statuses, found.stderr
    records = [json.loads(line) for line in found.stdout.splitlines()]
    runs = [record for record in records if record.get("lock")]
    for run in runs:
        RECORDS.validate(run)
    return runs


BRIEF = ("--for", "60ms", "--runs", "1")


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    """Returns the runs of a measurement; none may be cut short or unavailable."""
    runs = runs_of(lockyard("measure", *arguments, "--json"), (0, 4))
    for run in runs:
        assert run["status"] == "ok", run["reason"]
    return runs


def total(histogram: dict[str, Any]) -> int:
    """How many samples it has."""
    counted = Histogram()
    counted.add(histogram)
    return counted.total
