# SPDX-License-Identifier: Apache-2.0
"""Changes settings of the whole machine, in a process that outlives lockyard and undoes them.

The process makes the requested changes, reports them, and waits until its standard input ends: when
lockyard closes it, or when lockyard dies, for whatever reason. Then it restores all settings. It
runs in its own session and ignores signals from the terminal. A second process waits for its end
and undoes what it left; what both leave, the next lockyard undoes (`journal`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from lockyard.errors import MissingCapabilityError
from lockyard.machine import cgroup
from lockyard.machine.arrangement import Arrangement
from lockyard.machine.change import RefusedError
from lockyard.machine.conditions import AUTOGROUP
from lockyard.machine.journal import Journal, own_name, recover, remedy
from lockyard.machine.procfs import KernelFiles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

UNDO_LIMIT_S = 2 * cgroup.REMOVAL_S
CHANGED_BY_OTHERS = (
    "another lockyard is measuring, or has changed the autogroup setting and not restored it yet, "
    "so nothing was measured; wait for it to end"
)


Machine = tuple[tuple[str, str], ...]


@dataclass
class Guarded:
    """The machine in the hands of a guardian, or as it is."""

    cgroups: dict[float, Path] = field(default_factory=dict)  # the control group of each quota
    _guardian: subprocess.Popen[bytes] | None = None
    _now: Machine = ()
    _group: Path | None = None  # that isolated runs join

    def arrange(self, wanted: Machine) -> Path | None:
        """Brings these settings about, and takes all others back; returns the control group that
        runs have to join, if any. Raises MissingCapabilityError if a setting is refused."""
        if wanted == self._now and (not wanted or self._is_alive()):
            return self._group
        answer = self._ask({"settings": wanted})
        if "error" in answer:
            raise MissingCapabilityError(f"{answer['error']}; nothing was measured under it")
        self._now = wanted
        self._group = Path(answer["group"]) if answer.get("group") else None
        return self._group

    def _is_alive(self) -> bool:
        if self._guardian is None or self._guardian.poll() is None:
            return True
        raise MissingCapabilityError(
            "the process that changed the machine's settings was killed, and they were restored, "
            "so the runs since then may have the wrong ones; measure again"
        )

    def _ask(self, what: dict[str, Any]) -> dict[str, Any]:
        if self._guardian is None:
            return {"error": "no guardian was started"}
        with contextlib.suppress(BrokenPipeError):
            cast("IO[bytes]", self._guardian.stdin).write(json.dumps(what).encode() + b"\n")
            cast("IO[bytes]", self._guardian.stdin).flush()
        found: dict[str, Any] = _answer_of(self._guardian)
        return found


def _answer_of(guardian: subprocess.Popen[bytes]) -> dict[str, Any]:
    said = cast("IO[bytes]", guardian.stdout).readline()
    found: dict[str, Any] = json.loads(said or '{"error": "the guardian ended without an answer"}')
    return found


@contextlib.contextmanager
def changed_machine(
    autogroup: bool | None, quotas_cpus: Collection[float], has_settings: bool = False
) -> Iterator[Guarded]:
    """Changes the machine for the duration."""
    with contextlib.ExitStack() as held:
        if autogroup is None:
            held.enter_context(_unchanged_by_others())
        if autogroup is None and not quotas_cpus and not has_settings:
            yield Guarded()
        else:
            yield held.enter_context(_guarded(autogroup, quotas_cpus, has_settings))


@contextlib.contextmanager
def _guarded(
    autogroup: bool | None, quotas_cpus: Collection[float], has_settings: bool
) -> Iterator[Guarded]:
    wanted = json.dumps(
        {"autogroup": autogroup, "quotas_cpus": sorted(quotas_cpus), "settings": has_settings}
    )
    guardian = subprocess.Popen(
        [sys.executable, "-P", "-m", "lockyard.machine.guardian", wanted],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        answer = _answer_of(guardian)
        if "groups" not in answer:
            raise MissingCapabilityError(answer["error"])
        groups = map(Path, answer["groups"])
        yield Guarded(dict(zip(sorted(quotas_cpus), groups, strict=True)), guardian)
    finally:
        with contextlib.suppress(BrokenPipeError):
            cast("IO[bytes]", guardian.stdin).close()
        cast("IO[bytes]", guardian.stdout).close()
        status = _end_of(guardian)
    if status != 0:
        raise MissingCapabilityError(
            f"the machine's settings could not be restored ({wanted}); check {AUTOGROUP} and "
            "control groups named lockyard.*, and run: lockyard doctor --undo"
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


def _set_autogroup(wanted: bool, undo: contextlib.ExitStack) -> None:
    """Changes the setting, locked so that no other guardian saves our value as the original."""
    try:
        setting = undo.enter_context(AUTOGROUP.open("r+"))
        fcntl.flock(setting, fcntl.LOCK_EX | fcntl.LOCK_NB)
        before = setting.read().strip()
        undo.callback(AUTOGROUP.write_text, before)
        AUTOGROUP.write_text(str(int(wanted)))
    except BlockingIOError:
        raise RefusedError(CHANGED_BY_OTHERS) from None
    except OSError as error:
        raise RefusedError(
            f"{AUTOGROUP} cannot be changed ({error.strerror}), so nothing was measured; run as "
            "root, or drop --autogroup"
        ) from None


def _guard(autogroup: bool | None, quotas_cpus: list[float], has_settings: bool) -> None:
    with contextlib.ExitStack() as undo:
        try:
            arrangement = undo.enter_context(_arrangement()) if has_settings else None
            if autogroup is not None:
                _set_autogroup(autogroup, undo)
            groups = []
            for quota_cpus in quotas_cpus:
                groups.append(cgroup.create(quota_cpus, KernelFiles()))
                undo.callback(cgroup.remove, groups[-1])
        except (RefusedError, cgroup.CgroupError) as error:
            _say({"error": str(error)})
            return
        _say({"groups": [str(group) for group in groups]})
        for line in sys.stdin.buffer:
            _say(_arranged(arrangement, json.loads(line)["settings"]))


@contextlib.contextmanager
def _arrangement() -> Iterator[Arrangement]:
    """Makes the journal and the process that watches over it, before anything is changed."""
    try:
        kept = Journal(KernelFiles(), own_name())
    except OSError as error:
        raise RefusedError(
            f"settings of the machine cannot be changed, because the undo journal cannot be "
            f"written ({error.strerror}), so nothing was measured; {remedy(error)}"
        ) from None
    with contextlib.closing(kept):
        for problem in recover(kept.tree):
            print(f"lockyard: settings of an earlier run: {problem}", file=sys.stderr)  # noqa: T201
        _watch_over(kept)
        with contextlib.closing(Arrangement(kept)) as arrangement:
            yield arrangement


def _arranged(arrangement: Arrangement | None, wanted: Sequence[tuple[str, str]]) -> dict[str, Any]:
    if arrangement is None:
        return {"error": "the guardian was started without settings"}
    try:
        group = arrangement.arrange(dict(wanted))
    except RefusedError as refusal:
        return {"error": str(refusal)}
    return {"group": str(group) if group else None}


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)  # noqa: T201


def _watch_over(kept: Journal) -> None:
    """Starts the second process. It ends when this one has, and undoes what this one left."""
    reading, writing = os.pipe()
    if os.fork() != 0:
        os.close(reading)  # the other end stays open for as long as this process lives
        return
    status = 1
    try:
        os.close(writing)
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        os.read(reading, 1)
        status = bool(kept.undo())
        kept.close()
    finally:
        os._exit(status)


def main() -> None:
    for sent_by_terminals_and_managers in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sent_by_terminals_and_managers, signal.SIG_IGN)
    wanted = json.loads(sys.argv[1])
    try:
        _guard(wanted["autogroup"], wanted["quotas_cpus"], wanted["settings"])
    except OSError as error:
        print(f"lockyard: settings were not restored: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)


if __name__ == "__main__":
    main()
