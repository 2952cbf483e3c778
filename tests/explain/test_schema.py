# SPDX-License-Identifier: Apache-2.0
"""The document that explain --json prints has the form that its schema says, and no key more."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fake_stalls as injected
import jsonschema
import pytest
from fake_explanations import injected_folder, records

import lockyard as package
from lockyard.explain.causes import Cause
from lockyard.explain.stalls import StallKind

if TYPE_CHECKING:
    from warm_command import WarmCommand

PATH = Path(package.__file__).parent / "schema" / "explain.schema.json"
SCHEMA: dict[str, Any] = json.loads(PATH.read_text())


def strict(schema: Any) -> Any:
    """The same without room for keys that it does not name: readers tolerate them, we do not."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if schema.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


STRICT = jsonschema.Draft202012Validator(strict(SCHEMA))


@pytest.fixture(scope="module")
def documents(
    warm_command: WarmCommand, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """Explains records with overhead, traces with every injected cause, and compares the causes."""
    runs = [(0, injected.barging()), (1, injected.unexplained()), *((n, None) for n in range(2, 9))]
    measured = records(tmp_path_factory.mktemp("measured"), *runs)
    folder = str(injected_folder(tmp_path_factory.mktemp("injected")))
    few = tmp_path_factory.mktemp("few")
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path_factory.mktemp("state"))}
    asked = (
        (str(measured),),
        (str(records(few, (0, injected.barging()), (1, None))),),
        (folder, "--top", "100"),
        ("--truth", folder),
    )
    shown = [warm_command.run(("explain", *each, "--json"), environment, 100) for each in asked]
    assert [each.returncode for each in shown] == [0] * len(asked), shown[0].stderr
    return [json.loads(each.stdout) for each in shown]


def test_real_documents_are_as_the_schema_says(documents: list[dict[str, Any]]) -> None:
    STRICT.check_schema(STRICT.schema)
    for each in documents:
        STRICT.validate(each)
    measured, few, found, matrix = documents
    assert measured["overhead"][0]["low"] is not None
    assert few["overhead"] == [] or few["overhead"][0]["low"] is None
    assert {stall["cause"] for stall in found["stalls"]} > {"barging", "woken_not_running"}
    assert all(stall["evidence"] for stall in found["stalls"])
    assert matrix["record"] == "confusion_matrix"


def test_the_schema_knows_the_causes_and_kinds_that_there_are() -> None:
    causes = sorted(cause.stored for cause in Cause)
    assert sorted(SCHEMA["$defs"]["CauseName"]["enum"]) == causes
    assert sorted(SCHEMA["$defs"]["StallKind"]["enum"]) == sorted(kind.value for kind in StallKind)


def test_each_lock_has_each_cause(documents: list[dict[str, Any]]) -> None:
    for each in (lock for document in documents[:3] for lock in document["locks"]):
        for part in ("causes_ns", "stalls_by_cause"):
            assert list(each[part]) == [cause.stored for cause in Cause]


def objects(value: Any) -> list[dict[str, Any]]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [
        *([value] if isinstance(value, dict) else []),
        *(o for part in parts for o in objects(part)),
    ]


def test_a_key_that_the_schema_does_not_know_is_noticed_wherever_it_is(
    documents: list[dict[str, Any]],
) -> None:
    for document in documents:
        for each in objects(document):
            each["quite_new"] = 1
            is_valid = STRICT.is_valid(document)
            del each["quite_new"]
            assert not is_valid


def test_a_key_that_is_missing_is_noticed(documents: list[dict[str, Any]]) -> None:
    tolerant = jsonschema.Draft202012Validator(SCHEMA)
    for document in documents:
        for key in document:
            assert not tolerant.is_valid({k: v for k, v in document.items() if k != key})
