# SPDX-License-Identifier: Apache-2.0
"""Checks that the headers in include/lockyard depend on each other one way only.

The order of the layers is the fenced block `layers` in include/lockyard/README.md: a line per
layer, lowest first, with the folders and headers of the layer. A header includes its own folder
and lower layers, never a neighbour on its line. Only detail/arch and detail/os, and the headers
that select among them, see the processor and the system. Every header is short, has its licence
line and `#pragma once`.
"""

import argparse
import os.path
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from cpp_text import blanked, directives
from findings import Finding, LintError, Outcome, read_text, report

LICENCE_LINE = "// SPDX-License-Identifier: Apache-2.0"
MAX_LINES = 350
SUFFIXES = (".hpp", ".h", ".hh", ".hxx", ".ipp", ".inl", ".inc")
PLATFORM_FOLDERS = ("detail/arch", "detail/os")
SELECTORS = ("detail/arch.hpp", "detail/os.hpp")
ENGINE = "model"  # users of lockyard::check include it as lockyard/model; its files are in virtual

_STANDARD = """
    algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv
    chrono cinttypes climits clocale cmath codecvt compare complex concepts condition_variable
    coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar
    cwctype deque exception execution expected filesystem flat_map flat_set format forward_list
    fstream functional future generator initializer_list iomanip ios iosfwd iostream istream
    iterator latch limits list locale map mdspan memory memory_resource mutex new numbers numeric
    optional ostream print queue random ranges ratio regex scoped_allocator semaphore set
    shared_mutex source_location span spanstream sstream stack stacktrace stdexcept stdfloat
    stop_token streambuf string string_view strstream syncstream system_error thread tuple
    type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector
    version assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h
    locale.h math.h setjmp.h signal.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h
    stdio.h stdlib.h stdnoreturn.h string.h tgmath.h threads.h time.h uchar.h wchar.h wctype.h
"""
STANDARD_HEADERS = frozenset(_STANDARD.split())
_SYSTEM_HEADER = re.compile(
    r"(?:sys|linux|asm|asm-generic|bits|mach|arpa|net|netinet)/.+"
    r"|(?:\w*intrin|cpuid|arm_\w+|alloca|dirent|dlfcn|elf|fcntl|features|link|poll|pthread|pwd"
    r"|sched|semaphore|spawn|syscall|syslog|termios|ucontext|unistd|unwind|windows)\.h"
)
_INCLUDE = re.compile(r"#\s*include\s*(.*)")
_CONDITION = re.compile(r"#\s*(?:if|ifdef|ifndef|elif|elifdef|elifndef)\b(.*)", re.DOTALL)
_PLATFORM = re.compile(
    r"\b(?:__x86_64\w*|__amd64\w*|__i[3-6]86\w*|_M_(?:IX86|X64|AMD64|ARM\w*)|__aarch64\w*"
    r"|__arm\w*|__ARM\w*|__thumb\w*|__riscv\w*|__powerpc\w*|__ppc\w*|__s390\w*|__mips\w*"
    r"|__loongarch\w*|__sparc\w*|__SSE\w*|__AVX\w*|__RTM__|__WAITPKG__"
    r"|__linux\w*|linux|__gnu_linux__|__unix\w*|unix|__GLIBC\w*|__ANDROID__|_WIN32|_WIN64"
    r"|__CYGWIN__|__MINGW\w*|__APPLE__|__MACH__|__\w+BSD__|__DragonFly__|SYS_\w+|__NR_\w+)\b"
)


class Place(NamedTuple):
    """Where a header belongs: the height of its layer and its entry there."""

    level: int
    entry: str


class Layers:
    """The order that the README declares."""

    def __init__(self, readme: Path) -> None:
        blocks = re.findall(r"(?ms)^```layers[ \t]*\n(.*?)^```[ \t]*$", read_text(readme))
        if len(blocks) != 1:
            raise LintError(f"{readme} has {len(blocks)} fenced blocks `layers`: write exactly one")
        self._places: dict[str, Place] = {}
        for level, line in enumerate(filter(str.strip, blocks[0].splitlines())):
            for entry in (word.rstrip("/") for word in line.split()):
                if entry in self._places:
                    raise LintError(f"{readme} lists {entry} twice: keep one")
                self._places[entry] = Place(level, entry)

    def place(self, header: PurePosixPath) -> Place | None:
        """The longest entry that is the header or a folder around it."""
        around = (str(path) for path in (header, *header.parents))
        return next((self._places[path] for path in around if path in self._places), None)


def _in_platform(header: PurePosixPath) -> bool:
    return any(header.is_relative_to(folder) for folder in PLATFORM_FOLDERS)


def _target(written: str, header: PurePosixPath, folder: Path) -> PurePosixPath | None:
    """The lockyard header, relative to the folder, that an include directive reaches."""
    name = written[1:-1]
    if written[0] == '"':
        beside = PurePosixPath(os.path.normpath(header.parent / name))
        if (folder / beside).is_file() and ".." not in beside.parts:
            return beside
    path = PurePosixPath(os.path.normpath(name))
    return path.relative_to("lockyard") if path.parts[:1] == ("lockyard",) else None


def _foreign_include(written: str, header: PurePosixPath) -> str | None:
    """The problem of including a header that is not lockyard's."""
    name = written[1:-1]
    if written[0] == '"':
        return f"{written} is not a lockyard header: include only lockyard and the standard library"
    if name in STANDARD_HEADERS or (_SYSTEM_HEADER.fullmatch(name) and _in_platform(header)):
        return None
    # The compiler brings these on every platform.
    if name.startswith("sanitizer/") and header.is_relative_to("detail"):
        return None
    if _SYSTEM_HEADER.fullmatch(name):
        return f"system header {written}: include it only in {' and '.join(PLATFORM_FOLDERS)}"
    return f"{written} is foreign: include only lockyard and the standard library"


def _lockyard_include(target: PurePosixPath, own: Place | None, other: Place | None) -> str | None:
    """The problem of including a lockyard header from a place."""
    if own is None or other is None or own == other or other.level < own.level:
        return None  # a header without a layer is reported once, at its first line
    if other.level == own.level:
        return f"{target} is of {other.entry}, a neighbour of {own.entry}: move what both need down"
    return f"{target} is of {other.entry}, above {own.entry}: include only lower layers"


def _check_include(written: str, header: PurePosixPath, folder: Path, layers: Layers) -> str | None:
    """The problem of one include directive."""
    match = re.match(r'<[^>]+>|"[^"]+"', written)
    if not match:
        return f"include of {written}: write the header's name, not a macro"
    target = _target(match[0], header, folder)
    if target is None:
        return _foreign_include(match[0], header)
    home = folder.parents[1] / "virtual" if target.parts[0] == ENGINE else folder
    if not (home / target).is_file():
        return f"{match[0]} does not exist: correct the name"
    return _lockyard_include(target, layers.place(header), layers.place(target))


def _check_header(header: PurePosixPath, folder: Path, layers: Layers) -> Iterator[tuple[int, str]]:
    """The lines of one header that break a rule, with what to do."""
    text = read_text(folder / header)
    lines = text.splitlines()
    if layers.place(header) is None:
        yield 1, "in no layer: list it or its folder in the block `layers` of README.md"
    if lines[:1] != [LICENCE_LINE]:
        yield 1, f"the first line is not the licence: write `{LICENCE_LINE}`"
    if len(lines) > MAX_LINES:
        yield MAX_LINES + 1, f"{len(lines)} lines, more than {MAX_LINES}: split the header by idea"
    may_ask = _in_platform(header) or str(header) in SELECTORS
    guarded = False
    for line, directive in directives(blanked(text, keep_literals=True)):
        guarded |= directive.split() in (["#pragma", "once"], ["#", "pragma", "once"])
        if include := _INCLUDE.match(directive):
            wrong = _check_include(include[1].strip(), header, folder, layers)
            if wrong:
                yield line, wrong
        condition = _CONDITION.match(directive)
        macro = condition and _PLATFORM.search(condition[1])
        if macro and not may_ask:
            allowed = ", ".join(PLATFORM_FOLDERS + SELECTORS)
            yield line, f"condition on {macro[0]}: ask about the platform only in {allowed}"
    if not guarded:
        yield 1, "no include guard: write `#pragma once`"


def check(root: Path) -> Outcome:
    """All findings in the headers of the repository."""
    folder = root / "include" / "lockyard"
    layers = Layers(folder / "README.md")
    headers = [path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES]
    findings = [
        Finding(str(path), line, message)
        for path in headers
        for line, message in _check_header(
            PurePosixPath(path.relative_to(folder).as_posix()), folder, layers
        )
    ]
    return Outcome(sorted(findings), len(headers))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "root",
        nargs="?",
        type=Path,
        default=Path(__file__).resolve().parents[2],
        help="the repository (default: the one that this script is in)",
    )
    options = parser.parse_args(arguments)
    return report("layer_lint", lambda: check(options.root))


if __name__ == "__main__":
    sys.exit(main())
