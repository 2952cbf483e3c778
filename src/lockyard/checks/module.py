# SPDX-License-Identifier: Apache-2.0
"""Compiles a user's lock or client, written with plain std::atomic, as a module of the checker.

The code is compiled unchanged, with -fsanitize=thread, and is not linked with ThreadSanitizer's
runtime: the checker has the functions that the compiler calls for each access.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.checker import checker_path
from lockyard.checks import assembly, glue, members
from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.measure.session import say
from lockyard.user_locks import cache
from lockyard.user_locks.build import dependencies
from lockyard.user_locks.jobs import CompilerOverrunError, Done, run_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.checks.glue import Wanted

LIMIT_S = 120.0
CONSEQUENCE = "so nothing was checked"
COMPILING = (
    "-std=gnu++20",
    "-O1",
    "-g",
    "-fPIC",
    "-fsanitize=thread",
    "-U__SANITIZE_THREAD__",  # the code is compiled as for a program
    "-fno-omit-frame-pointer",
    "-fno-gnu-unique",
    "-Wno-tsan",
)


@dataclass(frozen=True)
class Recipe:
    """How to compile for this checker; CMake writes it next to the checker."""

    compiler: str
    include: Path

    @classmethod
    def read(cls) -> Recipe:
        path = checker_path().with_name("lockyard-checker.json")
        try:
            said = json.loads(path.read_text())
            recipe = cls(said["compiler"], path.parent / said["include"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise MissingCapabilityError(
                f"the checker's recipe {path} is missing or damaged ({error}), so --lock and "
                "--client cannot compile anything; reinstall lockyard, or correct or unset "
                "LOCKYARD_CHECKER"
            ) from None
        return recipe

    @property
    def wrapped(self) -> Path:
        return self.include / "plain" / "wrapped.txt"

    def found_compiler(self) -> str:
        chosen = os.environ.get("CXX") or ""
        names = [chosen] if chosen else [self.compiler, "g++"]
        path = next((found for name in names if (found := shutil.which(name))), None)
        if path is None:
            raise MissingCapabilityError(
                f"the compiler {chosen or 'g++'} is not installed, so --lock and --client cannot "
                "compile anything; "
                + ("correct or unset CXX" if chosen else "install g++ (apt-get install -y g++)")
            )
        return path


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
class Build:
    wanted: Wanted
    recipe: Recipe
    compiler: str

    def run(self, place: Path) -> Path:
        started = time.monotonic()
        source = place / glue.NAME
        source.write_text(glue.text(self.wanted))
        assembler = place / "module.s"
        compiled = self._ran(
            [*self._options(), "-S", "-MD", "-MF", f"{place}/module.d", *to(assembler, source)]
        )
        if not compiled.succeeded:
            raise glue.refusal(self.wanted, compiled.said)
        if compiled.said:
            say(compiled.said)
        name = f"module.{self._key(assembler, dependencies((place / 'module.d').read_text()))}.so"
        found = cache.find(name)
        if found is not None and cache.find(f"{name}.members") is not None:
            return found
        assembly.check(str(self.wanted), assembler.read_text())
        module = place / "module.so"
        linked = self._ran(
            [
                "-shared",
                "-Wl,-z,now",
                f"-Wl,@{self.recipe.wrapped}",
                *to(module, assembler),
                *self.wanted.flags,
                "-pthread",
            ]
        )
        if not linked.succeeded:
            raise UsageError(
                f"{self.wanted}: does not link, {CONSEQUENCE}; put the missing definitions into "
                f"the header, or name their object or library by --flags:\n{linked.said}"
            )
        listed = place / "module.members"
        listed.write_text(members.text(module, self.wanted.entries))
        cache.keep(listed, f"{name}.members")
        kept = cache.keep(module, name)
        cache.tidy([kept, kept.with_name(f"{name}.members")])
        say(f"{self.wanted}: compiled in {time.monotonic() - started:.1f} s")
        return kept

    def _key(self, assembler: Path, read: Sequence[Path]) -> str:
        """Hashes what the module is made from: the code, and the folders that its lines name."""
        headers = [hashlib.sha256(path.read_bytes()).digest() for path in read]
        return cache.key(
            [self.compiler, self.recipe.wrapped.read_bytes(), assembler.read_bytes(), *headers]
        )

    def _options(self) -> list[str]:
        theirs = [argument for each in self.wanted.include for argument in ("-I", each)]
        ours = ["-I", str(self.recipe.include), "-iquote", "."]
        return [*ours, *theirs, *self.wanted.flags, *COMPILING]

    def _ran(self, arguments: Sequence[str]) -> Done:
        return run_all([[self.compiler, *arguments]], LIMIT_S)[0]
