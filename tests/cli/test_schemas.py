# SPDX-License-Identifier: Apache-2.0
"""The stored JSON schemas follow from the types of the documents."""

from __future__ import annotations

import jsonschema
import pytest

from lockyard import schema


@pytest.mark.parametrize("name", schema.SOURCES)
def test_a_stored_schema_is_the_generated_one(name: str) -> None:
    assert schema.stored(name) == schema.generated(name), "run: python -m lockyard.schema"


@pytest.mark.parametrize("name", schema.SOURCES)
def test_a_schema_is_valid_and_names_the_record(name: str) -> None:
    found = schema.stored(name)
    jsonschema.Draft202012Validator.check_schema(found)
    source = schema.SOURCES[name]
    for each in source.types:
        assert "record" in found["$defs"][each.rpartition(":")[2]]["required"]
    for each in source.untagged:
        assert found["$defs"][each]["not"] == {"required": ["record"]}
