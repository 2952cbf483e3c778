# SPDX-License-Identifier: Apache-2.0
"""A machine's settings in a folder, and the journal of their changes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from fake_settings import a_tree

from lockyard.machine.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lockyard.machine.procfs import KernelFiles


@pytest.fixture
def tree(tmp_path: Path) -> KernelFiles:
    return a_tree(tmp_path)


@pytest.fixture
def kept(tree: KernelFiles) -> Iterator[Journal]:
    with contextlib.closing(Journal(tree, "1.jsonl")) as opened:
        yield opened
