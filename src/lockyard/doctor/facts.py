# SPDX-License-Identifier: Apache-2.0
"""Collects, once, everything that the checks look at. Nothing here changes a setting."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import struct
import subprocess
import time
from dataclasses import dataclass, field
from typing import Any

from lockyard import harness
from lockyard.doctor.sample import Sample, take
from lockyard.errors import LockyardError
from lockyard.machine import environment
from lockyard.machine.probe import refusal
from lockyard.machine.procfs import KernelFiles
from lockyard.user_locks import toolchain

SAMPLE_S = 0.15
# The number of the system call, and its commands: register for barriers, execute one.
MEMBARRIER = {"x86_64": 324, "aarch64": 283}
PRIVATE_EXPEDITED = (1 << 4, 1 << 3)
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
TOOLS = {
    "g++": ("g++", "-dumpfullversion"),
    "cmake": ("cmake", "--version"),
    "pkg-config": ("pkg-config", "--version"),
}


@dataclass(frozen=True)
class Facts:
    kernel: KernelFiles = field(default_factory=KernelFiles)
    described: dict[str, Any] = field(default_factory=dict)
    # The harness's description of clock and topology, or else the reason why there is none.
    harness: dict[str, Any] | None = None
    harness_problem: str = ""
    # The error number that a child process got when it asked; None if the request was granted.
    fifo_refusal: int | None = None
    nice_refusal: int | None = None
    membarrier_refusal: int | None = None
    perf_refusal: int | None = None
    tools: dict[str, str] = field(default_factory=dict)
    # The compiler that --lock would use, or the reason why there is none.
    user_locks_compiler: str = ""
    user_locks_problem: str = ""
    before: Sample = field(default_factory=Sample)
    after: Sample = field(default_factory=Sample)

    @property
    def is_root(self) -> bool:
        return self.status("Uid").split()[:2] == ["0", "0"]

    def status(self, key: str) -> str:
        for line in (self.kernel.read("/proc/self/status") or "").splitlines():
            name, _, value = line.partition(":")
            if name == key:
                return value.strip()
        return ""

    def has_capability(self, bit: int) -> bool:
        """Checks a capability; root of a user namespace has none that counts outside of it."""
        inside = (self.kernel.read("/proc/self/uid_map") or "0 0 4294967295").split()
        is_initial = inside == ["0", "0", "4294967295"]
        return is_initial and bool(int(self.status("CapEff") or "0", 16) >> bit & 1)

    def as_root(self, command: str) -> str:
        return command if self.is_root else f"sudo {command}"

    def write(self, value: object, path: str) -> str:
        """Returns the command that writes a value to each file that the pattern matches."""
        return f"echo {value} | {self.as_root(f'tee {path}')}"


def collect(kernel: KernelFiles | None = None) -> Facts:
    """Collects the facts. The sample comes last, when no other process of ours runs."""
    kernel = kernel or KernelFiles()
    asked, problem = _ask_harness()
    own_compiler, own_problem = _ask_toolchain()
    facts = Facts(
        kernel=kernel,
        described=environment.describe(kernel),
        harness=asked,
        harness_problem=problem,
        fifo_refusal=refusal(
            lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        ),
        nice_refusal=refusal(lambda: os.setpriority(os.PRIO_PROCESS, 0, -1)),
        membarrier_refusal=refusal(_order_all_cores),
        perf_refusal=refusal(_record_switches),
        tools={name: found for name in TOOLS if (found := _version(name)) is not None},
        user_locks_compiler=own_compiler,
        user_locks_problem=own_problem,
        before=take(kernel),
    )
    time.sleep(SAMPLE_S)
    return Facts(**{**vars(facts), "after": take(kernel)})


def _ask_harness() -> tuple[dict[str, Any] | None, str]:
    try:
        return harness.ask("--environment"), ""
    except (LockyardError, OSError, ValueError, subprocess.SubprocessError) as error:
        return None, str(error).strip()


def _ask_toolchain() -> tuple[str, str]:
    try:
        return toolchain.check_all(), ""
    except LockyardError as error:
        return "", str(error)


def _order_all_cores() -> None:
    """Executes a barrier on all cores, with the same system call as the mutex."""
    libc = ctypes.CDLL(None, use_errno=True)
    for command in PRIVATE_EXPEDITED:
        if libc.syscall(MEMBARRIER[platform.machine()], command, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "membarrier")


def _record_switches() -> None:
    """Asks for the records of its own context switches that a trace has."""
    software, dummy = 1, 9
    disabled, exclude_kernel, exclude_hv, context_switch = 1, 1 << 5, 1 << 6, 1 << 26
    flags = disabled | exclude_kernel | exclude_hv | context_switch
    attributes = struct.pack("=IIQQQQQ", software, 64, dummy, 0, 0, 0, flags).ljust(64, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(PERF_EVENT_OPEN[platform.machine()], attributes, 0, -1, -1, 0) < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open")


def _version(tool: str) -> str | None:
    """Returns the tool's version, or None if the tool is missing or does not answer."""
    name, option = TOOLS[tool]
    path = shutil.which(name)
    if path is None:
        return None
    try:
        said = subprocess.run(
            [path, option], capture_output=True, text=True, timeout=5, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return next((word for word in said.split() if word[0].isdigit()), None)
