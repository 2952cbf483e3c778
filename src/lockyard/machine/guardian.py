# SPDX-License-Identifier: Apache-2.0
"""Changes settings of the whole machine, in a process that outlives lockyard and undoes them.

The process makes the requested changes, reports them, and waits until its standard input ends: when
lockyard closes it, or when lockyard dies, for whatever reason. Then it restores all settings. It
runs in its own session and ignores signals from the terminal.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from lockyard.errors import MissingCapabilityError
from lockyard.machine import cgroup
from lockyard.machine.conditions import AUTOGROUP
from lockyard.machine.procfs import KernelFiles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

UNDO_LIMIT_S = 2 * cgroup.REMOVAL_S
CHANGED_BY_OTHERS = (
    "another lockyard is measuring, or has changed the autogroup setting and not restored it yet, "
    "so nothing was measured; wait for it to end"
)


@contextlib.contextmanager
def changed_machine(
    autogroup: bool | None, quotas_cpus: Collection[float]
) -> Iterator[dict[float, Path]]:
    """Changes the machine for the duration; yields the control group of each quota."""
    with contextlib.ExitStack() as held:
        if autogroup is None:
            held.enter_context(_unchanged_by_others())
        if autogroup is None and not quotas_cpus:
            yield {}
        else:
            yield held.enter_context(_guarded(autogroup, quotas_cpus))


@contextlib.contextmanager
def _guarded(autogroup: bool | None, quotas_cpus: Collection[float]) -> Iterator[dict[float, Path]]:
    wanted = json.dumps({"autogroup": autogroup, "quotas_cpus": sorted(quotas_cpus)})
    guardian = subprocess.Popen(
        [sys.executable, "-P", "-m", "lockyard.machine.guardian", wanted],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        answer = json.loads(cast("IO[bytes]", guardian.stdout).readline() or "{}")
        if "groups" not in answer:
            raise MissingCapabilityError(
                answer.get("error", "the guardian ended without an answer")
            )
        yield dict(zip(sorted(quotas_cpus), map(Path, answer["groups"]), strict=True))
    finally:
        cast("IO[bytes]", guardian.stdin).close()
        cast("IO[bytes]", guardian.stdout).close()
        status = _end_of(guardian)
    if status != 0:
        raise MissingCapabilityError(
            f"the machine's settings could not be restored ({wanted}); check {AUTOGROUP} and "
            "control groups named lockyard.*"
        )


def _end_of(guardian: subprocess.Popen[bytes]) -> int:
    try:
        return guardian.wait(UNDO_LIMIT_S)
    except subprocess.TimeoutExpired:
        return -1


@contextlib.contextmanager
def _unchanged_by_others() -> Iterator[None]:
    """Keeps other guardians from changing settings that this measurement relies on."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(FileNotFoundError, PermissionError):
            setting = held.enter_context(AUTOGROUP.open())
            try:
                fcntl.flock(setting, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise MissingCapabilityError(CHANGED_BY_OTHERS) from None
        yield


class _RefusedError(Exception):
    """The message names cause and remedy."""


def _set_autogroup(wanted: bool, undo: contextlib.ExitStack) -> None:
    """Changes the setting, locked so that no other guardian saves our value as the original."""
    try:
        setting = undo.enter_context(AUTOGROUP.open("r+"))
        fcntl.flock(setting, fcntl.LOCK_EX | fcntl.LOCK_NB)
        before = setting.read().strip()
        undo.callback(AUTOGROUP.write_text, before)
        AUTOGROUP.write_text(str(int(wanted)))
    except BlockingIOError:
        raise _RefusedError(CHANGED_BY_OTHERS) from None
    except OSError as error:
        raise _RefusedError(
            f"{AUTOGROUP} cannot be changed ({error.strerror}), so nothing was measured; run as "
            "root, or drop --autogroup"
        ) from None


def _guard(autogroup: bool | None, quotas_cpus: list[float]) -> None:
    with contextlib.ExitStack() as undo:
        try:
            if autogroup is not None:
                _set_autogroup(autogroup, undo)
            groups = []
            for quota_cpus in quotas_cpus:
                groups.append(cgroup.create(quota_cpus, KernelFiles()))
                undo.callback(cgroup.remove, groups[-1])
        except (_RefusedError, cgroup.CgroupError) as error:
            print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201
            return
        print(json.dumps({"groups": [str(group) for group in groups]}), flush=True)  # noqa: T201
        sys.stdin.buffer.read()


def main() -> None:
    for sent_by_terminals_and_managers in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sent_by_terminals_and_managers, signal.SIG_IGN)
    wanted = json.loads(sys.argv[1])
    try:
        _guard(wanted["autogroup"], wanted["quotas_cpus"])
    except OSError as error:
        print(f"lockyard: settings were not restored: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)


if __name__ == "__main__":
    main()
