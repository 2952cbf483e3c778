# SPDX-License-Identifier: Apache-2.0
"""Tables of seeded faults become sources, or are refused with the fault and the header named."""

from __future__ import annotations

from pathlib import Path

import pytest
import seeded_faults

ROOT = Path(__file__).parents[2]
HEADER = """\
#pragma once
#include <lockyard/world/world.hpp>

namespace lockyard::inline v0 {
void lock() { take(); }
void unlock() { store(0); wake(); }
}  // namespace lockyard::inline v0
"""
TABLE = """\
[faults.never_wakes]
summary = "unlock \\"wakes\\" no thread"
verdict = "hang"
threads = 2
timed = true
asymmetric = "fences"
headers = ["lock.hpp"]
client = "client_of<lock>"
change = [["{change}", ""]]
"""


@pytest.fixture
def generated(tmp_path: Path) -> Path:
    (tmp_path / "include/lockyard").mkdir(parents=True)
    (tmp_path / "include/lockyard/lock.hpp").write_text(HEADER)
    return tmp_path / "to"


def status(table: str, to: Path) -> int:
    path = to.parent / "locks.toml"
    path.write_text(table)
    return seeded_faults.main([str(path), "--include", str(to.parent / "include"), "--to", str(to)])


def test_the_copy_has_the_change_and_a_namespace_of_its_own(generated: Path) -> None:
    assert status(TABLE.format(change="store(0);  wake();"), generated) == 0
    copy = (generated / "never_wakes/lock.hpp").read_text()
    assert "wake" not in copy.replace("never_wakes", "")
    assert "take();" in copy
    assert "namespace lockyard::faults::never_wakes {" in copy
    assert "inline v0 {" not in copy
    source = (generated / "locks.cpp").read_text()
    assert '.summary = "unlock \\"wakes\\" no thread"' in source
    assert ".size = {.threads = 2, .timed = true}" in source
    assert ".how = {.asymmetric = model::barriers::fences}" in source
    assert "faults_of_locks()" in (generated / "all.cpp").read_text()
    assert "lock.hpp" in (generated / "all.d").read_text()


@pytest.mark.parametrize(("verdict", "group"), [("hang", "mutant"), ("passed", "client")])
def test_a_fault_is_a_mutant_unless_it_must_pass(generated: Path, verdict: str, group: str) -> None:
    table = TABLE.format(change="wake();").replace('"hang"', f'"{verdict}"')
    assert status(table, generated) == 0
    source = (generated / "locks.cpp").read_text()
    assert f'.name = "never_wakes", .of = group::{group},' in source
    assert f".expected = model::verdict::{verdict}," in source


def test_lines_after_a_change_keep_their_numbers(generated: Path) -> None:
    assert status(TABLE.format(change="take(); }\\nvoid unlock() {"), generated) == 0
    copy = (generated / "never_wakes/lock.hpp").read_text()
    assert f"#line {HEADER.count(chr(10))}\n" in copy
    assert copy.endswith("}  // namespace lockyard::inline v0\n")


@pytest.mark.parametrize(("change", "times"), [("wake_all();", 0), ("(", 5)])
def test_a_fault_that_does_not_fit_its_header_is_refused(
    generated: Path, capsys: pytest.CaptureFixture[str], change: str, times: int
) -> None:
    assert status(TABLE.format(change=change), generated) == 1
    message = capsys.readouterr().err
    assert "the fault never_wakes does not fit lock.hpp" in message
    assert f"occurs {times} times instead of once" in message
    assert "Adapt the text to the header, or delete the fault" in message
    assert not (generated / "locks.cpp").exists()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE.replace("verdict", "verdicts"), "never_wakes has the unknown key `verdicts`"),
        (TABLE.replace('verdict = "hang"\n', ""), "never_wakes lacks the key `verdict`"),
        (TABLE.replace('"lock.hpp"', '"other.hpp"'), "other.hpp"),
        ("faults = ", "this is not a table of faults"),
        ("", "this is not a table of faults"),
    ],
)
def test_a_malformed_table_is_refused(
    generated: Path, capsys: pytest.CaptureFixture[str], table: str, message: str
) -> None:
    assert status(table.replace("{change}", "wake();"), generated) == 1
    assert message in capsys.readouterr().err


def test_sources_that_stay_the_same_are_not_compiled_again(generated: Path) -> None:
    table = TABLE.format(change="wake();")
    assert status(table, generated) == 0
    files = [each for each in generated.rglob("*") if each.is_file()]
    before = {each: each.stat().st_mtime_ns for each in files}
    assert status(table, generated) == 0
    assert {each: each.stat().st_mtime_ns for each in files} == before


def test_every_shipped_table_fits_the_headers(tmp_path: Path) -> None:
    tables = sorted((ROOT / "virtual/faults").glob("*.toml"))
    assert tables
    arguments = [*map(str, tables), "--include", str(ROOT / "include"), "--to", str(tmp_path)]
    assert seeded_faults.main(arguments) == 0
