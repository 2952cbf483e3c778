# SPDX-License-Identifier: Apache-2.0
"""Optional parts: what is missing without them, and the command that installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lockyard.errors import MissingCapabilityError


def optional(module: str, extra: str, consequence: str) -> Any:
    """Returns the module of an extra. `consequence` says what cannot be done without it, and may
    name what still works."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise  # a part of the module itself is missing
        raise MissingCapabilityError(
            f"{module} is not installed, so {consequence}; pip install 'lockyard[{extra}]'"
        ) from None
