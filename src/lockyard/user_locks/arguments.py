# SPDX-License-Identifier: Apache-2.0
"""The options for user locks, which `lockyard measure` and `lockyard check` share."""

from __future__ import annotations

from typing import Annotated

from lockyard.cli import completions
from lockyard.cli.command import option, options_class
from lockyard.user_locks.lock_spec import UserLocks, user_locks_of

PANEL = "A lock of your own"

Include = Annotated[
    list[str] | None,
    option(
        "DIR",
        "Folder to search for your headers; repeat the option for more folders.",
        shown=False,
        complete=completions.folders,
        panel=PANEL,
    ),
]
Flags = Annotated[
    str,
    option(
        "FLAGS",
        "Flags for its compiler and linker, after the harness's own: '-march=native -DFOO'.",
        shown=False,
        panel=PANEL,
    ),
]


@options_class
class UserLockOptions:
    lock: Annotated[
        list[str] | None,
        option(
            "HEADER:TYPE",
            "Compile the studies for your own lock type and measure it too, as in "
            "my/lock.hpp:my::lock; repeat the option for more locks.",
            shown=False,
            complete=completions.headers,
            panel=PANEL,
        ),
    ] = None
    include: Include = None
    flags: Flags = ""

    @property
    def user_locks(self) -> UserLocks | None:
        return user_locks_of(self.lock or (), self.include or (), self.flags)
