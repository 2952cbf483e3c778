# SPDX-License-Identifier: Apache-2.0
"""The JSON schemas of what lockyard prints and writes, generated from the types of its documents:
`python -m lockyard.schema` writes them next to this file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from operator import or_
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parent
SUFFIX = ".schema.json"


@dataclass(frozen=True)
class Source:
    """The types of the documents that a schema describes."""

    title: str
    module: str
    types: tuple[str, ...]


SOURCES = {
    "campaign": Source(
        "The output of lockyard campaign --json",
        "lockyard.campaign.document",
        ("CampaignDocument", "PlannedCampaign"),
    ),
    "check": Source(
        "A line that lockyard check --json prints",
        "lockyard.checks.document",
        ("CheckDocument", "MutationDocument", "BenchDocument", "BenchMemory"),
    ),
    "compare": Source(
        "The output of lockyard compare --json",
        "lockyard.compare.document",
        ("ComparisonDocument",),
    ),
    "doctor": Source(
        "The output of lockyard doctor --json",
        "lockyard.doctor.document",
        ("DoctorDocument", "FixesDocument", "UndoneDocument"),
    ),
    "explain": Source(
        "The output of lockyard explain --json; docs/explain.md describes the causes",
        "lockyard.explain.document",
        ("ExplanationDocument", "ConfusionMatrix"),
    ),
    "history": Source(
        "The output of lockyard history --json",
        "lockyard.history.document",
        ("HistoryDocument",),
    ),
    "profile": Source(
        "A line of the file that lockyard profile -o writes",
        "lockyard.field_kit.contention",
        ("Process", "Row", "WaitGroup", "LongWait"),
    ),
}


def generated(name: str) -> dict[str, Any]:
    source = SOURCES[name]
    module = import_module(source.module)
    union = reduce(or_, (getattr(module, each) for each in source.types))
    found = msgspec.json.schema(union)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": source.title,
        **found,
    }


def stored(name: str) -> Any:
    return json.loads((FOLDER / f"{name}{SUFFIX}").read_text("utf-8"))


def write(name: str) -> None:
    text = json.dumps(generated(name), indent=2, ensure_ascii=False)
    (FOLDER / f"{name}{SUFFIX}").write_text(f"{text}\n", "utf-8")
