# SPDX-License-Identifier: Apache-2.0
"""Files that lockyard writes for its users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.errors import MissingCapabilityError

if TYPE_CHECKING:
    from pathlib import Path


def replace_file(path: Path, content: bytes, consequence: str) -> None:
    """Writes the file next to its place, then moves it there, so that no reader sees a part. A
    device or a pipe is written to, and stays."""
    is_in_place = path.exists() and not path.is_file()
    path = path if is_in_place else path.resolve()
    partial = path if is_in_place else path.with_name(f".{path.name}.partial")
    try:
        partial.write_bytes(content)
        if not is_in_place:
            partial.replace(path)
    except OSError as error:
        if not is_in_place:
            partial.unlink(missing_ok=True)
        raise MissingCapabilityError(
            f"{path} cannot be written ({error.strerror}), {consequence}; name a file in a folder "
            "with space and permission"
        ) from error
