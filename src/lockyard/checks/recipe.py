# SPDX-License-Identifier: Apache-2.0
"""How code is compiled for the checker that is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.checker import checker_path
from lockyard.errors import MissingCapabilityError

if TYPE_CHECKING:
    from pathlib import Path


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

    @property
    def visible(self) -> Path:
        return self.include / "plain" / "visible.txt"

    @property
    def modelled(self) -> frozenset[str]:
        """Returns the functions that the checker has models of."""
        return frozenset(re.findall(r"--wrap=(\S+)", self.wrapped.read_text()))

    @property
    def known(self) -> frozenset[str]:
        """Returns these and the functions of numbers alone, for which it needs no model."""
        words = re.findall(r"[a-z_]\w*", (self.include / "plain" / "arithmetic.txt").read_text())
        forms = [word + form for word in words for form in ("", "f", "l")]
        return self.modelled.union(forms)

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
