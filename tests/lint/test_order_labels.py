# SPDX-License-Identifier: Apache-2.0
"""The order lint checks the labels of orders, and that their pairs fit each other."""

from pathlib import Path

import pytest
from order_linting import PAIR, lint, lint_one, relaxed


def test_a_kind_that_the_code_does_not_use_is_found(tmp_path: Path) -> None:
    code = PAIR.replace("order[lock]: acquire", "order[lock]: acq_rel")
    assert lint_one(tmp_path, code) == [
        "1: order[lock] says acq_rel, the code on line 2 says acquire: make them agree"
    ]


def test_a_compare_exchange_names_its_success_order_and_a_strong_failure_order(
    tmp_path: Path,
) -> None:
    note = "// order[a]: release; pairs [kernel]; publishes.\n"
    failure = "// order[b]: acquire; pairs [kernel]; a failure reads the owner's node.\n"
    access = "x.compare_exchange_weak(e, d, std::memory_order_release,{});\n"
    strong = access.format("\n    std::memory_order_acquire")
    assert lint_one(tmp_path, note + failure + strong) == []
    assert [found[:10] for found in lint_one(tmp_path, note + strong)] == ["3: acquire"]
    weak = note + relaxed(access.format(" std::memory_order_relaxed"))
    assert lint_one(tmp_path, weak) == []


def test_two_orders_of_one_kind_in_a_statement_need_two_labels(tmp_path: Path) -> None:
    note = "// order[a]: acquire; pairs [kernel]; sees the data.\n"
    access = "f(x.load(std::memory_order_acquire), y.load(std::memory_order_acquire));\n"
    assert len(lint_one(tmp_path, note + access)) == 1
    assert lint_one(tmp_path, note + note.replace("[a]", "[b]") + access) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("; sees what the last owner did.", "", "1: order[lock] has no reason"),
        ("[lock]: acquire; pairs", "[lock]: acquire, with", "1: malformed"),
        ("[lock]: acquire;", "[lock]: acquires;", "1: malformed"),
        ("pairs [unlock]", "pairs []", "1: order[lock] pairs with nothing"),
        ("order[lock]", "order[kernel]", "1: order[kernel] means a party outside"),
        ("pairs [unlock]", "pairs [unluck]", "1: order[lock] pairs [unluck], but there is no"),
        ("pairs [unlock]", "pairs [kernel]", "3: order[unlock] pairs [lock], which does not pair"),
        ("pairs [unlock]", "pairs [b.hpp:x]", "1: order[lock] pairs [b.hpp:x], but b.hpp is not"),
    ],
)
def test_a_defective_label_is_found(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in PAIR
    findings = lint_one(tmp_path, PAIR.replace(old, new))
    assert [found for found in findings if found.startswith(message)]


def test_a_label_is_unique_in_its_file(tmp_path: Path) -> None:
    again = "// order[lock]: acquire; pairs [unlock]; again.\nx.load(std::memory_order_acquire);\n"
    assert lint_one(tmp_path, PAIR + again) == ["5: order[lock] is already on line 1"]


@pytest.mark.parametrize(
    ("one", "other", "fits"),
    [
        ("release", "acquire", True),
        ("release", "consume", True),
        ("acq_rel", "acq_rel", True),
        ("acquire", "acq_rel", True),
        ("seq_cst", "release", True),
        ("seq_cst", "seq_cst", True),
        ("release", "release", False),
        ("acquire", "acquire", False),
        ("acquire", "consume", False),
    ],
)
def test_a_pair_has_a_releasing_and_an_acquiring_end(
    tmp_path: Path, one: str, other: str, fits: bool
) -> None:
    code = f"""\
// order[a]: {one}; pairs [b]; forbids the cycle of the two fences.
W::fence(std::memory_order_{one});
// order[b]: {other}; pairs [a]; forbids the cycle of the two fences.
W::fence(std::memory_order_{other});
"""
    findings = lint_one(tmp_path, code)
    assert ["one end must release" in found for found in findings] == ([] if fits else [True] * 2)


def test_a_label_may_pair_with_itself_if_it_has_both_ends(tmp_path: Path) -> None:
    code = "// order[a]: acq_rel; pairs [a]; hands on.\nx.exchange(1, std::memory_order_acq_rel);\n"
    assert lint_one(tmp_path, code) == []


@pytest.mark.parametrize(
    ("reason", "clean"),
    [
        ("forbids the cycle in which both see the old value", True),
        ("without it test_dekker fails", True),
        ("to be on the safe side", False),
    ],
)
def test_seq_cst_names_its_cycle_or_its_test(tmp_path: Path, reason: str, clean: bool) -> None:
    note = f"// order[a]: seq_cst; pairs [a]; {reason}.\n"
    findings = lint_one(tmp_path, note + "W::fence(std::memory_order_seq_cst);\n")
    assert [found[:25] for found in findings] == ([] if clean else ["1: order[a] is seq_cst: n"])


def split_pair(back: str) -> dict[str, str]:
    """The ends of a pair in two files."""
    return {
        "a": "// order[set]: release; pairs [b.hpp:get]; publishes.\n"
        "x.store(1, std::memory_order_release);\n",
        "queue/b": f"// order[get]: acquire; pairs [{back}]; sees it.\n"
        "x.load(std::memory_order_acquire);\n",
    }


def test_a_pair_may_span_two_files(tmp_path: Path) -> None:
    assert lint(tmp_path, **split_pair("a.hpp:set")) == []


@pytest.mark.parametrize("back", ["kernel", "b.hpp:get"])
def test_a_pair_across_files_is_checked_both_ways(tmp_path: Path, back: str) -> None:
    findings = lint(tmp_path, **split_pair(back))
    assert findings[0] == (
        "a.hpp:1: order[set] pairs [b.hpp:get], which does not pair in return:"
        " write pairs [a.hpp:set] there"
    )


def test_a_partner_file_must_be_told_from_others_of_its_name(tmp_path: Path) -> None:
    files = split_pair("a.hpp:set") | {"park/b": "\n"}
    assert "several files are called b.hpp" in lint(tmp_path, **files)[0]
    files["a"] = files["a"].replace("b.hpp", "queue/b.hpp")
    assert lint(tmp_path, **files) == []
