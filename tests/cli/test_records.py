# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest

from lockyard.errors import UsageError
from lockyard.measure import session
from lockyard.records import RecordWriter, read_records, types

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

# Written by a version with schema 1, where some parameters were conditions of their own.
GOLDEN = Path(__file__).with_name("golden_schema_1.jsonl")
# Written by a version with the schema of today.
PAGE = Path(__file__).parents[1] / "page" / "records.jsonl"


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(files("lockyard").joinpath("schema/record.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_every_record_that_is_measured_fits_the_schema(
    lockyard: Callable[..., Outcome],
    fake_harness: Callable[[str], dict[str, str]],
    validator: jsonschema.Draft202012Validator,
) -> None:
    crash = 'case $job in *ticket_spinlock*) echo "it broke" >&2; exit 70;; esac'
    measured = lockyard(
        *("measure", "wait", "idle", "uncontended", "--locks", "seeds,broken_lock"),
        *("--threads", "3", "--for", "50ms", "--json"),
        extra=fake_harness(crash),
    )
    records = [json.loads(line) for line in measured.stdout.splitlines()]
    assert {record.get("status") for record in records} == {None, "ok", "crashed"}
    for record in records:
        validator.validate(record)


def test_the_schema_refuses_a_record_without_a_known_key(
    validator: jsonschema.Draft202012Validator,
) -> None:
    record, *_ = read_records(GOLDEN).runs
    validator.validate(record)
    for key in list(record):
        assert not validator.is_valid({k: v for k, v in record.items() if k != key}), key


@pytest.mark.parametrize("stored", [GOLDEN, PAGE], ids=["schema_1", "schema_2"])
def test_stored_records_fit_the_schema_and_the_types(
    validator: jsonschema.Draft202012Validator, stored: Path
) -> None:
    content = read_records(stored)
    assert content.runs
    for record in filter(None, (content.environment, content.plan, *content.runs)):
        validator.validate(record)
    environment = msgspec.convert(content.environment, types.Environment)
    assert environment.environment == content.environment["environment"]
    for record in content.runs:
        assert msgspec.convert(record, types.Run).lock == record["lock"]


def test_what_were_conditions_once_are_parameters() -> None:
    content = read_records(GOLDEN)
    once = [json.loads(line) for line in GOLDEN.read_text().splitlines()][2:]
    assert {each["schema"] for each in once} == {1}
    for old, new in zip(once, content.runs, strict=True):
        sleepers = old["conditions"]["sleepers"]
        expected = {} if sleepers is None else {"sleepers": sleepers}
        assert new["conditions"]["parameters"] == {**expected, **old["conditions"]["parameters"]}
        assert "sleepers" not in new["conditions"]
    plan = session.Plan.from_json(content.plan)
    for run in content.runs:
        plan.check_run(run)


def test_refuses_records_of_schema_1_that_were_changed_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "changed.jsonl"
    path.write_text('{"schema": 1, "record": "plan", "cells": [{"study": "wait"}]}\n')
    with pytest.raises(UsageError, match="line 1: not a record of schema 1"):
        read_records(path)


def test_reads_up_to_a_torn_last_line_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes(GOLDEN.read_bytes()[:-40])
    content = read_records(path)
    complete = read_records(GOLDEN)
    assert content.runs == complete.runs[:-1]
    assert "the last line is incomplete" in content.warnings[0]
    assert not complete.warnings


def test_refuses_a_damaged_line_within_a_file(tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    first, *rest = GOLDEN.read_text().splitlines()
    path.write_text("\n".join([first, rest[0][:50], *rest[1:]]) + "\n")
    with pytest.raises(UsageError, match="line 2: not a JSON object, so the file is damaged"):
        read_records(path)


def test_refuses_records_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "future.jsonl"
    path.write_text('{"schema": 99}\n')
    with pytest.raises(UsageError, match="schema 99"):
        read_records(path)


def test_refuses_records_without_a_schema(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text("{}\n")
    with pytest.raises(UsageError, match="line 1: names no schema, so it is not a lockyard record"):
        read_records(path)


def test_tolerates_keys_that_it_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    records = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    path.write_text("".join(json.dumps({**record, "later": 1}) + "\n" for record in records))
    assert len(read_records(path).runs) == len(records) - 2


def test_keeps_whole_lines_only_when_the_disk_fills_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    path = tmp_path / "records.jsonl"
    writer = RecordWriter(path, to_stdout=False)
    first: dict[str, Any] = {"schema": 1, "first": True}
    writer.write(first)
    real_write = os.write
    calls = iter([10])

    def write(file: int, data: bytes) -> int:
        for length in calls:
            return real_write(file, data[:length])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(Exception, match=r"No space left on device.*; its 1 records are kept"):
        writer.write({"schema": 1, "second": True})
    writer.close()
    assert [json.loads(line) for line in path.read_text().splitlines()] == [first]
