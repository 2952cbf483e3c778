# SPDX-License-Identifier: Apache-2.0
"""The kernel's files, under a root that tests replace."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")


@dataclass(frozen=True)
class KernelFiles:
    root: Path = ROOT

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str | None:
        """Returns the text, or None if the file is missing, empty or unreadable."""
        try:
            return self.at(path).read_text(encoding="utf-8", errors="replace").strip() or None
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        text = self.read(path)
        return None if text is None else int(text)

    def glob(self, pattern: str) -> list[str]:
        """Returns the matching paths without the root."""
        found = sorted(self.root.glob(pattern.lstrip("/")))
        return [f"/{path.relative_to(self.root)}" for path in found]

    def exists(self, path: str) -> bool:
        return self.at(path).exists()

    def is_writable(self, path: str) -> bool:
        return os.access(self.at(path), os.W_OK)


def bracketed(choices: str | None) -> str | None:
    """Returns the choice in brackets or parentheses of a list like 'never [madvise] always'."""
    for word in (choices or "").split():
        if word[0] in "[(":
            return word.strip("[]()")
    return choices


def processors(text: str) -> list[int]:
    """Returns the numbers in a list like '0-3,8'."""
    found: list[int] = []
    for part in text.split(","):
        if part.strip():
            first, _, last = part.partition("-")
            found.extend(range(int(first), int(last or first) + 1))
    return found
