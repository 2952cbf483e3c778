# SPDX-License-Identifier: Apache-2.0
"""Finds the prose of a source file: Markdown paragraphs, comments, docstrings and strings.

Code inside prose (fenced blocks, indented blocks, `spans`, link targets) and quotations in Markdown
are replaced by blanks, so that a lint sees only the words that the author chose. Every character
keeps its line.
"""

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import PurePosixPath
from typing import NamedTuple

from cpp_text import comment_lines, line_at, literals
from findings import LintError

_CPP = (".hpp", ".h", ".cpp", ".cc", ".c")
_HASH_COMMENTS = (".sh", ".cmake", ".toml")
_LICENCE = "SPDX-License-Identifier"
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_HEADING = re.compile(r"^#{1,6} ")
_ITEM = re.compile(r"^\s*(?:[*+-]|\d+[.)]) ")
_HIDDEN = re.compile(
    r"`+[^`]+`+|\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|https?://\S+|<!--.*?-->", re.DOTALL
)
# Emphasis with one asterisk marks the names of columns, which programs print.
_QUOTATION = re.compile(r"\"[^\"]*\"|“[^”]*”|(?<!\*)\*(?![\s*])[^*\n]+\*(?!\*)", re.DOTALL)
_HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#(?!!)\s?(.*)$")
_STRING_MARKS = re.compile(r"^[A-Za-z]*(?:\"\"\"|'''|\"|')|(?:\"\"\"|'''|\"|')$")
_ESCAPES = re.compile(r"\\[nt]")


class Kind(Enum):
    """The kind of a passage; a rule may apply to some kinds only."""

    TEXT = "text"
    HEADING = "heading"
    COMMENT = "comment"
    DOCSTRING = "docstring"
    STRING = "string"


class Passage(NamedTuple):
    """Text that is read in one go, and the line that it begins on."""

    kind: Kind
    line: int
    text: str


def language(path: PurePosixPath, text: str) -> str | None:
    """The name of the scanner for a file; None where the file has no prose that is checked."""
    if path.suffix == ".md":
        return "markdown"
    if path.suffix in _CPP:
        return "cpp"
    if path.suffix == ".py":
        return "python"
    if path.suffix in _HASH_COMMENTS or path.name == "CMakeLists.txt" or text.startswith("#!"):
        return "shell"
    return None


def passages(path: PurePosixPath, text: str) -> list[Passage]:
    """Every passage of a file, in order, without the code inside it."""
    scanners = {"markdown": _markdown, "cpp": _cpp, "python": _python, "shell": _shell}
    scan = scanners.get(language(path, text) or "")
    if scan is None:
        return []
    try:
        found = list(scan(text))
    except (tokenize.TokenError, SyntaxError) as error:
        raise LintError(f"cannot read {path} as Python: {error}") from error
    return [p._replace(text=_without(_HIDDEN, p.text)) for p in found]


def _without(pattern: re.Pattern[str], text: str) -> str:
    """The text with each match replaced by one character that is neither blank nor word."""
    return pattern.sub(lambda m: "·" + "\n" * m[0].count("\n"), text)


def _blocks(kind: Kind, lines: Iterable[tuple[int, str]]) -> Iterator[Passage]:
    """Joins neighbouring lines to passages; an empty line ends a passage."""
    first, last, block = 0, 0, list[str]()
    for number, line in lines:
        if _LICENCE in line:
            continue
        if block and (number != last + 1 or not line.strip()):
            yield Passage(kind, first, "\n".join(block))
            block = []
        if line.strip():
            first = first if block else number
            block.append(line.strip())
            last = number
    if block:
        yield Passage(kind, first, "\n".join(block))


def _markdown_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a page, with empty lines for code blocks and quoted blocks."""
    fence, code, previous, in_list = "", False, "", False
    for number, line in enumerate(text.splitlines(), 1):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1] == fence else fence
            yield number, ""
            continue
        if mark:
            fence = mark[1]
            yield number, ""
            continue
        indented = line.startswith("    ")
        code = indented and (code or not previous.strip()) and not in_list if line.strip() else code
        if line.strip() and not indented:
            in_list = bool(_ITEM.match(line)) or (in_list and line.startswith(" "))
        yield number, "" if (code and indented) or line.startswith(">") else line
        previous = line


def _markdown(text: str) -> Iterator[Passage]:
    paragraph = list[tuple[int, str]]()
    for number, line in _markdown_lines(text):
        alone = _HEADING.match(line) or line.startswith("|")
        if alone or _ITEM.match(line):
            yield from _paragraphs(paragraph)
            paragraph = []
        if line.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line.strip("| ")):
                yield from _paragraphs([(number, cell)])
        elif alone:
            yield Passage(Kind.HEADING, number, line.lstrip("# "))
        else:
            paragraph.append((number, line))
    yield from _paragraphs(paragraph)


def _paragraphs(lines: list[tuple[int, str]]) -> Iterator[Passage]:
    for passage in _blocks(Kind.TEXT, lines):
        # Spans of code first: they may hold an odd number of quotation marks.
        text = _without(_QUOTATION, _without(_HIDDEN, passage.text))
        yield passage._replace(text=_ITEM.sub("", text))


def _cpp(text: str) -> Iterator[Passage]:
    yield from _blocks(Kind.COMMENT, comment_lines(text).items())
    end, joined = -1, list[str]()
    first = 0
    for start, literal in literals(text):
        if joined and text[end:start].strip():
            yield Passage(Kind.STRING, line_at(text, first), _unescaped("".join(joined)))
            joined = []
        first = first if joined else start
        joined.append(text[end:start] * bool(joined) + _STRING_MARKS.sub("", literal))
        end = start + len(literal)
    if joined:
        yield Passage(Kind.STRING, line_at(text, first), _unescaped("".join(joined)))


def _unescaped(text: str) -> str:
    return _ESCAPES.sub("  ", text)


_STRINGS = {"STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END"}
_BREAKS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def _python(text: str) -> Iterator[Passage]:
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    notes = [(t.start[0], t.string) for t in tokens if t.type == tokenize.COMMENT]
    comments = [(line, note.lstrip("#: ")) for line, note in notes if not note.startswith("#!")]
    yield from _blocks(Kind.COMMENT, comments)
    previous, joined = tokenize.ENCODING, list[str]()
    kind, first, last = Kind.STRING, 0, 0
    for token in tokens:
        if token.type in (tokenize.NL, tokenize.COMMENT):
            continue
        if tokenize.tok_name[token.type] in _STRINGS:
            if not joined:
                kind = Kind.DOCSTRING if previous in _BREAKS else Kind.STRING
                first = last = token.start[0]
            joined.append("\n" * (token.start[0] - last) + _STRING_MARKS.sub("", token.string))
            last = token.end[0]
        elif joined:
            yield from _strings(kind, first, "".join(joined))
            joined = []
        previous = token.type


def _strings(kind: Kind, first: int, text: str) -> Iterator[Passage]:
    """The paragraphs of a string; only the first one of a docstring opens it."""
    lines = enumerate(_unescaped(text).split("\n"), first)
    for index, passage in enumerate(_blocks(kind, lines)):
        later = kind is Kind.DOCSTRING and index > 0
        yield passage._replace(kind=Kind.TEXT) if later else passage


def _shell(text: str) -> Iterator[Passage]:
    """Comments; and each line of code whole, for what it prints."""
    comments, code = list[tuple[int, str]](), list[Passage]()
    for number, line in enumerate(text.splitlines(), 1):
        comment = _HASH_COMMENT.search(line)
        if comment:
            comments.append((number, comment[1]))
        rest = line[: comment.start()] if comment else line
        if rest.strip() and not rest.startswith("#!"):
            code.append(Passage(Kind.STRING, number, rest.strip()))
    yield from _blocks(Kind.COMMENT, comments)
    yield from code
