# SPDX-License-Identifier: Apache-2.0
"""The scanner under the lints tells code from comments, and one statement from the next."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "lint"))

from cpp_text import Statements, blanked, comment_lines, without_requirements

# Each line of code follows the letter of the statement that it belongs to; `-` for none.
STATEMENTS = {
    "statements end at semicolons": """\
a|f();
b|g(1,
b|  2);
-|
c|h();
""",
    "statements on one line belong together": """\
a|f(); g(
a|  );
b|h();
""",
    "a block is apart from its head and from what follows": """\
a|void f() {
b|  g();
-|}
c|void h() {
d|  while (x) {
e|    g();
-|  }
f|  g();
-|}
g|f();
""",
    "a block of blocks is a block": """\
a|namespace n {
b|void f() {
c|  g();
-|}
-|}
d|int x;
""",
    "an empty body ends its statement": """\
a|while (!f()) {}
b|g();
""",
    "a body without semicolons is a block after a parenthesis": """\
a|void f() {
b|  while (g()) {}
-|}
c|void h() {}
d|int x;
""",
    "a block stays one whatever comes last in it": """\
a|struct x {
b|  void f() { g(); }
c|  ~x() noexcept {}
-|}
""",
    "semicolons in a for head end nothing": """\
a|for (f();
a|     g();
a|     h()) {
b|  i();
-|}
""",
    "a body in parentheses leaves the statement around it open": """\
a|run([&] {
b|  f();
-|}
a|, 1);
c|g();
""",
    "a closure's statements are apart from the assignment": """\
a|auto f = [&] {
b|  g();
c|  h();
a|};
d|f();
""",
    "an initialiser is a part of its statement": """\
a|return pair{
a|  1, {
a|  2}
a|} + 3;
b|f();
""",
    "several initialisers in a row go on": """\
a|lock() : a_{
a|    1},
a|  b_{2} {
b|  f();
-|}
""",
    "a statement may start with an operator after a block": """\
a|if (x) {
b|  f();
-|}
c|++y;
d|if (x) {
e|  f();
-|}
f|--y;
g|if (x) {
h|  f();
-|}
i|::g();
""",
    "a loop's condition is a statement of its own": """\
a|do {
b|  f();
c|} while (g(
c|  1));
""",
    "directives stand apart, with their continuation lines": """\
a|#define X(y) { \\
a|  f(y
b|g(1,
c|#if Y
b|  2,
d|#endif
b|  3);
""",
}


@pytest.mark.parametrize("drawing", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_lines_are_grouped_by_statement(drawing: str) -> None:
    letters, code = zip(*(line.split("|") for line in drawing.splitlines()), strict=True)
    statements = Statements("\n".join(code) + "\n")
    found = [statements.of_line(line) for line in range(1, len(code) + 1)]
    assert [statement is None for statement in found] == [letter == "-" for letter in letters]
    pairs = set(zip(letters, found, strict=True))
    # As many pairs as letters and as statements: the grouping is the drawn one.
    assert len(pairs) == len(set(letters)) == len(set(found))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a; // b\nc;", "a;     \nc;"),
        ("a; // b \\\nc;\nd;", "a;       \n  \nd;"),
        ("a /* b\nc */ d", "a     \n     d"),
        ("a /* b", "a     "),
        ('f("a\\"b");', 'f("""""");'),
        ('f(R"x()" // )x");', 'f(""""""""""""");'),
        ("1'000; 'a'; '\\''; 0x'f", '1\'000; """; """"; 0x\'f'),
        ("#error don't // b", "#error don't     "),
    ],
)
def test_comments_and_literals_are_blanked_in_place(text: str, code: str) -> None:
    assert blanked(text) == code


def test_literals_stay_on_request() -> None:
    assert blanked('#include "a//b" // c', keep_literals=True) == '#include "a//b"     '


def test_comments_are_read_without_their_marks() -> None:
    text = 'a; // b\n/// c\n/* d\n * e\n */ f; ///< g\n"// h"; /* i */ // j\n'
    assert comment_lines(text) == {1: "b", 2: "c", 3: "d", 4: "e", 5: "g", 6: "i j"}


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("= requires { a; };", "= requires {    };"),
        ("&& requires(T x) { { a } -> b; } c", "&& requires(T x) {             } c"),
        ("requires requires { a; } b", "requires requires {    } b"),
        ("void f() requires (C<T>) { a; }", "void f() requires (C<T>) { a; }"),
    ],
)
def test_only_requires_expressions_are_blanked(code: str, left: str) -> None:
    assert without_requirements(code) == left
