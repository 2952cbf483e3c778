# SPDX-License-Identifier: Apache-2.0
"""What a compiler's errors come to: one line of ours, then the compiler's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.own.given import Given, OwnLock


def of_check(locks: Sequence[OwnLock], said: str) -> UsageError:
    named = " ".join(map(str, locks))
    first_error = next((line for line in said.splitlines() if "error:" in line), "")
    requirement = re.search(
        r"own/requirements\.hpp:.*static assertion failed(?: due to requirement '.*')?: (.*)",
        first_error,
    )
    if requirement:
        return _error(
            f"{named}: is no lock that can be measured, for {requirement[1]}, so nothing was "
            "measured; give the class what is missing",
            said,
        )
    if first_error.startswith("--lock "):
        header, name = locks[0].header, locks[0].type_name
        return _error(
            f"{named}: {header} gives no type {name}, so nothing was measured; write the type with "
            "its namespaces and template arguments, as after the headers are included",
            said,
        )
    together = " together" if len(locks) > 1 else ""
    return _error(
        f"{named}: cannot be compiled{together}, so nothing was measured; correct what the "
        "compiler says",
        said,
    )


def of_study(given: Given, study: str, said: str) -> UsageError:
    return _error(
        f"{given}: cannot be compiled in study '{study}', so nothing was measured; correct what "
        "the compiler says",
        said,
    )


def of_link(given: Given, said: str) -> UsageError:
    return _error(
        f"{given}: cannot be linked, so nothing was measured; put what the linker misses into the "
        "header, or name its object or library by --flags",
        said,
    )


def _error(ours: str, said: str) -> UsageError:
    return UsageError(f"{ours}:\n{said}")
