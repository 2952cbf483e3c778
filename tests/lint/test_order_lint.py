# SPDX-License-Identifier: Apache-2.0
"""The order lint accepts justified accesses and names each that is not, with its line."""

import subprocess
import sys
from pathlib import Path

import pytest
from order_linting import PAIR, lint, lint_one, relaxed

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "lint"))

import order_lint
from findings import LintError
from order_notes import RELAXED_REASONS

TOOL = Path(order_lint.__file__)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The tool as a user starts it."""
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


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


@pytest.mark.parametrize("reason", RELAXED_REASONS)
def test_each_known_reason_excuses_a_relaxed_order(tmp_path: Path, reason: str) -> None:
    code = f"x.load(std::memory_order_relaxed);  // relaxed({reason}): since it is so.\n"
    assert lint_one(tmp_path, code) == []


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ("// faster", "2: relaxed without its comment"),
        ("// relaxed(hint) a wrong value", "2: relaxed without its comment"),
        ("// relaxed(speed): it is faster.", "1: relaxed(speed) is not a known reason"),
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
