# SPDX-License-Identifier: Apache-2.0
"""Compiles a user's lock or client, written with plain std::atomic, as a module of the checker.

The code is compiled unchanged, with -fsanitize=thread, and is not linked with ThreadSanitizer's
runtime: the checker has the functions that the compiler calls for each access.
"""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.checks import (
    assembly,
    dead_registers,
    glue,
    imports,
    members,
    operands,
    unread_results,
)
from lockyard.checks.recipe import Recipe
from lockyard.errors import UsageError
from lockyard.measure.session import say
from lockyard.user_locks import cache, type_names
from lockyard.user_locks.build import dependencies
from lockyard.user_locks.jobs import CompilerOverrunError, Done, run_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.checks.glue import Wanted

LIMIT_S = 120.0
CONSEQUENCE = "so nothing was checked"
# The language of a source, whatever its name ends in, and its standard, which comes before the
# user's flags: they may name another one.
CXX = ("c++", "-std=gnu++20")
C = ("c", "-std=gnu17")
COMPILING = (
    "-O1",
    "-gdwarf-4",  # addr2line of binutils 2.40 takes file 1 of version 5 for file 0
    "-fPIC",
    "-fsanitize=thread",
    "-U__SANITIZE_THREAD__",  # the code is compiled as for a program
    "-fno-omit-frame-pointer",
    "-fexceptions",  # in C the handlers of pthread_cleanup_push() run as destructors do
    "-fno-gnu-unique",
    "-fno-lto",  # which would leave the instrumentation to the linker
    "-fno-whole-program",  # which would make the module's entries its own
    "-fvisibility=default",  # as the option before
    "-Wno-tsan",
)
# The compiler's remark on objects and archives among the flags, which are for the linker.
UNUSED = re.compile(r"^.*: linker input file unused because linking not done\n?", re.MULTILINE)
# Flags that concern the compiler alone; all others may make the linker read a file.
OF_COMPILER = re.compile(r"-(?:[DUIfmOg].*|std=.*|pthread|pedantic.*|W(?!l,).*)")
# The compiler must not remove, merge or move an access before the instrumentation sees it, or a
# race is left out: plain/visible.txt says how. A call's operands are not instrumented, so an
# aggregate that is passed or returned has to be copied where the source says so.
VISIBLE_CXX = ("-fno-elide-constructors",)


def to(result: Path, source: Path) -> list[str]:
    return [str(source), "-o", str(result)]


def built(wanted: Wanted) -> Path:
    """Returns the module's file, which an earlier command may have built."""
    recipe = Recipe.read()
    build = Build(wanted, recipe, recipe.found_compiler())
    try:
        with cache.workplace() as place:
            return build.run(place)
    except CompilerOverrunError:
        raise UsageError(
            f"{wanted}: the compiler did not end within {LIMIT_S:g} s and was stopped, "
            f"{CONSEQUENCE}; find out why the code takes so long to compile"
        ) from None


@dataclass(frozen=True)
class Compiled:
    """One source file's assembler code, and the list of what was read for it."""

    assembler: Path
    dependencies: Path
    is_silent: bool = False  # it may use shared memory where the checker does not see it


@dataclass(frozen=True)
class Build:
    wanted: Wanted
    recipe: Recipe
    compiler: str

    def run(self, place: Path) -> Path:
        started = time.monotonic()
        self._need_gcc()
        source = place / glue.NAME
        source.write_text(glue.text(self.wanted, self.program))
        made = [self._compiled(place / "module", source, CXX)]
        if self.program:
            language = C if self.wanted.is_c else CXX
            made.append(self._compiled(place / "program", Path(self.program).resolve(), language))
        for number, each in enumerate(self.wanted.sources):
            language = C if each.endswith(glue.C_SUFFIXES) else CXX
            made.append(self._compiled(place / f"source{number}", Path(each).resolve(), language))
        self._mark_unread_results(made)
        # Only the linker knows which files the flags mean, so the key has what it makes of them.
        linked = self._linked(place, made) if self._may_link_files else None
        name = f"module.{self._key(made, linked)}.so"
        found = cache.find(name)
        if found is not None and cache.find(f"{name}.members") is not None:
            return found
        module = linked or self._linked(place, made)
        listed = place / "module.members"
        known = set().union(*(assembly.defined(each.assembler.read_text()) for each in made))
        is_silent = any(each.is_silent for each in made) or members.has_other_code(module, known)
        names = members.text(module, self.wanted.entries)
        seen = members.SILENT if is_silent else members.INSTRUMENTED
        listed.write_text(f"{seen}\n{names}")
        cache.keep(listed, f"{name}.members")
        kept = cache.keep(module, name)
        cache.tidy([kept, kept.with_name(f"{name}.members")])
        say(f"{self.wanted}: compiled in {time.monotonic() - started:.1f} s")
        return kept

    @cached_property
    def program(self) -> str:
        """Returns the client's file if it is a program with main(); otherwise nothing. The function
        may come from another file, or from a macro."""
        client = self.wanted.client
        if not client or self.wanted.is_c:
            return client
        if glue.defines_main(Path(client).read_text(errors="replace")):
            return client
        return client if glue.defines_main(self._preprocessed(Path(client), CXX)) else ""

    def _preprocessed(self, source: Path, language: tuple[str, str]) -> str:
        name, standard = language
        found = [standard, *self._searched, *self.wanted.options]
        return self._ran([*found, "-E", "-x", name, str(source)]).said

    @property
    def _searched(self) -> list[str]:
        include = self.recipe.include
        ours = ["-I", str(include), "-I", str(include / "plain" / "std"), "-iquote", "."]
        return ours + [argument for each in self.wanted.include for argument in ("-I", each)]

    def _need_gcc(self) -> None:
        """Refuses Clang: it instruments only the accesses that its optimisations leave, and has no
        counterpart of some options in visible.txt."""
        if "clang" in self._ran(["--version"]).said:
            raise UsageError(
                f"the compiler {self.compiler} is Clang, which may leave out accesses before the "
                f"checker sees them, {CONSEQUENCE}; unset CXX, or let it name a g++"
            )

    def _compiled(self, made: Path, source: Path, language: tuple[str, str]) -> Compiled:
        unit = Compiled(made.with_suffix(".s"), made.with_suffix(".d"))
        name, standard = language
        flags = self.wanted.options
        ours = self._searched
        visible = [f"@{self.recipe.visible}", *(() if language == C else VISIBLE_CXX)]
        # Otherwise no two builds have the same code.
        ours.append(f"-fdebug-prefix-map={made.parent}=.")
        dump = made.with_suffix(".dump")
        visible.append(f"{operands.DUMP if language == C else operands.DUMP_CXX}={dump}")

        def compiled(*more: str) -> Done:
            return self._ran(
                [
                    *(standard, *ours, *flags, *COMPILING, *visible, *more),
                    # Libraries among the flags have no language.
                    *("-S", "-MD", "-MF", str(unit.dependencies), "-x", name),
                    *to(unit.assembler, source),
                ]
            )

        done = compiled()
        if done.succeeded and assembly.has_atomic_functions(unit.assembler.read_text()):
            done = compiled("-fno-inline")
        if not done.succeeded:

            def own_text() -> str:
                return type_names.own_text(
                    self._preprocessed(source, language), [self.recipe.include]
                )

            raise glue.refusal(self.wanted, done.said, own_text)
        if said := UNUSED.sub("", done.said):
            say(said)
        after = dump.read_text(errors="replace") if dump.is_file() else ""
        code = unit.assembler.read_text()
        is_silent = assembly.is_silent(code) or operands.has_silent_builtin(after)
        if language == C:
            operands.check(str(self.wanted), after, code)
        else:
            is_silent |= operands.is_silent(after)
        told = assembly.with_atomic_functions(code)
        kept = dead_registers.without_dead_values(told)
        # Last: the compiler does not know of these calls, which change no register.
        unit.assembler.write_text(assembly.with_full_barriers(kept))
        return replace(unit, is_silent=is_silent)

    @staticmethod
    def _mark_unread_results(made: Sequence[Compiled]) -> None:
        """Code that reads errno may learn of a result by it."""
        codes = [each.assembler.read_text() for each in made]
        if not any("__errno_location" in code for code in codes):
            for each, code in zip(made, codes, strict=True):
                each.assembler.write_text(unread_results.with_marks(code))

    @property
    def _may_link_files(self) -> bool:
        """Returns whether the flags may name files, or folders of files, for the linker."""
        return any(not OF_COMPILER.fullmatch(flag) for flag in self.wanted.options)

    def _linked(self, place: Path, made: Sequence[Compiled]) -> Path:
        for each in made:
            assembly.check(str(self.wanted), each.assembler.read_text(), self.recipe.modelled)
        module = place / "module.so"
        done = self._ran(
            [
                "-shared",
                "-Wl,-z,now",
                # Its main() is its own, not the checker's.
                "-Wl,-Bsymbolic",
                *(["-Wl,--require-defined=main"] if self.program else []),
                f"-Wl,@{self.recipe.wrapped}",
                *(str(each.assembler) for each in made),
                *("-o", str(module)),
                *self.wanted.options,
                "-pthread",
            ]
        )
        if not done.succeeded:
            raise UsageError(
                f"{self.wanted}: does not link, {CONSEQUENCE}; put the missing definitions into "
                f"the header, or name their object or library by --flags:\n{done.said}"
            )
        if name := imports.taken(module, self.recipe.modelled):
            raise UsageError(
                f"{self.wanted}: defines `{name}`, which the checker defines itself, so nothing "
                "was checked; give the function another name"
            )
        return module

    def _key(self, made: Sequence[Compiled], linked: Path | None) -> str:
        """Hashes what the module and its list of names are made from: the code, the folders that
        its lines name, the files that the flags add, and how the list is made."""
        read = [path for each in made for path in dependencies(each.dependencies.read_text())]
        headers = [hashlib.sha256(path.read_bytes()).digest() for path in read]
        code = [each.assembler.read_bytes() for each in made]
        code += [linked.read_bytes()] if linked else []
        flags = "\n".join(self.wanted.flags)
        ours = [self.recipe.wrapped.read_bytes(), Path(members.__file__).read_bytes()]
        return cache.key([self.compiler, flags, *ours, *code, *headers])

    def _ran(self, arguments: Sequence[str]) -> Done:
        return run_all([[self.compiler, *arguments]], LIMIT_S)[0]
