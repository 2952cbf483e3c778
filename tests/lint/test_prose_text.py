# SPDX-License-Identifier: Apache-2.0
"""The prose scanner finds the words of a file and nothing of its code."""

import sys
from pathlib import Path, PurePosixPath

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "lint"))

from findings import LintError
from prose_text import language, passages


def prose(name: str, text: str) -> list[tuple[str, int, str]]:
    """The passages as kind, line and text."""
    return [(p.kind.value, p.line, p.text) for p in passages(PurePosixPath(name), text)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.md", "", "markdown"),
        ("a.hpp", "", "cpp"),
        ("a.py", "", "python"),
        ("yard", "#!/bin/sh\n", "shell"),
        ("x/CMakeLists.txt", "", "shell"),
        ("a.csv", "", None),
        ("LICENSE", "text", None),
    ],
)
def test_the_name_or_the_first_line_tells_the_language(
    name: str, text: str, expected: str | None
) -> None:
    assert language(PurePosixPath(name), text) == expected


def test_markdown_is_read_by_paragraph_without_its_code() -> None:
    page = """\
# A head

One `code` line
and [a link](x.md).

    code

* an item

      code in the item
  goes on

```cpp
code
```
> quoted
| cell | "said" |
| --- | --- |
"""
    assert prose("a.md", page) == [
        ("heading", 1, "A head"),
        ("text", 3, "One · line\nand [a link·."),
        ("text", 8, "an item"),
        ("text", 10, "code in the item\ngoes on"),
        ("text", 17, "cell"),
        ("text", 17, "·"),
        ("text", 18, "---"),
        ("text", 18, "---"),
    ]


def test_a_longer_fence_of_the_other_kind_does_not_close_a_block() -> None:
    assert prose("a.md", "~~~\n```\ncode\n~~~\ntext\n") == [("text", 5, "text")]


def test_cpp_has_comments_and_strings() -> None:
    source = """\
// SPDX-License-Identifier: Apache-2.0
// Locks it,
// `code` apart.

int x;  // a number
const char* s = "one "
                "two\\n";
"""
    found = [(kind, line, " ".join(text.split())) for kind, line, text in prose("a.cpp", source)]
    assert found == [
        ("comment", 2, "Locks it, · apart."),
        ("comment", 5, "a number"),
        ("string", 6, "one two"),
    ]


def test_a_comment_below_the_licence_line_is_read() -> None:
    licence = "SPDX-License-Identifier: Apache-2.0"
    assert prose("a.cpp", f"// {licence}\n// Text.\n") == [("comment", 2, "Text.")]
    assert prose("a.py", f"# {licence}\n# Text.\n") == [("comment", 2, "Text.")]


def test_python_docstrings_are_told_from_strings() -> None:
    source = '''\
"""The module.

More of it."""

def f(x):
    """The function."""
    # a note
    print("one "
          f"two {x}")
'''
    found = [(kind, line, " ".join(text.split())) for kind, line, text in prose("a.py", source)]
    strings = [entry for entry in found if entry[0] == "string"]
    assert [entry for entry in found if entry[0] != "string"] == [
        ("comment", 7, "a note"),
        ("docstring", 1, "The module."),
        ("text", 3, "More of it."),
        ("docstring", 6, "The function."),
    ]
    assert strings[0][1] == 8
    assert strings[0][2].startswith("one")


def test_python_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(LintError, match=r"a\.py"):
        passages(PurePosixPath("a.py"), '"""no end')


def test_shell_has_comments_and_lines() -> None:
    assert prose("x.sh", "#!/bin/sh\n# Says so.\necho done  # now\n") == [
        ("comment", 2, "Says so.\nnow"),
        ("string", 3, "echo done"),
    ]
