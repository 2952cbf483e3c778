# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lockyard.checks.survivors import LIST, Key, read_list, source_text
from lockyard.errors import MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

    Fake = Callable[[str], dict[str, str]]

# Only two small locks, two litmus tests, a fault made by hand; and every check in no time.
SMALL_LIST = """
    if job["ask"] == "list":
        known = real(job)["result"]
        few = [each for each in known if each["name"] in ("tas_spinlock", "ticket_spinlock")]
        small = {**few[0], "threads": 2, "acquisitions": 1}
        few += [{**small, "name": "seen", "group": "litmus"}]
        few += [{**small, "name": "unseen", "group": "litmus", "expected": "LITMUS"}]
        few += [{**small, "name": "by_hand", "group": "mutant", "expected": "MUTANT"}]
        print(json.dumps({"result": few}), flush=True)
        continue
    if job.get("client") in ("seen", "unseen", "by_hand"):
        job["client"] = "tas_spinlock"
"""
NOTHING_KILLS = """
    if job.get("mutation") and "release ->" in job["mutation"]["words"]:
        job["mutation"] = None
"""


def small(litmus: str = "passed", mutant: str = "passed") -> str:
    return SMALL_LIST.replace("LITMUS", litmus).replace("MUTANT", mutant)


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_litmus_tests_have_the_verdicts_that_the_memory_model_gives(
    lockyard: Callable[..., Outcome], fake_checker: Fake
) -> None:
    fine = lockyard("check", "--litmus", "--json", extra=fake_checker(small()))
    assert fine.returncode == 0
    assert [each["client"] for each in lines_of(fine.stdout)] == ["seen", "unseen"]
    wrong = lockyard("check", "--litmus", extra=fake_checker(small(litmus="assertion")))
    assert wrong.returncode == 4
    assert "unseen 2x1: passed (expected: assertion)" in wrong.stdout


def test_groups_may_be_checked_together(
    lockyard: Callable[..., Outcome], fake_checker: Fake
) -> None:
    wanted = ("check", "--all", "--litmus", "--mutants", "--json")
    checked = lockyard(*wanted, extra=fake_checker(small()))
    assert checked.returncode == 0, checked.stdout
    found = lines_of(checked.stdout)
    clients = dict.fromkeys(each["client"] for each in found if each["record"] == "check")
    assert list(clients) == ["seen", "unseen", "tas_spinlock", "ticket_spinlock", "by_hand"]
    assert found[-1]["record"] == "mutation"


def test_every_weakened_order_is_found(
    lockyard: Callable[..., Outcome], fake_checker: Fake
) -> None:
    checked = lockyard("check", "--mutants", "--json", extra=fake_checker(small()))
    assert checked.returncode == 0, checked.stdout
    by_hand, *mutated = lines_of(checked.stdout)
    assert (by_hand["client"], by_hand["standing"]) == ("by_hand", "expected")
    assert {each["outcome"] for each in mutated} == {"killed"}
    assert {each["client"] for each in mutated} == {"tas_spinlock", "ticket_spinlock"}
    # Only the client size with try_lock can kill the mutant in try_lock.
    assert {each["size"]["tries"] for each in mutated} == {False, True}


def test_a_fault_made_by_hand_that_is_not_found_fails(
    lockyard: Callable[..., Outcome], fake_checker: Fake
) -> None:
    checked = lockyard("check", "--mutants", extra=fake_checker(small(mutant="race")))
    assert checked.returncode == 4
    assert "by_hand 2x1: passed (expected: race)" in checked.stdout


def test_a_survivor_without_a_reason_fails(
    lockyard: Callable[..., Outcome], fake_checker: Fake
) -> None:
    extra = fake_checker(small() + NOTHING_KILLS)
    checked = lockyard("check", "--mutants", "--json", extra=extra)
    assert checked.returncode == 4
    survivors = [each for each in lines_of(checked.stdout)[1:] if each["outcome"] == "survived"]
    assert len(survivors) == 2
    for each in survivors:
        assert each["standing"] == "failed"
        assert "release" in each["source"]


STANZAS = """
# a comment
a.hpp: acquire -> relaxed
    x.load(acquire);  // why: | so
    because of this
    and that

b.hpp: wake dropped
    y.wake();
    no thread sleeps
"""


def test_the_list_of_survivors_names_lines_by_their_text(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(STANZAS)
    assert read_list(path) == {
        Key("a.hpp", "acquire -> relaxed", "x.load(acquire);  // why: | so"): (
            "because of this and that"
        ),
        Key("b.hpp", "wake dropped", "y.wake();"): "no thread sleeps",
    }
    path.write_text("a.hpp: acquire -> relaxed\n  x.load();\n")
    with pytest.raises(MissingCapabilityError, match="is not an entry of three parts"):
        read_list(path)
    assert isinstance(read_list(LIST), dict)


def test_the_page_has_each_order_that_no_client_needs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "checking.md").read_text()
    rows = re.findall(r"^\| `(\S+\.hpp)` \| `(.+?)` \| ", page, re.MULTILINE)
    assert sorted(rows) == sorted((key.file, key.weakening) for key in read_list(LIST))


def test_a_source_line_is_found_next_to_the_command() -> None:
    lines = [source_text("tas_spinlock.hpp", line) for line in range(1, 80)]
    assert any("void unlock()" in line for line in lines)
    assert source_text("tas_spinlock.hpp", 10_000) == ""
    assert source_text("no_such_header.hpp", 1) == ""


def test_an_entry_that_excuses_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from lockyard.checks import mutations, survivors
    from lockyard.checks.clients import Client, ClientSize
    from lockyard.checks.result import Check, Result, Settings

    monkeypatch.setattr(mutations, "source_text", lambda *_: "x.load(acquire);")
    lock = Client("a", "lock", "", "passed", ClientSize())

    def outcome(line: int, verdict: str) -> mutations.MutationResult:
        words = f"a.hpp:{line}:3 acquire -> relaxed"
        site = {"file": "a.hpp", "line": line, "column": 3, "words": words}
        last = Result(Check(lock, ClientSize(), Settings(), site), verdict)
        return mutations.MutationResult(mutations.Mutation(site, [lock]), last, 1, None)

    key = Key("a.hpp", "acquire -> relaxed", "x.load(acquire);")
    assert outcome(1, "race").mutation.key == key
    survives, killed = outcome(1, "passed"), outcome(2, "race")
    assert survivors.stale_entries([key], [survives]) == []
    assert survivors.stale_entries([key], [survives, killed]) == []
    (told,) = survivors.stale_entries([key], [killed])
    assert "but is killed" in told
    (told,) = survivors.stale_entries([key], [])
    assert "there is no such mutation" in told
