# SPDX-License-Identifier: Apache-2.0
"""lockyard run: a program with a lock of the catalogue in place of its pthread mutexes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from lockyard.field_kit import preload, sites

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.field_kit.preload import Reported


def run(command: Sequence[str], lock: str, condition: str, only: str, quiet: bool) -> int:
    """Returns the program's exit status. A signal that ends the program ends this process, too."""
    settings = dict(preload.settings_of(condition))
    if only and command:
        settings["LOCKYARD_ONLY"] = sites.setting(command[0], only)
    launch = preload.Launch(command, lock, settings)
    with preload.report_file() as reports:
        status = preload.run_as_one(launch, reports)
        reported = preload.read_reports(reports)
    launch.check(reported)
    if not quiet:
        print(f"lockyard: {summary(lock, only, reported)}", file=sys.stderr)  # noqa: T201
    return preload.end_as(status)


def summary(lock: str, only: str, reported: Reported) -> str:
    count = len(reported.processes)
    parts = [f"{lock} in {count} process{'es' if count != 1 else ''}"]
    if only and reported.chosen:
        parts.append(f"mutexes of {only}: {reported.chosen}")
    elif only:
        parts.append(
            f"no mutex was swapped, because {only} neither is one nor initialises or first "
            "acquires one"
        )
    passed = ", ".join(
        f"{reported.passed[kind]} {kind}" for kind in preload.PASSED if reported.passed[kind]
    )
    if passed:
        parts.append(f"mutexes that stayed glibc's: {passed}")
    parts.append(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors")
    return "; ".join(parts)
