# SPDX-License-Identifier: Apache-2.0
"""Finds out whether this process may do what cannot be undone: a child process tries it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

UNKNOWN = 255


def refusal(attempt: Callable[[], None]) -> int | None:
    """Returns the error number that the child got, or None if the attempt was granted."""
    child = os.fork()
    if child == 0:
        error = UNKNOWN
        try:
            attempt()
            error = 0
        except OSError as met:
            error = met.errno or UNKNOWN
        finally:
            os._exit(error)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or None
