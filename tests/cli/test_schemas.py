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
    documents = schema.SOURCES[name].types
    for each in documents:
        assert "record" in found["$defs"][each]["required"]
