# SPDX-License-Identifier: Apache-2.0
"""A change of one of the kernel's files, and the refusal to make one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.machine.procfs import bracketed

if TYPE_CHECKING:
    from lockyard.machine.procfs import KernelFiles


class RefusedError(Exception):
    """The message names the cause and the remedy."""


@dataclass(frozen=True)
class Change:
    """One write to a file of the kernel's, and the text that takes it back."""

    path: str
    before: str
    after: str
    setting: str = ""

    def is_in_force(self, tree: KernelFiles) -> bool:
        return self.after in _readings(tree, self.path)

    def is_taken_back(self, tree: KernelFiles) -> bool:
        """Tells whether the file shows what was there before the change."""
        return self.before in _readings(tree, self.path)


def _readings(tree: KernelFiles, path: str) -> set[str]:
    """Returns every form in which a file shows its value: the whole, its words, the chosen word."""
    text = tree.read(path) or ""
    chosen = bracketed(text)
    words = set() if chosen != text else set(text.split())
    return {text, chosen or "", *words}
