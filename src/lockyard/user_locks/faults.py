# SPDX-License-Identifier: Apache-2.0
"""Turns a compiler's errors into one message of ours, followed by the compiler's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lockyard.errors import UsageError
from lockyard.user_locks import type_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockyard.user_locks.lock_spec import UserLock, UserLocks

MOST_LISTED = 8  # types in a message


def of_check(locks: Sequence[UserLock], said: str, own_text: Callable[[], str]) -> UsageError:
    named = " ".join(map(str, locks))
    first_error = _first_error(said)
    requirement = re.search(
        r"requirements\.hpp:.*static assertion failed(?: due to requirement '.*')?: (.*)",
        first_error,
    )
    if requirement:
        return _error(
            f"{named}: not a lock that can be measured, because {requirement[1]}, so nothing was "
            "measured; add the missing functions to the class",
            said,
        )
    return of_compiler(locks, said, "so nothing was measured", own_text)


def of_compiler(
    locks: Sequence[UserLock], said: str, consequence: str, own_text: Callable[[], str]
) -> UsageError:
    if wrong := of_type(locks, said, consequence, own_text):
        return wrong
    named = " ".join(map(str, locks))
    together = " together" if len(locks) > 1 else ""
    return _error(
        f"{named}: does not compile{together}, {consequence}; fix the errors that the "
        "compiler reports",
        said,
    )


def of_type(
    locks: Sequence[UserLock], said: str, consequence: str, own_text: Callable[[], str]
) -> UsageError | None:
    """Says in one line why the compiler took no type from the option of one of the locks; None if
    the first error is another one. `own_text` returns the text of the user's headers."""
    first = _first_error(said)
    lock = next((each for each in locks if first.startswith(f"{each}:1:")), None)
    if lock is None or "fatal error:" in first:
        return None
    name, why = lock.type_name, first.partition("error: ")[2]
    known = type_names.declared(own_text())
    if found := type_names.find(name, known):
        if found.is_template and "<" not in name:
            return UsageError(
                f"{lock}: {name} is a template without its arguments, {consequence}; add them, as "
                f"in {name}<...>"
            )
        return UsageError(
            f"{lock}: {lock.header} declares {found.shown}, but `{name}` is not a type, "
            f"{consequence}; correct what the compiler reports: {why}"
        )
    other = re.search(r"note: '(.*)' (?:previously )?declared here", said)
    if other and re.search(rf"\b{re.escape(name.rpartition('::')[2])}\b", other[1]):
        cause = f"{name} is not a type (`{other[1]}`)"
    else:
        cause = f"{lock.header} declares no type {name}"
    return UsageError(f"{lock}: {cause}, {consequence}; {_remedy(name, why, known)}")


def _remedy(name: str, why: str, known: Sequence[type_names.Declared]) -> str:
    near = [each.shown for each in type_names.near(name, known)]
    if not near and (meant := re.search(r"'(\w+)'.* did you mean '([\w:]+)'", why)):
        near = [re.sub(rf"\b{meant[1]}\b", meant[2], name)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    if 0 < len(known) <= MOST_LISTED:
        return f"choose from {', '.join(each.shown for each in known)}"
    return (
        "write the type with its namespaces and template arguments, as a program would after the "
        "#include"
    )


def of_study(given: UserLocks, study: str, said: str) -> UsageError:
    return _error(
        f"{given}: does not compile in study '{study}', so nothing was measured; fix the errors "
        "that the compiler reports",
        said,
    )


def of_link(given: UserLocks, said: str) -> UsageError:
    return _error(
        f"{given}: does not link, so nothing was measured; put the missing definitions into the "
        "header, or name their object or library by --flags",
        said,
    )


def _first_error(said: str) -> str:
    return next((line for line in said.splitlines() if "error:" in line), "")


def _error(ours: str, said: str) -> UsageError:
    return UsageError(f"{ours}:\n{said}")
