# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write_whole(path: Path, parts: Iterable[bytes], what: str) -> None:
    """Writes the file next to its place, then moves it there."""
    beside = path.with_name(f".{path.name}.partial")
    try:
        with beside.open("wb") as file:
            file.writelines(parts)
        beside.replace(path)
    except OSError as error:
        if beside.is_file():
            beside.unlink()
        raise MissingCapabilityError(
            f"{path}: {what} cannot be written ({error.strerror}), so there is none; name a file "
            "in a folder with space and permission"
        ) from None
