# SPDX-License-Identifier: Apache-2.0
"""The tools for compiling user locks: the harness's recipe and archives, a compiler, and the
headers that the studies include besides our own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError
from lockyard.harness import harness_path

if TYPE_CHECKING:
    from pathlib import Path

ASK_LIMIT_S = 20.0
# Part of every message below.
CONSEQUENCE = "so --lock cannot compile anything"


@dataclass(frozen=True)
class Recipe:
    """How the harness was built; CMake writes it next to the harness."""

    harness: Path
    version: str
    compiler: str
    flags: tuple[str, ...]
    includes: tuple[Path, ...]  # the harness's own sources first
    archives: tuple[Path, ...]  # the harness's own first
    nlohmann_json: str

    @classmethod
    def read(cls, harness: Path) -> Recipe:
        path = harness.with_name("lockyard-harness.json")
        try:
            said = json.loads(path.read_text())
            recipe = cls(
                harness=harness,
                version=said["version"],
                compiler=said["compiler"],
                flags=tuple(shlex.split(said["flags"])),
                includes=tuple(path.parent / each for each in said["includes"]),
                archives=tuple(path.parent / each for each in said["archives"]),
                nlohmann_json=said["nlohmann_json"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise MissingCapabilityError(
                f"the harness's recipe {path} is missing or damaged ({error}), {CONSEQUENCE}; "
                "reinstall lockyard, or correct or unset LOCKYARD_HARNESS"
            ) from None
        for needed in (recipe.includes[0] / "user_locks", *recipe.archives):
            if not needed.exists():
                raise MissingCapabilityError(
                    f"{needed} is missing, {CONSEQUENCE}; reinstall lockyard"
                )
        return recipe

    def source_of(self, study: str) -> Path:
        path = self.includes[0] / "studies" / f"{study}.cpp"
        if not path.is_file():
            raise MissingCapabilityError(
                f"the source of study '{study}' is missing at {path}, {CONSEQUENCE}; reinstall "
                "lockyard"
            )
        return path

    @cached_property
    def fingerprint(self) -> str:
        """Hashes everything that the harness adds to a build; its archives reflect its headers."""
        digest = hashlib.sha256(self.version.encode())
        for archive in self.archives:
            digest.update(archive.read_bytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class Compiler:
    path: str
    version: str  # the first line of its answer to --version


def compiler(usual: str) -> Compiler:
    """Returns the compiler that CXX names, or the usual one if it is installed, or g++."""
    chosen = os.environ.get("CXX") or ""
    names = [chosen] if chosen else [usual, "g++"]
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        raise MissingCapabilityError(
            f"the compiler {chosen or 'g++'} is not installed, {CONSEQUENCE}; "
            + ("correct or unset CXX" if chosen else "install g++ (apt-get install -y g++)")
        )
    said = _ask([path, "--version"])
    lines = said.stdout.splitlines() if said and said.returncode == 0 else []
    if not lines:
        raise MissingCapabilityError(
            f"{path} does not answer --version, {CONSEQUENCE}; correct or unset CXX"
        )
    return Compiler(path, lines[0].strip())


def check_headers(recipe: Recipe, using: Compiler) -> None:
    """Checks the JSON library, which objects of the studies and the harness must share."""
    includes = [argument for each in recipe.includes for argument in ("-I", str(each))]
    dump = ["-x", "c++", "-std=gnu++20", "-E", "-dM", "-include", "nlohmann/json.hpp", os.devnull]
    said = _ask([using.path, *includes, *dump])
    macros = said.stdout if said else ""
    parts = [
        re.search(rf"#define NLOHMANN_JSON_VERSION_{part} (\d+)", macros)
        for part in ("MAJOR", "MINOR", "PATCH")
    ]
    found = ".".join(part[1] for part in parts if part)
    if found != recipe.nlohmann_json:
        problem = f"is version {found}" if found else "is missing"
        raise MissingCapabilityError(
            f"the header nlohmann/json.hpp {problem}, but the harness was built with "
            f"{recipe.nlohmann_json}, {CONSEQUENCE}; install that version (apt-get install -y "
            "nlohmann-json3-dev), or build lockyard on this machine"
        )


def needed_libraries(harness: Path) -> list[str]:
    """Returns the shared libraries of the harness; they are installed, since the harness runs."""
    said = _ask(["readelf", "-d", str(harness)])
    found = re.findall(r"\(NEEDED\).*\[([^]]+)\]", said.stdout) if said else []
    if not found:
        raise MissingCapabilityError(
            f"readelf does not list the libraries of {harness}, {CONSEQUENCE}; install binutils, "
            "which contains readelf (apt-get install -y binutils)"
        )
    return [name for name in found if not name.startswith("ld-linux")]


def check_all() -> str:
    """Returns the compiler that --lock would use, for doctor. Raises MissingCapabilityError."""
    recipe = Recipe.read(harness_path())
    found = compiler(recipe.compiler)
    check_headers(recipe, found)
    needed_libraries(recipe.harness)
    return found.version


def _ask(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ASK_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
