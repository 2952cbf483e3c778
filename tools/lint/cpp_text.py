# SPDX-License-Identifier: Apache-2.0
"""C++ text taken apart just far enough for a lint: code, comments, directives, statements."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Numbers are tokens too, so that the quote in 1'000 does not open a character literal.
_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
      |(?P<literal>(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"
                  |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
      |\b\d(?:'?[\w.])*""",
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_COMMENT_MARKS = re.compile(r"^\s*(?://[/!]*<?|/\*+!?|\*(?!/))|\*/\s*$")
# A requires-expression; a requires-clause before a function body has none of these before it.
_REQUIREMENTS = re.compile(
    r"(?:[=(!,{]|&&|\|\||\brequires|\breturn)\s*requires\s*(?:\([^{}]*\)\s*)?\{"
)
# Text that may follow a closing brace without starting a new statement: `}, order)`, `};`, `} + 1`.
_CONTINUES = re.compile(r"\s*(?:[,;.)\]}?=<>|/%^&]|:(?!:)|-(?!-)|\+(?!\+))")


def blanked(text: str, *, keep_literals: bool = False) -> str:
    """The text with comments as blanks and literals as quotes; every line keeps its place."""

    def blank(match: re.Match[str]) -> str:
        if match["comment"]:
            return re.sub(r"[^\n]", " ", match[0])
        if match["literal"] and not keep_literals:
            return re.sub(r"[^\n]", '"', match[0])
        return match[0]

    return _TOKEN.sub(blank, text)


def without_requirements(code: str) -> str:
    """The code with the bodies of its requires-expressions as blanks: nothing there is executed."""
    for match in _REQUIREMENTS.finditer(code):
        depth, end = 1, match.end()
        while end < len(code) and depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        body = re.sub(r"[^\n]", " ", code[match.end() : end - 1])
        code = code[: match.end()] + body + code[end - 1 :]
    return code


def line_at(text: str, position: int) -> int:
    """The line number, from 1, of a position in the text."""
    return text.count("\n", 0, position) + 1


def comment_lines(text: str) -> dict[int, str]:
    """What the comments say, line by line, without their marks."""
    lines: dict[int, str] = {}
    for match in _TOKEN.finditer(text):
        if match["comment"]:
            first = line_at(text, match.start())
            for number, line in enumerate(match[0].split("\n"), first):
                said = _COMMENT_MARKS.sub("", line.strip()).strip()
                lines[number] = f"{lines.get(number, '')} {said}".strip()
    return lines


def literals(text: str) -> Iterator[tuple[int, str]]:
    """Each string or character literal as it is written, with its position."""
    for match in _TOKEN.finditer(text):
        if match["literal"]:
            yield match.start(), match["literal"]


def directives(code: str) -> Iterator[tuple[int, str]]:
    """Each preprocessor directive with its first line; continuation lines are joined."""
    for match in _DIRECTIVE.finditer(code):
        yield line_at(code, match.start()), match[0].replace("\\\n", " ").strip()


@dataclass
class _Scope:
    """The text between two braces: `line` is one of the running statement's lines."""

    line: int | None = None
    parentheses: int = 0
    is_block: bool = False


class Statements:
    """Which lines of code belong together because a statement spans or shares them."""

    def __init__(self, code: str) -> None:
        self._parent: dict[int, int] = {}
        self._scopes = [_Scope()]
        for match in _DIRECTIVE.finditer(code):
            first = line_at(code, match.start())
            for line in range(first, first + match[0].count("\n") + 1):
                self._join(first, line)
        # Directives must not disturb the statement that they stand in.
        self._scan(_DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), code))

    def of_line(self, line: int) -> int | None:
        """The number of the statement on a line; None where no code is."""
        return self._root(line) if line in self._parent else None

    def _root(self, line: int) -> int:
        while self._parent[line] != line:
            line = self._parent[line]
        return line

    def _join(self, one: int, other: int) -> None:
        for line in (one, other):
            self._parent.setdefault(line, line)
        self._parent[self._root(other)] = self._root(one)

    def _scan(self, code: str) -> None:
        line, before = 1, ""
        for match in re.finditer(r"\n|\S", code):
            char = match[0]
            if char == "\n":
                line += 1
                continue
            if char == "}" and len(self._scopes) > 1:
                self._close(code, match.end())
            else:
                self._step(char, line, before)
            before = char

    def _step(self, char: str, line: int, before: str) -> None:
        scope = self._scopes[-1]
        self._join(line if scope.line is None else scope.line, line)
        scope.line = line
        if char == "{":
            # Otherwise a semicolon inside distinguishes a block from an initialiser.
            self._scopes.append(_Scope(is_block=before == ")"))
        elif char in "([":
            scope.parentheses += 1
        elif char in ")]":
            scope.parentheses = max(0, scope.parentheses - 1)
        elif char == ";" and scope.parentheses == 0:
            scope.line, scope.is_block = None, True

    def _close(self, code: str, after: int) -> None:
        inner = self._scopes.pop()
        outer = self._scopes[-1]
        if not inner.is_block and inner.line is not None and outer.line is not None:
            self._join(outer.line, inner.line)  # an initialiser is part of its statement
        if outer.parentheses == 0:
            outer.is_block |= inner.is_block
            if not _CONTINUES.match(code, after):
                outer.line = None
