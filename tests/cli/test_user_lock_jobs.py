# SPDX-License-Identifier: Apache-2.0
"""Compilers that run side by side, and whatever ends them."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

import pytest

from lockyard.user_locks import jobs


def test_an_interrupt_while_a_compiler_starts_ends_that_one_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        signal.raise_signal(signal.SIGINT)
        return started[-1]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    try:
        with pytest.raises(KeyboardInterrupt):
            jobs.run_all([["sleep", "60"], ["sleep", "60"]], 50)
        assert [process.returncode for process in started] == [-signal.SIGKILL]
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        for process in started:
            process.kill()


def test_returns_each_output_in_order() -> None:
    commands = [["sh", "-c", "echo one; exit 1"], ["sh", "-c", "echo two >&2"]]
    assert jobs.run_all(commands, 50) == [jobs.Done(False, "one"), jobs.Done(True, "two")]
