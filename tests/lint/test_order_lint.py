# SPDX-License-Identifier: Apache-2.0
"""The order lint accepts justified accesses and names each broken rule with its line."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "lint"))

import order_lint
from findings import LintError
from order_notes import RELAXED_REASONS

TOOL = Path(order_lint.__file__)

# A correct pair; cases replace one part of it to break one rule.
PAIR = """\
// order[lock]: acquire; pairs [unlock]; sees what the last owner did.
while (word_.exchange(1, std::memory_order_acquire) != 0) { W::pause(); }
// order[unlock]: release; pairs [lock]; publishes the critical section.
word_.store(0, std::memory_order_release);
"""


def lint(folder: Path, **files: str) -> list[str]:
    """Write the files, check the folder, return `name:line: message` per finding."""
    for name, text in files.items():
        path = folder / f"{name}.hpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    findings = order_lint.check([folder]).findings
    return [f"{Path(found.path).name}:{found.line}: {found.message}" for found in findings]


def lint_one(folder: Path, text: str) -> list[str]:
    """The findings in a single file, as `line: message`."""
    return [found.removeprefix("a.hpp:") for found in lint(folder, a=text)]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The tool as a user starts it."""
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def relaxed(code: str) -> str:
    """A statement under a valid relaxed comment."""
    return f"// relaxed(hint): a wrong value costs only time.\n{code}\n"


def test_a_justified_pair_is_clean(tmp_path: Path) -> None:
    assert lint_one(tmp_path, PAIR) == []


@pytest.mark.parametrize(
    "access",
    [
        "word_.load();",
        "word_.store(1);",
        "word_.store(pair<int, int>{1, 2});",
        "next->exchange(node);",
        "word_.fetch_add(\n    f(1, 2));",
        "word_.compare_exchange_weak(expected, 1);",
        "flag.test_and_set();",
        "std::atomic_flag flag; flag.clear();",
        "std::atomic_load(&word_);",
        "W::await(word_, [](int v) { return v == 0; });",
        "W::await_exchange(word_, 1, is_free);",
        "W::await_any(policy, W::until(word_, is_free));",
        "W::fence();",
        "std::atomic_thread_fence();",
    ],
)
def test_an_access_without_an_order_is_found(tmp_path: Path, access: str) -> None:
    findings = lint_one(tmp_path, access)
    assert len(findings) == 1
    assert "explicit order" in findings[0]


@pytest.mark.parametrize(
    "code",
    [
        "std::vector<int> v; v.clear();",
        "next = std::exchange(head, nullptr);",
        "word.load(order);",
        "word.exchange(desired, order);",
        "word.compare_exchange_strong(e, d, success, failure);",
        "cache.store(key, value);",
        "T load(std::memory_order order) const;",
    ],
)
def test_an_ordinary_call_or_a_handed_on_order_is_no_false_alarm(tmp_path: Path, code: str) -> None:
    assert lint_one(tmp_path, code) == []


@pytest.mark.parametrize("change", ["word_ = 1", "++word_", "word_ |= 2", "this->word_--"])
def test_an_operator_on_an_atomic_is_found(tmp_path: Path, change: str) -> None:
    code = f"typename W::template atomic<int> word_ = 0;\nvoid f() {{\n  {change};\n}}\n"
    assert lint_one(tmp_path, code) == [
        "3: operator on the atomic word_: call a member with an explicit order"
    ]


def test_a_local_with_the_name_of_an_atomic_member_may_be_assigned(tmp_path: Path) -> None:
    code = "struct node { atomic<node*> next{}; };\nnode* next = f();\nnext = g();\n"
    assert lint_one(tmp_path, code) == []


@pytest.mark.parametrize("kind", ["acquire", "release", "acq_rel", "seq_cst", "consume"])
def test_a_non_relaxed_order_without_its_comment_is_found(tmp_path: Path, kind: str) -> None:
    findings = lint_one(tmp_path, f"f();\nW::fence(std::memory_order_{kind});")
    assert len(findings) == 1
    assert findings[0].startswith(f"2: {kind} without its comment: write `// order[label]: {kind};")


def test_the_enumerator_spelling_is_an_order_too(tmp_path: Path) -> None:
    assert len(lint_one(tmp_path, "x.load(std::memory_order::acquire);")) == 1


@pytest.mark.parametrize(
    "access",
    [
        "W::await(word_, is_free, std::memory_order_acquire, policy);",
        "W::await_exchange(word_, 1, is_free, std::memory_order_acquire, policy);",
        "W::await_any(policy, W::until(word_, is_free, std::memory_order_acquire));",
        "W::fence(std::memory_order_acquire);",
        "std::atomic_thread_fence(std::memory_order_acquire);",
    ],
)
def test_awaits_and_fences_need_the_comment_like_any_access(tmp_path: Path, access: str) -> None:
    assert "acquire without its comment" in "".join(lint_one(tmp_path, access))
    note = "// order[a]: acquire; pairs [kernel]; sees the new value.\n"
    assert lint_one(tmp_path, note + access) == []


def test_a_comment_covers_the_whole_statement_below_it(tmp_path: Path) -> None:
    code = """\
// order[wait]: acquire; pairs [kernel]; sees the data
// of the last owner.
return W::await(word_,
                [&](auto value) {
                  return value == 0;
                },
                std::memory_order_acquire, policy);
"""
    assert lint_one(tmp_path, code) == []


def test_a_comment_covers_an_initialiser_but_not_a_block(tmp_path: Path) -> None:
    note = "// order[a]: acquire; pairs [kernel]; sees the data.\n"
    load = "x.load(std::memory_order_acquire)"
    assert lint_one(tmp_path, f"{note}return pair{{\n  1,\n  {load}}};\n") == []
    assert [found[:2] for found in lint_one(tmp_path, f"{note}void f() {{\n  {load};\n}}\n")] == [
        "1:",
        "3:",
    ]


def test_a_comment_may_stand_on_the_line_of_its_access(tmp_path: Path) -> None:
    code = "x.load(std::memory_order_acquire);  // order[a]: acquire; pairs [kernel]; reads it.\n"
    assert lint_one(tmp_path, code) == []


def test_a_comment_does_not_cover_the_next_statement(tmp_path: Path) -> None:
    code = PAIR + "word_.store(2, std::memory_order_release);\n"
    assert [found[:10] for found in lint_one(tmp_path, code)] == ["5: release"]


def test_a_comment_above_the_end_of_a_do_loop_covers_its_condition(tmp_path: Path) -> None:
    code = """\
do {
  W::pause();
  // order[a]: acquire; pairs [kernel]; sees the data.
} while (word_.exchange(1, std::memory_order_acquire) != 0);
"""
    assert lint_one(tmp_path, code) == []


def test_a_blank_line_parts_a_comment_from_its_statement(tmp_path: Path) -> None:
    code = PAIR.replace("owner did.\n", "owner did.\n\n")
    findings = lint_one(tmp_path, code)
    assert ["stale" in findings[0], "without its comment" in findings[1]] == [True, True]


def test_preprocessor_lines_do_not_join_statements(tmp_path: Path) -> None:
    code = PAIR.replace("// order[unlock]", "#include <x>\n#define Y 1\n// order[unlock]")
    assert lint_one(tmp_path, code) == []


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


@pytest.mark.parametrize("reason", RELAXED_REASONS)
def test_each_known_reason_excuses_a_relaxed_order(tmp_path: Path, reason: str) -> None:
    code = f"x.load(std::memory_order_relaxed);  // relaxed({reason}): since it is so.\n"
    assert lint_one(tmp_path, code) == []


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ("// faster", "2: relaxed without its comment"),
        ("// relaxed(hint) a wrong value", "2: relaxed without its comment"),
        ("// relaxed(speed): it is faster.", "1: relaxed(speed) is no known reason"),
        ("// relaxed(hint):", "1: relaxed(hint) has no clause"),
    ],
)
def test_a_relaxed_order_without_a_valid_reason_is_found(
    tmp_path: Path, note: str, message: str
) -> None:
    findings = lint_one(tmp_path, f"{note}\nx.load(std::memory_order_relaxed);\n")
    assert [found[: len(message)] for found in findings] == [message]


def test_one_relaxed_comment_speaks_for_its_whole_statement(tmp_path: Path) -> None:
    order = "std::memory_order_relaxed"
    assert lint_one(tmp_path, relaxed(f"x.store(x.load({order}) + 1, {order});")) == []


@pytest.mark.parametrize(
    "code",
    [
        "// order[a]: release; pairs [kernel]; publishes.\nplain_ = 1;\n",
        "// order[a]: release; pairs [kernel]; publishes.\n",
        "// order[a]: release; pairs [kernel]; publishes.\n" + relaxed("f(memory_order_relaxed);"),
        relaxed("plain_ = 1;"),
    ],
)
def test_a_stale_comment_is_found(tmp_path: Path, code: str) -> None:
    findings = lint_one(tmp_path, code)
    assert len(findings) == 1
    assert "is stale" in findings[0]


@pytest.mark.parametrize(
    "code",
    [
        'log("x.load() with memory_order_acquire");',
        'auto text = R"x(word.load(); // memory_order_release)x";',
        "// A comment on .load() and memory_order_acquire.",
        "/* word.store(1);\n   memory_order_release */",
        "const int million = 1'000'000; // it's memory_order_acquire",
        "case std::memory_order_acquire: break;",
        "if (order == std::memory_order_seq_cst) { f(); }",
        "concept c = requires(T x) { { x.load(std::memory_order_acquire) } -> same_as<int>; };",
    ],
)
def test_what_is_not_executed_is_no_access(tmp_path: Path, code: str) -> None:
    assert lint_one(tmp_path, code + "\n") == []


def test_a_character_literal_does_not_hide_the_code_after_it(tmp_path: Path) -> None:
    code = "f('\"', 1'000, '\\''); x.load(); g('\"');\n"
    assert len(lint_one(tmp_path, code)) == 1


def test_a_requires_clause_does_not_hide_the_function_body(tmp_path: Path) -> None:
    assert len(lint_one(tmp_path, "void f() requires (C<T>) { x.load(); }\n")) == 1


@pytest.mark.parametrize(
    "code",
    [
        "volatile int x;",
        "__sync_synchronize();",
        "__atomic_load_n(&x, 0);",
        'asm("pause");',
        '__asm__ __volatile__("pause");',
        "std::atomic<int> word_{0};",
        "std::atomic_flag flag;",
    ],
)
@pytest.mark.parametrize("family", ["spin", "queue", "park", "event", "resilient"])
def test_a_lock_uses_nothing_but_its_world(tmp_path: Path, family: str, code: str) -> None:
    lock = f"include/lockyard/{family}/a"
    assert ["in a lock: use the world's" in found for found in lint(tmp_path, **{lock: code})] == [
        True
    ]


def test_outside_the_locks_the_machine_is_no_taboo(tmp_path: Path) -> None:
    code = 'volatile int x;\nstd::atomic<int> y{0};\nasm("pause");\n'
    assert lint(tmp_path, **{"include/lockyard/world/a": code}) == []


def test_a_lock_may_name_the_orders(tmp_path: Path) -> None:
    lock = "include/lockyard/spin/a"
    assert lint(tmp_path, **{lock: "#include <atomic>\n" + PAIR}) == []


def test_a_folder_without_code_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LintError, match="nothing would be checked"):
        order_lint.check([tmp_path])


def test_the_exit_status_tells_clean_from_findings_from_errors(tmp_path: Path) -> None:
    clean, broken, binary = (tmp_path / name for name in ("a.hpp", "b.cpp", "c.hpp"))
    clean.write_text(PAIR, encoding="utf-8")
    broken.write_text("x.store(1);\nx.load();\n", encoding="utf-8")
    assert run(clean).returncode == 0
    found = run(broken, clean, broken)
    assert found.returncode == 1
    assert [line.split(": ")[0] for line in found.stdout.splitlines()] == [
        f"{broken}:1",
        f"{broken}:2",
    ]
    assert found.stderr == "order_lint: 2 files, 2 findings\n"
    binary.write_bytes(b"\xff\xfe\xff")
    for arguments in ([], [binary], [tmp_path / "absent.hpp"], [tmp_path / "notes.md"]):
        assert run(*arguments).returncode == 2
    assert "usage" in run("--help").stdout
