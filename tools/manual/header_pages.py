# SPDX-License-Identifier: Apache-2.0
"""The C and C++ reference, from the comments of the headers.

libclang reads the headers as a compiler does, so that the reference has what users can call:
public declarations with a comment, with their signatures as written.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clang.cindex as clang

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "include"
# Private to the library: its own layers, and the seam to the machine.
PRIVATE = ("detail", "world")
KINDS = clang.CursorKind
RECORDS = (KINDS.CLASS_DECL, KINDS.STRUCT_DECL, KINDS.CLASS_TEMPLATE)
MEMBERS = (
    KINDS.CXX_METHOD,
    KINDS.CONSTRUCTOR,
    KINDS.DESTRUCTOR,
    KINDS.CONVERSION_FUNCTION,
    KINDS.FUNCTION_TEMPLATE,
    KINDS.FUNCTION_DECL,
    KINDS.VAR_DECL,
    KINDS.FIELD_DECL,
    KINDS.TYPE_ALIAS_DECL,
    KINDS.TYPE_ALIAS_TEMPLATE_DECL,
    KINDS.TYPEDEF_DECL,
    KINDS.ENUM_DECL,
    KINDS.CONCEPT_DECL,
)
HIDDEN = (clang.AccessSpecifier.PRIVATE, clang.AccessSpecifier.PROTECTED)
# Macros of the library that say something to the compiler and nothing to a reader.
ANNOTATION = "LOCKYARD_"
TIGHT_BEFORE = (",", ")", "(", ">", "::", "]", "<", "&", "&&", "*", "...", ";", "]]")
TIGHT_AFTER = ("(", "<", "::", "[", "~", "[[")
C_HEADER = "lockyard.h"
# Headers that cannot be read alone: this one needs the checker's engine (docs/checking.md).
NOT_ALONE = ("check.hpp",)
FLAGS = ["-std=c++20", "-xc++", f"-I{INCLUDE}", "-DLOCKYARD_REFERENCE"]


def reference() -> dict[str, str]:
    """Returns Markdown pages by their path below the manual."""
    pages: dict[str, list[str]] = defaultdict(list)
    headers = [header for header in sorted(INCLUDE.rglob("*.h*")) if _is_public(header)]
    of_header = _declarations([header for header in headers if header.name != C_HEADER])
    for header in headers:
        relative = header.relative_to(INCLUDE)
        if relative.name == C_HEADER:
            pages["c"] += _c_page(header)
            continue
        folder = relative.parts[1] if len(relative.parts) > 2 else "general"
        if declarations := of_header[str(header)]:
            pages[folder] += [f"## `<{relative}>`", "", *declarations]
    return {
        f"reference/{name}.md": "\n".join([f"# {_title(name)}", "", *lines])
        for name, lines in pages.items()
    }


def _is_public(header: Path) -> bool:
    relative = header.relative_to(INCLUDE)
    return relative.name not in NOT_ALONE and not any(part in PRIVATE for part in relative.parts)


def _title(name: str) -> str:
    return "C reference" if name == "c" else f"C++ reference: {name}"


def _declarations(headers: Sequence[Path]) -> dict[str, list[str]]:
    """Returns the text of each header's declarations by the header's path. All headers are read
    together, since most of what they include is the same."""
    index = clang.Index.create()
    options = clang.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
    together = "".join(f'#include "{header}"\n' for header in headers)
    unit = index.parse(
        "all.hpp",
        args=[*FLAGS, *_system_headers()],
        unsaved_files=[("all.hpp", together)],
        options=options,
    )
    errors = [each for each in unit.diagnostics if each.severity >= clang.Diagnostic.Error]
    if errors:
        sys.exit(f"{errors[0].location.file}: libclang cannot read it: {errors[0].spelling}")
    found: dict[str, list[str]] = {str(header): [] for header in headers}
    for child in _outermost(unit.cursor):
        declarations = found.get(_file(child))
        if declarations is not None:
            declarations += _declaration(child, depth=3)
    return found


def _outermost(cursor: Any) -> Iterator[Any]:
    """Yields what the library declares outside of classes."""
    for child in cursor.get_children():
        if child.kind not in (KINDS.NAMESPACE, KINDS.UNEXPOSED_DECL, KINDS.LINKAGE_SPEC):
            yield child
        elif child.spelling != "detail" and _file(child).startswith(str(INCLUDE)):
            yield from _outermost(child)


def _file(cursor: Any) -> str:
    file = cursor.location.file
    return file.name if file else ""


def _declaration(cursor: Any, depth: int) -> Iterator[str]:
    if cursor.access_specifier in HIDDEN:
        return
    if cursor.kind in RECORDS:
        yield from _record(cursor, depth)
    elif cursor.kind in MEMBERS and (text := _comment(cursor)):
        yield from _entry(cursor, text, depth)


def _record(cursor: Any, depth: int) -> Iterator[str]:
    if not cursor.is_definition():
        return
    text = _comment(cursor)
    members = [line for child in cursor.get_children() for line in _declaration(child, depth + 1)]
    if text or members:
        yield from _entry(cursor, text, depth)
        yield from members


def _entry(cursor: Any, text: str, depth: int) -> Iterator[str]:
    yield f"{'#' * min(depth, 5)} `{cursor.spelling}`"
    yield ""
    yield from ("```cpp", _signature(cursor), "```", "")
    yield text
    yield ""


def _comment(cursor: Any) -> str:
    """Returns the text of a documentation comment as Markdown; labels become bold."""
    lines = []
    for line in (cursor.raw_comment or "").splitlines():
        text = line.strip()
        if not text.startswith("///"):
            return ""
        lines.append(text.removeprefix("///").removeprefix(" "))
    found: list[str] = []
    for line in lines:
        label, colon, rest = line.partition(": ")
        is_label = colon and label.istitle() and label.isalpha()
        if is_label and found and found[-1]:
            found.append("")
        found.append(f"**{label}**: {rest}" if is_label else line.strip())
    return "\n".join(found)


def _signature(cursor: Any) -> str:
    """Returns the declaration up to its body, without annotations for the compiler."""
    words: list[str] = []
    depth = 0
    skipping = 0
    for token in cursor.get_tokens():
        text = token.spelling
        if token.kind == clang.TokenKind.COMMENT:
            continue
        if skipping or text.startswith(ANNOTATION):
            skipping += (text == "(") - (text == ")")
            skipping = max(skipping, 0)
            if text.startswith(ANNOTATION):
                skipping = 0
                words.append("\0")
            continue
        if words and words[-1] == "\0":
            words.pop()
            if text == "(":
                skipping = 1
                continue
        depth += text.count("(") - text.count(")")
        if text in ("{", ";") and depth == 0:
            break
        if text == ":" and depth == 0 and cursor.kind == KINDS.CONSTRUCTOR:
            break
        words.append(text)
    return _spaced([word for word in words if word != "\0"])


def _spaced(words: list[str]) -> str:
    text = ""
    for word in words:
        is_tight = word in TIGHT_BEFORE or text.endswith(TIGHT_AFTER)
        text += word if not text or is_tight else f" {word}"
    return text.replace("template<", "template <").replace("operator()(", "operator()(")


def _c_page(header: Path) -> Iterator[str]:
    """Yields the C header: each comment as text, followed by the declarations below it."""
    text = header.read_text(encoding="utf-8")
    _, _, body = text.partition("#define LOCKYARD_H")
    yield from ("`#include <lockyard.h>`; [the manual](../c.md) explains errors and times.", "")
    for block in body.split("\n/* ")[1:]:
        comment, _, rest = block.partition("*/")
        lines = [line for line in rest.splitlines() if not line.startswith(("#if", "#endif"))]
        code = "\n".join(lines).strip()
        if "LOCKYARD_API" in code or "typedef" in code:
            code = code.replace("LOCKYARD_API ", "").replace("LOCKYARD_CHECKED ", "")
            code = re.sub(r",\n\s+", ", ", code).removesuffix("\n\n}")
            yield from (" ".join(comment.split()), "", "```c", code, "```", "")


def _system_headers() -> list[str]:
    """Returns the folders in which the compiler finds the standard library, since the package of
    libclang has none of its own."""
    import subprocess

    asked = subprocess.run(
        ["c++", "-xc++", "-E", "-v", "/dev/null"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = asked.stderr.split("search starts here:")[-1].split("End of search list")[0]
    return [f"-isystem{line.strip()}" for line in lines.splitlines() if line.startswith(" /")]


if __name__ == "__main__":
    for page, content in reference().items():
        print(f"<!-- {page} -->\n{content}")
