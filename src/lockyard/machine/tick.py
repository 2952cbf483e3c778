# SPDX-License-Identifier: Apache-2.0
"""The kernel's own configuration, as far as it decides when threads are switched."""

from __future__ import annotations

import gzip
import platform
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockyard.machine.procfs import KernelFiles

PACKED = "/proc/config.gz"


def tick_hz(tree: KernelFiles) -> int | None:
    """Returns how often the timer's tick comes in a second, or None if the kernel does not say."""
    found = re.search(r"^CONFIG_HZ=(\d+)$", _configuration(tree), re.MULTILINE)
    return int(found[1]) if found else None


def tickless(tree: KernelFiles) -> str | None:
    """Returns when the tick stops: never (periodic), on idle processors, or wherever possible."""
    found = re.search(
        r"^CONFIG_(HZ_PERIODIC|NO_HZ_IDLE|NO_HZ_FULL)=y$", _configuration(tree), re.MULTILINE
    )
    return found[1].lower() if found else None


def _configuration(tree: KernelFiles) -> str:
    try:
        return gzip.decompress(tree.at(PACKED).read_bytes()).decode(errors="replace")
    except (OSError, EOFError):
        return tree.read(f"/boot/config-{platform.release()}") or ""
