# SPDX-License-Identifier: Apache-2.0
"""lockyard compare as a person or a script meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from fake_files import GOLDEN, a_file, an_environment, rates
from fake_records import noise_record

import lockyard

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

SCHEMA = Path(lockyard.__file__).parent / "schema" / "compare.schema.json"


@pytest.fixture
def before(tmp_path: Path) -> str:
    return str(a_file(tmp_path / "before.jsonl", rates(*[100.0] * 12)))


@pytest.fixture
def slower(tmp_path: Path) -> str:
    return str(a_file(tmp_path / "slower.jsonl", rates(*[90.0] * 12)))


def said(told: Outcome) -> str:
    return " ".join((told.stdout + told.stderr).split())


def test_says_what_is_worse_and_by_how_much(
    lockyard: Callable[..., Outcome], before: str, slower: str
) -> None:
    told = lockyard("compare", before, slower)
    assert told.returncode == 0, told.stderr
    first, second, *_ = told.stdout.splitlines()
    assert first == "a difference is shown in each of 1 figure"
    assert second == "- throughput of futex_mutex × 2: rate is worse, 0.90 [0.90, 0.90] times A"
    assert "environment: the same" in told.stdout
    assert "\x1b" not in told.stdout
    assert told.stderr == ""


def test_says_in_words_that_no_difference_is_shown(
    lockyard: Callable[..., Outcome], before: str
) -> None:
    told = lockyard("compare", before, before)
    assert told.stdout.startswith("no difference shown in any of 1 figure\n")
    assert "A and B are the same file" in told.stdout


@pytest.mark.parametrize(
    ("gates", "status"),
    [
        (["rate < -5%"], 4),
        (["rate < -15%"], 0),
        (["throughput.rate < -15%", "throughput.operations_per_s < -5%"], 4),
        (["rate < 5%"], 2),
        (["throughput.p99 > +5%"], 2),
    ],
)
def test_ends_with_4_where_a_gate_fails(
    lockyard: Callable[..., Outcome], before: str, slower: str, gates: list[str], status: int
) -> None:
    options = [word for gate in gates for word in ("--fail-if", gate)]
    for as_json in ([], ["--json"]):
        told = lockyard("compare", before, slower, *options, *as_json)
        assert told.returncode == status, told.stderr
        assert bool(told.stdout) == (status != 2)


def test_ends_with_5_where_a_gate_cannot_be_decided(
    lockyard: Callable[..., Outcome], before: str, tmp_path: Path
) -> None:
    few = a_file(tmp_path / "few.jsonl", rates(50.0, 50.0))
    told = lockyard("compare", before, str(few), "--fail-if", "rate < -5%")
    assert told.returncode == 5
    assert told.stdout.startswith("gate rate < -5%: undecided in 1 cell\n")


def test_prints_one_document_with_json(
    lockyard: Callable[..., Outcome], before: str, slower: str
) -> None:
    told = lockyard("compare", before, slower, "--fail-if", "rate < -5%", "--json")
    document = json.loads(told.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    (gate,), (compared,) = document["gates"], document["compared"]
    assert (gate["outcome"], gate["figure"]) == ("failed", "rate")
    assert (compared["verdict"], compared["ratio"]) == ("worse", 0.9)
    assert compared["p"] == 2 / 2**12


def test_what_is_without_bound_is_null_in_json(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    nothing = a_file(tmp_path / "nothing.jsonl", rates(*[0.0] * 12))
    something = a_file(tmp_path / "something.jsonl", rates(*[1.0] * 12))
    told = lockyard("compare", str(nothing), str(something), "--json")
    document = json.loads(told.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert (document["compared"][0]["ratio"], document["compared"][0]["verdict"]) == (
        None,
        "better",
    )


def test_lists_what_differs_between_the_environments(
    lockyard: Callable[..., Outcome], before: str, tmp_path: Path
) -> None:
    changed = an_environment(
        cpu={"governor": "powersave"}, harness={"compiler": "Clang 18"}, environment="ffff"
    )
    other = a_file(tmp_path / "b.jsonl", rates(*[100.0] * 12), {**changed, "load_average": [9.0]})
    told = lockyard("compare", before, str(other))
    assert 'environment: cpu.governor is null in A and "powersave" in B (matters)' in told.stdout
    assert 'environment: harness.compiler is "GNU 12.2.0" in A and "Clang 18" in B' in told.stdout
    assert "load average before: 0.7/1.5/2.2 in A, 9.0 in B" in told.stdout
    document = json.loads(lockyard("compare", before, str(other), "--json").stdout)
    weights = {each["key"]: each["weight"] for each in document["environment"]}
    assert weights == {
        "cpu.governor": "matters",
        "harness.compiler": "matters",
        "environment": "passing",
        "load_average": "passing",
    }


def test_says_that_the_machines_differ_and_refuses_gates_then(
    lockyard: Callable[..., Outcome], before: str, tmp_path: Path
) -> None:
    elsewhere = an_environment(cpu={"model": "Other"}, environment="ffff")
    other = str(a_file(tmp_path / "b.jsonl", rates(*[100.0] * 12), elsewhere))
    told = lockyard("compare", before, other)
    assert told.returncode == 0
    assert "A and B come from different machines" in told.stdout
    refused = lockyard("compare", before, other, "--fail-if", "rate < -5%")
    assert refused.returncode == 2
    assert "--fail-if would judge the machines" in refused.stderr


def test_says_that_seeds_differ_and_that_a_file_has_no_environment(
    lockyard: Callable[..., Outcome], before: str, tmp_path: Path
) -> None:
    other = a_file(tmp_path / "b.jsonl", rates(*[100.0] * 12), environment={}, seed=2)
    told = lockyard("compare", before, str(other))
    assert told.returncode == 0, told.stderr
    assert "the seeds differ (1 and 2)" in told.stdout
    assert "B has no environment record" in told.stdout
    assert "environment: " not in told.stdout
    document = json.loads(lockyard("compare", before, str(other), "--json").stdout)
    assert document["environment"] == []
    refused = lockyard("compare", before, str(other), "--fail-if", "rate < -5%")
    assert refused.returncode == 2
    assert "b.jsonl: no environment record, so --fail-if might judge two" in refused.stderr


def test_compares_what_is_whole_of_a_torn_file(
    lockyard: Callable[..., Outcome], before: str, tmp_path: Path
) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(Path(before).read_bytes()[:-40])
    told = lockyard("compare", before, str(torn))
    assert told.returncode == 0
    assert "the last line is incomplete" in told.stderr
    assert "11 runs" in told.stdout


def a_mixture(path: Path) -> str:
    """Runs of two machines in one file."""
    here, there = rates(*[1.0] * 2), rates(*[1.0] * 2)
    a_file(path, [*here, *({**run, "environment": "ffff", "block": 9} for run in there)])
    return str(path)


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def put_together(path: Path) -> str:
    a_file(path, [*rates(1.0, 2.0), *rates(3.0, 4.0)])
    return str(path)


def without(key: str, path: Path) -> str:
    a_file(path, [{k: v for k, v in run.items() if k != key} for run in rates(1.0)])
    return str(path)


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("bad", "cause"),
    [
        (lambda path: str(path), "records cannot be read"),
        (lambda path: str(folder(path)), "is a folder without record files"),
        (lambda path: written(path, ""), "is empty, so there is nothing to compare"),
        (lambda path: written(path, "\n"), "holds no run"),
        (lambda path: str(a_file(path, [])), "holds a plan but no run"),
        (lambda path: written(path, '{"schema": 3}\n'), "has schema 3, but this version"),
        (
            lambda path: written(path, "hello\nworld\n"),
            "line 1: not a JSON object, so the file is damaged",
        ),
        (a_mixture, "holds runs from 2 environments"),
        (put_together, "holds block 0 of throughput futex_mutex more than once"),
        (
            lambda path: without("values", path),
            "line 3: not a record of a run (KeyError: 'values')",
        ),
        (lambda path: without("conditions", path), "line 3: not a record of a run"),
        (
            lambda path: str(a_file(path, rates(1.0, threads=64))),
            "have no cell in common (a study of a lock under the same conditions)",
        ),
    ],
)
def test_a_bad_file_is_one_error(
    lockyard: Callable[..., Outcome], before: str, tmp_path: Path, bad: Any, cause: str
) -> None:
    path = bad(tmp_path / "bad.jsonl")
    for files in ((before, path), (path, before)):
        told = lockyard("compare", *files)
        assert told.returncode == 2
        assert cause in told.stderr
        assert "Traceback" not in told.stderr and told.stdout == ""


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ([], "only one file was given, so there is nothing to compare it with"),
        (["--locks", "std::mutex"], "must name two locks, one of A and one of B"),
        (["--locks", "a,b,c"], "must name two locks, one of A and one of B"),
        (["--locks", "futex_mutex,none"], "holds no 'none', so nothing was compared"),
        (
            ["--locks", "futex_mutex,futex_mutex", "--study", "wait"],
            "holds no 'wait', so nothing was compared; choose from throughput",
        ),
    ],
)
def test_a_bad_choice_is_one_error(
    lockyard: Callable[..., Outcome], before: str, options: list[str], cause: str
) -> None:
    told = lockyard("compare", before, *options)
    assert told.returncode == 2
    assert cause in told.stderr


def test_compares_two_locks_and_chosen_studies_of_real_records(
    lockyard: Callable[..., Outcome],
) -> None:
    locks = ("--locks", "std::mutex,futex_mutex", "--study", "wait,uncontended")
    told = lockyard("compare", str(GOLDEN), *locks, "--json")
    assert told.returncode == 0, told.stderr
    compared = json.loads(told.stdout)["compared"]
    assert {(each["study"], each["lock"], each["lock_of_b"]) for each in compared} == {
        ("wait", "std::mutex", "futex_mutex"),
        ("uncontended", "std::mutex", "futex_mutex"),
    }


def test_a_large_second_file_is_read_by_a_process_of_its_own(
    lockyard: Callable[..., Outcome], before: str, tmp_path: Path
) -> None:
    large = tmp_path / "large.jsonl"
    padded = [{**run, "stalls": ["x" * 1_000_000]} for run in rates(*[90.0] * 12)]
    a_file(large, padded)
    told = lockyard("compare", before, str(large))
    assert told.returncode == 0, told.stderr
    assert "rate is worse" in told.stdout
    large.write_bytes(large.read_bytes() + b"damaged\nagain\n")
    told = lockyard("compare", before, str(large))
    assert told.returncode == 2
    assert "line 15: not a JSON object, so the file is damaged" in told.stderr
    assert "Traceback" not in told.stderr


def test_says_that_the_machine_was_busy(
    lockyard: Callable[..., Outcome], before: str, tmp_path: Path
) -> None:
    lost = [noise_record(block=block) for block in range(3)]
    for record in lost:
        record["values"]["lost_share"] = 0.3
    busy = a_file(tmp_path / "busy.jsonl", [*rates(*[100.0] * 12), *lost])
    told = lockyard("compare", before, str(busy))
    assert "the study noise lost 0.0 % of the time in A and 30.0 % in B" in told.stdout
    assert "busy" not in lockyard("compare", before, before).stdout
