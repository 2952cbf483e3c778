# SPDX-License-Identifier: Apache-2.0
"""Checks of locks in a header that a test writes."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

# Letters as in the argument of `--replay`.
FLAGS = {"tries": "t", "timed": "w", "destroys": "d"}


def check(
    header: Path, locks: Iterable[str], environment: Mapping[str, str], *more: str
) -> subprocess.CompletedProcess[str]:
    """Runs `lockyard check` for classes of the namespace `my`."""
    named = [word for each in locks for word in ("--lock", f"{header.name}:my::{each}")]
    return subprocess.run(
        [COMMAND, "check", *named, "--json", *more],
        cwd=header.parent,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
        env=environment,
    )


def results(checked: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert checked.stdout, checked.stderr
    return [json.loads(line) for line in checked.stdout.splitlines()]


def size_of(check: dict[str, Any]) -> str:
    """Returns the short form of the client's size, as in 3x1t."""
    size = check["size"]
    flags = "".join(letter for field, letter in FLAGS.items() if size[field])
    return f"{size['threads']}x{size['acquisitions']}{flags}"
