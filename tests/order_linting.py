# SPDX-License-Identifier: Apache-2.0
"""What the order lint finds in code that a test makes up."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools" / "lint"))

import order_lint

# A correct pair; cases replace one part of it to break one rule.
PAIR = """\
// order[lock]: acquire; pairs [unlock]; sees what the last owner did.
while (word_.exchange(1, std::memory_order_acquire) != 0) { W::pause(); }
// order[unlock]: release; pairs [lock]; publishes the critical section.
word_.store(0, std::memory_order_release);
"""


def lint(folder: Path, **files: str) -> list[str]:
    """Write the files, check the folder, return `name:line: message` per finding."""
    for name, text in files.items():
        path = folder / f"{name}.hpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    findings = order_lint.check([folder]).findings
    return [f"{Path(found.path).name}:{found.line}: {found.message}" for found in findings]


def lint_one(folder: Path, text: str) -> list[str]:
    """The findings in a single file, as `line: message`."""
    return [found.removeprefix("a.hpp:") for found in lint(folder, a=text)]


def relaxed(code: str) -> str:
    """A statement under a valid relaxed comment."""
    return f"// relaxed(hint): a wrong value costs only time.\n{code}\n"
