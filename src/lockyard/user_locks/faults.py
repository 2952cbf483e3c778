# SPDX-License-Identifier: Apache-2.0
"""Turns a compiler's errors into one message of ours, followed by the compiler's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.user_locks.lock_spec import UserLock, UserLocks


def of_check(locks: Sequence[UserLock], said: str) -> UsageError:
    named = " ".join(map(str, locks))
    first_error = next((line for line in said.splitlines() if "error:" in line), "")
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
    return of_compiler(locks, said, "so nothing was measured")


def of_compiler(locks: Sequence[UserLock], said: str, consequence: str) -> UsageError:
    named = " ".join(map(str, locks))
    first_error = next((line for line in said.splitlines() if "error:" in line), "")
    if first_error.startswith("--lock "):
        header, name = locks[0].header, locks[0].type_name
        return _error(
            f"{named}: {header} declares no type {name}, {consequence}; write the type "
            "with its namespaces and template arguments, as a program would after the #include",
            said,
        )
    together = " together" if len(locks) > 1 else ""
    return _error(
        f"{named}: does not compile{together}, {consequence}; fix the errors that the "
        "compiler reports",
        said,
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


def _error(ours: str, said: str) -> UsageError:
    return UsageError(f"{ours}:\n{said}")
