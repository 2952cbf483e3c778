# SPDX-License-Identifier: Apache-2.0
"""Changes settings until `lockyard doctor --undo`, or until the machine restarts."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.machine.arrangement import make
from lockyard.machine.change import RefusedError
from lockyard.machine.journal import FIXES as FIXES_JOURNAL
from lockyard.machine.journal import Journal, recover, remedy
from lockyard.machine.settings import FIXES, SETTINGS, planned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.machine.procfs import KernelFiles


@dataclass(frozen=True)
class Fix:
    """The outcome for a setting: changed, in force already, or refused with the reason."""

    setting: str
    value: str
    outcome: str
    reason: str = ""


def wanted(names: Sequence[str]) -> list[tuple[str, str]]:
    """Returns settings and values of names of problems, or of words like huge_pages=never."""
    return [_wanted(name) for name in names]


def _wanted(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if equals and value and name in SETTINGS:
        return name, value
    if word in FIXES:
        return FIXES[word]
    if name in SETTINGS:
        raise UsageError(
            f"--fix {word}: the setting has no value, so nothing was changed; give {name}=VALUE, "
            f"where VALUE is: {SETTINGS[name].values}"
        )
    raise UsageError(
        f"--fix {word}: not a problem that lockyard can fix; name one of {', '.join(FIXES)}, or a "
        f"setting with its value, as in huge_pages=never, of {', '.join(SETTINGS)}"
    )


def fix(wishes: Sequence[tuple[str, str]], tree: KernelFiles) -> list[Fix]:
    """Changes what can be changed; a setting is changed wholly or not at all."""
    with _journal(tree) as kept:
        return [_fixed(kept, name, value) for name, value in wishes]


def _fixed(kept: Journal, name: str, value: str) -> Fix:
    before = len(kept.changes())
    try:
        changes = planned(kept.tree, name, value)
        for change in changes:
            make(kept, change)
    except RefusedError as refusal:
        kept.undo(keep_first=before)
        why = str(refusal).removeprefix(f"{name}={value}: ").removeprefix(f"{name}: ")
        return Fix(name, value, "refused", why)
    return Fix(name, value, "changed" if changes else "in force")


@dataclass(frozen=True)
class Undone:
    """The settings that were restored, those that another program has changed since, which stay,
    and what could not be restored. A setting of several files may be in more than one list."""

    restored: list[str]
    left: list[str]
    problems: list[str]


def undo(tree: KernelFiles) -> Undone:
    """Takes all fixes back, and what killed measurements left."""
    with _journal(tree) as kept:
        first = {change.path: change for change in reversed(kept.changes())}
        problems = kept.undo()
        unfinished = {change.path for change in kept.changes()}
    done = [change for path, change in reversed(first.items()) if path not in unfinished]
    left = [change.setting for change in done if not change.is_taken_back(tree)]
    restored = [change.setting for change in done if change.is_taken_back(tree)]
    return Undone(_once(restored), _once(left), [*problems, *recover(tree)])


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


@contextlib.contextmanager
def _journal(tree: KernelFiles) -> Iterator[Journal]:
    try:
        kept = Journal(tree, FIXES_JOURNAL)
    except BlockingIOError:
        raise MissingCapabilityError(
            "another lockyard is changing settings, so nothing was changed; wait for it to end"
        ) from None
    except OSError as error:
        raise MissingCapabilityError(
            f"the undo journal cannot be written ({error.strerror}), so nothing was changed; "
            f"{remedy(error)}"
        ) from None
    with contextlib.closing(kept):
        yield kept
