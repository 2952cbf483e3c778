# SPDX-License-Identifier: Apache-2.0
"""The source of a module: the user's headers or client, and a table of what they offer."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.checks.clients import READERS
from lockyard.errors import UsageError
from lockyard.user_locks import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockyard.user_locks.lock_spec import UserLock

NAME = "module.cpp"
CLIENT = "client"  # the class that a client's file has to define
C_SUFFIXES = (".c", ".i")  # of files in C; the second one is preprocessed
CLIENT_FORM = "see docs/checking.md"
LOCK_FORM = (
    "add what it lacks, or write a client that creates and calls the lock "
    "(--client, docs/checking.md)"
)

# A function main at the beginning of a declaration, or after its type.
MAIN = re.compile(r"(?:^|[;}])[ \t]*(?:[A-Za-z_][\w \t]*[ \t])?main[ \t]*\([^;]*\{", re.MULTILINE)
COMMENTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


SOURCE = re.compile(r"[^-].*\.(?:c|i|cc|cpp|cxx|c\+\+|C)")
TAKES_FILE = {"-include", "-imacros"}  # options with a file of their own


@dataclass(frozen=True)
class Wanted:
    """The user's locks, or one client, with the options to compile them."""

    locks: tuple[UserLock, ...] = ()
    client: str = ""  # the file
    include: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"--client {self.client}" if self.client else " ".join(map(str, self.locks))

    @property
    def entries(self) -> tuple[str, ...]:
        """Returns the names of what is checked."""
        return (self.client,) if self.client else tuple(each.type_name for each in self.locks)

    @property
    def sources(self) -> tuple[str, ...]:
        """Returns the source files among the flags, which are compiled like the rest."""
        return tuple(each for each, is_source in self._marked_flags if is_source)

    @property
    def options(self) -> tuple[str, ...]:
        """Returns the other flags."""
        return tuple(each for each, is_source in self._marked_flags if not is_source)

    @property
    def _marked_flags(self) -> list[tuple[str, bool]]:
        before = ("", *self.flags)
        return [
            (each, SOURCE.fullmatch(each) is not None and last not in TAKES_FILE)
            for last, each in zip(before, self.flags, strict=False)
        ]

    @property
    def is_c(self) -> bool:
        return Path(self.client).suffix in C_SUFFIXES

    def option(self, entry: str) -> str:
        """Returns the options that build this lock or client alone."""
        chosen = [each for each in self.locks if each.type_name == entry.removesuffix(READERS)]
        named = f"{chosen[0].header}:{chosen[0].type_name}" if chosen else self.client
        words = ["--lock" if chosen else "--client", named]
        words += [word for each in self.include for word in ("--include", each)]
        words += ["--flags", shlex.join(self.flags)] if self.flags else []
        return shlex.join(words)


def defines_main(source: str) -> bool:
    return MAIN.search(COMMENTS.sub(" ", source)) is not None


def text(wanted: Wanted, program: str) -> str:
    """Writes the module. A line of the user's own words names the option that it came from."""
    if program:
        return _program(program)
    origin = _quoted(str(wanted))
    files = [wanted.client] if wanted.client else [each.header for each in wanted.locks]
    types = [CLIENT] if wanted.client else [each.type_name for each in wanted.locks]
    kind = "client" if wanted.client else "lock"
    includes = "".join(f"# 1 {origin}\n#include {_quoted(file)}\n" for file in dict.fromkeys(files))
    origins = [wanted] if wanted.client else wanted.locks
    named = "".join(
        f"# 1 {_quoted(str(each))}\nusing checked_{number} = {name};\n"
        for number, (each, name) in enumerate(zip(origins, types, strict=True))
    )
    made = [
        f"entry_of_{kind}<checked_{number}>({_quoted(name)})"
        for number, name in enumerate(wanted.entries)
    ]
    made += [
        f"entry_of_readers<checked_{number}>({_quoted(name + READERS)}, {_quoted(name)})"
        for number, name in enumerate(wanted.entries)
        if not wanted.client
    ]
    entries = "".join(f"    lockyard::plain::{each},\n" for each in made)
    # For their types: the debug information has the members' names.
    typed = "".join(
        f"[[gnu::used]] checked_{number}* lockyard_type_{number} = nullptr;\n"
        for number in range(len(types))
    )
    return (
        "// SPDX-License-Identifier: Apache-2.0\n// Written by lockyard.\n"
        f'{includes}# 1 "module.cpp"\n#include <plain/module.hpp>\n'
        f'namespace lockyard_checked {{\n{named}# 1 "module.cpp"\n{typed}}}\n'
        "using namespace lockyard_checked;\n"
        'extern "C" {\nconstinit const lockyard::plain::entry lockyard_plain_entries[] = {\n'
        f"{entries}}};\n"
        f"constinit const std::size_t lockyard_plain_entry_count = {len(made)};\n}}\n"
    )


def _program(file: str) -> str:
    """Writes the table for a program, which is compiled by itself, and whose main() is its own."""
    return (
        "// SPDX-License-Identifier: Apache-2.0\n// Written by lockyard.\n"
        "#include <plain/module.hpp>\n"
        'extern "C" {\nint lockyard_program_main(int, char**) __asm__("main");\n'
        "constinit const lockyard::plain::entry lockyard_plain_entries[] = {\n"
        f"    lockyard::plain::entry_of_program({_quoted(file)}, &lockyard_program_main),\n}};\n"
        "constinit const std::size_t lockyard_plain_entry_count = 1;\n}\n"
    )


def refusal(wanted: Wanted, said: str, own_text: Callable[[], str]) -> UsageError:
    """Converts the compiler's errors into one message of ours, followed by the compiler's own if
    they say more. `own_text` returns the text of the user's headers."""
    first = next((line for line in said.splitlines() if "error:" in line), "")
    lacks = re.search(r"static assertion failed(?: due to requirement '.*')?: (it .*)", said)
    if lacks and "plain/module.hpp" in first:
        kind, form = ("client", CLIENT_FORM) if wanted.client else ("lock", LOCK_FORM)
        ours = f"not a {kind} that can be checked, because {lacks[1]}, so nothing was checked; "
        return UsageError(f"{wanted}: {ours}{form}")
    if wanted.client and first.startswith("--client "):
        return UsageError(
            f"{wanted}: {wanted.client} declares no class {CLIENT}, so nothing was checked; write "
            f"a class of that name with `threads` and `thread(unsigned)`"
        )
    if wrong := faults.of_type(wanted.locks, said, "so nothing was checked", own_text):
        return wrong
    return UsageError(
        f"{wanted}: does not compile, so nothing was checked; fix the errors that the compiler "
        f"reports:\n{said}"
    )


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
