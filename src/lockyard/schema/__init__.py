# SPDX-License-Identifier: Apache-2.0
"""The JSON schemas of what lockyard prints and writes, generated from the types of its documents:
`python -m lockyard.schema` writes them next to this file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parent
SUFFIX = ".schema.json"


@dataclass(frozen=True)
class Source:
    """The types of the documents that a schema describes. The types in `untagged` have no key
    `record`, which names a type."""

    title: str
    module: str
    types: tuple[str, ...] = ()
    untagged: tuple[str, ...] = ()

    def all(self) -> list[Any]:
        """Returns the types; a name has its own module in front of a colon, or the source's."""
        return [_found(name, self.module) for name in (*self.types, *self.untagged)]


def _found(name: str, module: str) -> Any:
    own_module, _, name = name.rpartition(":")
    return getattr(import_module(own_module or module), name)


SOURCES = {
    "advice": Source(
        "The output of lockyard advise --json",
        "lockyard.advise.document",
        ("AdviceDocument",),
    ),
    "catalogue": Source(
        "What lockyard-harness --catalog and lockyard list --json print",
        "lockyard.catalog",
        untagged=("Catalog", "Listing", "Peers"),
    ),
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
    "finding": Source(
        "A line of the file that lockyard guard -o writes",
        "lockyard.field_kit.guard_document",
        ("FindingDocument",),
    ),
    "hang": Source(
        "The output of lockyard hang --json",
        "lockyard.field_kit.hang_document",
        ("HangDocument",),
    ),
    "job": Source(
        "A line on the standard input of lockyard-harness",
        "lockyard.records.types",
        untagged=("Job",),
    ),
    "prediction": Source(
        "The output of lockyard predict --json",
        "lockyard.field_kit.prediction_document",
        ("PredictionDocument",),
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
    "record": Source(
        "A line of a lockyard record file. Version 2: in version 1, workload, sleepers, writers "
        "and burst are conditions, not parameters",
        "lockyard.records.types",
        ("Environment", "lockyard.measure.session:Plan"),
        untagged=("Run",),
    ),
    "simulation": Source(
        "The output of lockyard simulate --json",
        "lockyard.simulate.document",
        untagged=("SimulationDocument", "SweepDocument", "AgreementDocument"),
    ),
    "trial": Source(
        "The output of lockyard try --json",
        "lockyard.field_kit.trial_document",
        untagged=("TrialDocument",),
    ),
}


def generated(name: str) -> dict[str, Any]:
    source = SOURCES[name]
    alternatives, definitions = msgspec.json.schema_components(
        source.all(), ref_template="#/$defs/{name}"
    )
    for each in source.untagged:
        definitions[each]["not"] = {"required": ["record"]}
    found = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": source.title,
        "anyOf": list(alternatives),
        "$defs": definitions,
    }
    as_stored: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return as_stored


def stored(name: str) -> Any:
    return json.loads((FOLDER / f"{name}{SUFFIX}").read_text("utf-8"))


def write(name: str) -> None:
    text = json.dumps(generated(name), indent=2, ensure_ascii=False)
    (FOLDER / f"{name}{SUFFIX}").write_text(f"{text}\n", "utf-8")
