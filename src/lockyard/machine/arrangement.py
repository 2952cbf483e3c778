# SPDX-License-Identifier: Apache-2.0
"""The settings that are in force for a while: changed exactly as wanted, or not at all."""

from __future__ import annotations

import contextlib
import os
import struct
from typing import TYPE_CHECKING

from lockyard.machine import isolation
from lockyard.machine.change import RefusedError
from lockyard.machine.settings import AS_FOUND, HELD, ISOLATION, nanoseconds, planned

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lockyard.machine.change import Change
    from lockyard.machine.journal import Journal


class Arrangement:
    """What the journal's owner has changed. Closing it takes everything back."""

    def __init__(self, kept: Journal) -> None:
        self._kept = kept
        self._held: int | None = None  # the request for a short latency, in force while it is open

    def arrange(self, wanted: Mapping[str, str]) -> Path | None:
        """Takes everything back and brings these settings about; returns the group to join. Raises
        RefusedError, and then no setting is in force."""
        self.take_back()
        try:
            return self._make(wanted)
        except RefusedError:
            self.take_back()
            raise

    def _make(self, wanted: Mapping[str, str]) -> Path | None:
        group = None
        for name, value in wanted.items():
            if value == AS_FOUND:
                continue
            if name == ISOLATION:
                group = self._isolate(value)
            elif name == "idle_states" and self._kept.tree.exists(HELD):
                self._hold_latency(value)
            else:
                for change in planned(self._kept.tree, name, value):
                    make(self._kept, change)
        return group

    def _isolate(self, value: str) -> Path:
        plan = isolation.planned(self._kept.tree, value)
        for each in plan.groups:
            self._kept.note_group(each)
        plan.make()
        return plan.group

    def _hold_latency(self, value: str) -> None:
        """Requests that idle processors wake up within a time; `off` is at once. The kernel drops
        the request when this process ends, so it needs no journal."""
        if value == "on":
            return
        wanted_us = 0 if value == "off" else nanoseconds(value) // 1000
        try:
            self._held = os.open(self._kept.tree.at(HELD), os.O_RDWR)
            os.write(self._held, struct.pack("i", wanted_us))
            found_us = struct.unpack("i", os.pread(self._held, 4, 0))[0]
        except OSError as error:
            raise RefusedError(
                f"idle_states={value}: {HELD} cannot be used ({error.strerror}); run as root"
            ) from None
        if found_us > wanted_us:
            raise RefusedError(
                f"idle_states={value}: the kernel keeps {found_us} µs instead of {wanted_us} µs"
            )

    def take_back(self) -> None:
        """Raises RefusedError if something could not be restored."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
        problems = self._kept.undo()
        if problems:
            raise RefusedError(f"settings were not restored: {'; '.join(problems)}")

    def close(self) -> None:
        try:
            self.take_back()
        except RefusedError as error:
            raise OSError(str(error)) from None


def make(kept: Journal, change: Change) -> None:
    """Makes a change and reads it back. Raises RefusedError."""
    tree = kept.tree
    try:
        kept.apply(change)
    except OSError as error:
        raise RefusedError(
            f"{change.setting}: {change.path} cannot be set to {change.after} ({error.strerror}); "
            + ("run as root" if os.geteuid() != 0 else "this kernel or its host does not permit it")
        ) from None
    if not change.is_in_force(tree):
        with contextlib.suppress(OSError):
            found = tree.read(change.path)
        raise RefusedError(
            f"{change.setting}: {change.path} is {found} instead of {change.after}; the kernel "
            "granted something else"
        )
