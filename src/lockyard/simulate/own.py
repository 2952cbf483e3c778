# SPDX-License-Identifier: Apache-2.0
"""Compiles users' locks for the simulator, as a module that it loads."""

from __future__ import annotations

import hashlib
import json
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.measure.session import say
from lockyard.simulate.simulator import simulator_path
from lockyard.user_locks import cache, faults, type_names
from lockyard.user_locks.build import dependencies
from lockyard.user_locks.jobs import CompilerOverrunError, Done, run_all
from lockyard.user_locks.toolchain import compiler

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lockyard.user_locks.lock_spec import UserLocks
    from lockyard.user_locks.toolchain import Compiler

LIMIT_S = 120.0
SOURCE = "module.cpp"
COMPILING = ("-std=gnu++20", "-O2", "-fPIC", "-fno-gnu-unique", "-shared")
CONSEQUENCE = "so nothing was simulated"


@dataclass(frozen=True)
class Recipe:
    """How to compile for this simulator; CMake writes it next to the simulator."""

    compiler: str
    includes: tuple[Path, ...]

    @classmethod
    def read(cls) -> Recipe:
        path = simulator_path().with_name("lockyard-simulator.json")
        try:
            said = json.loads(path.read_text())
            return cls(said["compiler"], tuple(path.parent / each for each in said["includes"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise MissingCapabilityError(
                f"the simulator's recipe {path} is missing or damaged ({error}), so --lock cannot "
                "compile anything; reinstall lockyard, or correct or unset LOCKYARD_SIMULATOR"
            ) from None


def module_of(given: UserLocks) -> Path:
    """Returns the module with these locks, which an earlier command may have built."""
    recipe = Recipe.read()
    using = compiler(recipe.compiler)
    try:
        with cache.workplace() as place:
            return _built(given, recipe, using, place)
    except CompilerOverrunError:
        raise UsageError(
            f"{given}: the compiler did not end within {LIMIT_S:g} s and was stopped, "
            f"{CONSEQUENCE}; find out why the header takes so long to compile"
        ) from None


def _built(given: UserLocks, recipe: Recipe, using: Compiler, place: Path) -> Path:
    started = time.monotonic()
    source = place / SOURCE
    source.write_text(text(given))
    ours = [argument for each in recipe.includes for argument in ("-I", str(each))]
    theirs = [argument for each in given.include for argument in ("-I", each)]
    command = [using.path, *COMPILING, *ours, "-iquote", ".", *theirs, str(source)]

    def own_text() -> str:
        read = _ran([*command, *given.flags, "-E"])
        return type_names.own_text(read.said, recipe.includes)

    listed = _ran([*command, *given.flags, "-M", "-MF", str(place / "module.d")])
    if not listed.succeeded:
        raise _refusal(given, listed.said, own_text)
    read = [path.read_bytes() for path in dependencies((place / "module.d").read_text())]
    digests = [hashlib.sha256(each).digest() for each in read]
    key = cache.key([using.path, using.version, source.read_text(), *given.flags, *digests])
    name = f"simulated.{key}.so"
    found = cache.find(name)
    if found is not None:
        return found
    built = place / "module.so"
    done = _ran([*command, "-o", str(built), *given.flags])
    if not done.succeeded:
        raise _refusal(given, done.said, own_text)
    if done.said:
        say(done.said)
    kept = cache.keep(built, name)
    cache.tidy([kept])
    say(f"{given}: compiled in {time.monotonic() - started:.1f} s")
    return kept


def _ran(command: list[str]) -> Done:
    return run_all([command], LIMIT_S)[0]


def text(given: UserLocks) -> str:
    """Writes the module. A line of the user's own words names the option that it came from."""
    origin = json.dumps(str(given), ensure_ascii=False)
    headers = dict.fromkeys(lock.header for lock in given.locks)
    includes = "".join(f"# 1 {origin}\n#include {json.dumps(each)}\n" for each in headers)
    types = "".join(
        f"# 1 {json.dumps(str(lock), ensure_ascii=False)}\n"
        f"using user_lock_{number} = {lock.type_name};\n"
        for number, lock in enumerate(given.locks)
    )
    subjects = "".join(
        f"    lockyard::simulation::subject_of_user<lockyard_user::user_lock_{number}>("
        f"{json.dumps(lock.type_name)}),\n"
        for number, lock in enumerate(given.locks)
    )
    return (
        "// SPDX-License-Identifier: Apache-2.0\n// Written by lockyard.\n"
        f'{includes}# 1 "{SOURCE}"\n#include <simulate/module.hpp>\n'
        f'namespace lockyard_user {{\n{types}# 1 "{SOURCE}"\n}}\n'
        'extern "C" {\n'
        "constinit const lockyard::simulation::subject lockyard_simulated_locks[] = {\n"
        f"{subjects}}};\n"
        f"constinit const std::size_t lockyard_simulated_lock_count = {len(given.locks)};\n}}\n"
    )


def _refusal(given: UserLocks, said: str, own_text: Callable[[], str]) -> UsageError:
    lacks = re.search(r"static assertion failed(?: due to requirement '.*')?: (it .*)", said)
    if lacks:
        return UsageError(
            f"{given}: not a lock that can be simulated, because {lacks[1]}, {CONSEQUENCE}; write "
            "it as the catalogue's locks are (docs/simulator.md, A lock of your own), or use "
            f"`lockyard measure --lock`, which takes any class:\n{said}"
        )
    return faults.of_compiler(given.locks, said, CONSEQUENCE, own_text)
