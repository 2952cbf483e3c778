# SPDX-License-Identifier: Apache-2.0
"""Builds the harness with user locks: compiles the studies for them and links everything."""

from __future__ import annotations

import hashlib
import re
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lockyard.errors import UsageError
from lockyard.harness import harness_path
from lockyard.measure.session import say
from lockyard.user_locks import cache, faults, sources, type_names
from lockyard.user_locks.jobs import CompilerOverrunError, Done, run_all
from lockyard.user_locks.toolchain import (
    Compiler,
    Recipe,
    check_headers,
    compiler,
    needed_libraries,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.user_locks.lock_spec import UserLock, UserLocks

LIMIT_S = 300.0  # for all compilers together


def harness_with(given: UserLocks, studies: Sequence[str], limit_s: float = LIMIT_S) -> Path:
    """Builds the program, or finds an earlier build of it, and says which."""
    recipe = Recipe.read(harness_path())
    build = Build(given, recipe, compiler(recipe.compiler))
    try:
        with cache.workplace() as place:
            return build.run(studies, place, limit_s)
    except CompilerOverrunError:
        raise UsageError(
            f"{given}: the compiler did not end within {limit_s:g} s and was stopped, so nothing "
            "was measured; find out why the header takes so long, or measure fewer studies"
        ) from None


@dataclass(frozen=True)
class Build:
    given: UserLocks
    recipe: Recipe
    using: Compiler

    def run(self, studies: Sequence[str], place: Path, limit_s: float) -> Path:
        started = time.monotonic()
        (place / sources.LOCKS).write_text(sources.locks(self.given.locks))
        read = self._check(place, limit_s)
        keys = self._write_studies(studies, place, read)
        objects = {name: cache.find(f"{name}.{key}.o") for name, key in keys.items()}
        program = f"harness.{self._key_of_program(keys)}"
        found = cache.find(program)
        if found is not None:
            say(f"{self.given}: using an earlier build ({found})")
            return found
        missing = [name for name, path in objects.items() if path is None]
        if missing:
            say(f"{self.given}: building {', '.join(missing)} ({self.using.version})")
        check_headers(self.recipe, self.using)
        libraries = needed_libraries(self.recipe.harness)
        left_s = limit_s - (time.monotonic() - started)
        self._compile(missing, place, left_s)
        linked = self._link(place, objects, libraries, limit_s - (time.monotonic() - started))
        for name in missing:
            cache.keep(place / f"{name}.o", f"{name}.{keys[name]}.o")
        built = cache.keep(linked, program)
        cache.tidy([built])
        say(f"{self.given}: built in {time.monotonic() - started:.1f} s")
        return built

    def _check(self, place: Path, limit_s: float) -> list[Path]:
        """Checks that the types are locks, and returns every file that their headers include."""
        done = self._checked(self.given.locks, place, limit_s)
        if not done.succeeded:
            # One by one, to name the lock at fault; it may also be all of them together.
            for lock in self.given.locks if len(self.given.locks) > 1 else ():
                alone = self._checked([lock], place, limit_s)
                if not alone.succeeded:
                    raise faults.of_check([lock], alone.said, lambda: self._own_text(place))
            raise faults.of_check(self.given.locks, done.said, lambda: self._own_text(place))
        if done.said:
            say(done.said)
        return dependencies((place / "check.d").read_text())

    def _checked(self, locks: Sequence[UserLock], place: Path, limit_s: float) -> Done:
        (place / sources.LOCKS).write_text(sources.locks(locks))
        (place / "check.cpp").write_text(sources.check(locks))
        options = ["-fsyntax-only", "-MD", "-MF", str(place / "check.d"), str(place / "check.cpp")]
        return run_all([self._command(options)], limit_s)[0]

    def _own_text(self, place: Path) -> str:
        """Returns the text of the headers of what was checked last, without system's and ours."""
        read = run_all([self._command(["-E", str(place / "check.cpp")])], LIMIT_S)[0]
        return type_names.own_text(read.said, self.recipe.includes)

    def _write_studies(
        self, studies: Sequence[str], place: Path, read: Sequence[Path]
    ) -> dict[str, str]:
        """Writes the studies and returns the key of each: a hash of everything it is made from."""
        described = {lock.type_name: self._described(lock) for lock in self.given.locks}
        headers = [hashlib.sha256(path.read_bytes()).digest() for path in read]
        with_files = [
            path.read_bytes() for flag in self.given.flags if (path := Path(flag)).is_file()
        ]
        shared: list[str | bytes] = [
            self.recipe.fingerprint,
            self.using.path,
            self.using.version,
            *self._options(),
            "",
            *with_files,
            "",
            *headers,
            (place / sources.LOCKS).read_text(),
        ]
        keys = {}
        for name in studies:
            text = sources.study(name, self.recipe.source_of(name), self.given.locks, described)
            (place / f"{name}.cpp").write_text(text)
            keys[name] = cache.key([*shared, text])
        return keys

    def _key_of_program(self, keys: dict[str, str]) -> str:
        return cache.key([part for name in sorted(keys) for part in (name, keys[name])])

    def _described(self, lock: UserLock) -> dict[str, str]:
        return {
            "header": lock.header,
            "sha256": hashlib.sha256(Path(lock.header).read_bytes()).hexdigest(),
            "compiler": self.using.version,
            "flags": shlex.join([*self.recipe.flags, *self.given.flags]),
        }

    def _compile(self, names: Sequence[str], place: Path, limit_s: float) -> None:
        wanted = [
            self._command(["-c", str(place / f"{name}.cpp"), "-o", str(place / f"{name}.o")])
            for name in names
        ]
        for name, done in zip(names, run_all(wanted, limit_s), strict=True):
            if not done.succeeded:
                raise faults.of_study(self.given, name, done.said)

    def _link(
        self,
        place: Path,
        objects: dict[str, Path | None],
        libraries: Sequence[str],
        limit_s: float,
    ) -> Path:
        """Links the harness's objects first, so that its definitions win, whatever the flags."""
        linked = place / "harness"
        own, *others = map(str, self.recipe.archives)
        command = [
            self.using.path,
            *self.recipe.flags,
            "-Wl,--whole-archive",
            own,
            "-Wl,--no-whole-archive",
            *(str(path or place / f"{name}.o") for name, path in objects.items()),
            *self.given.flags,
            *others,
            *(f"-l:{library}" for library in libraries),
            "-pthread",
            "-o",
            str(linked),
        ]
        done = run_all([command], limit_s)[0]
        if not done.succeeded:
            raise faults.of_link(self.given, done.said)
        return linked

    def _options(self) -> list[str]:
        """Returns our include folders before the user's, so that no header of ours is replaced."""
        ours = [argument for each in self.recipe.includes for argument in ("-I", str(each))]
        theirs = [argument for each in self.given.include for argument in ("-I", each)]
        return [*self.recipe.flags, *ours, "-iquote", ".", *theirs, *self.given.flags]

    def _command(self, options: Sequence[str]) -> list[str]:
        return [self.using.path, *self._options(), *options]


def dependencies(rule: str) -> list[Path]:
    """Returns the files of a rule for make, without those that lockyard wrote."""
    words = re.findall(r"(?:\\ |[^\s\\]|\\(?=[^\s]))+", rule.partition(": ")[2])
    paths = [Path(word.replace("\\ ", " ").replace("$$", "$")) for word in words]
    written = (sources.LOCKS, "check.cpp", "module.cpp")
    return [path for path in paths if path.name not in written]
