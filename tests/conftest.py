# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warm_command import WarmCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

pytest_plugins = ("fake_settings", "pages")

# A job in the background of a shell ignores it, and so would the commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

COMMAND = Path(sys.executable).with_name("lockyard")

Outcome = subprocess.CompletedProcess[str]


def as_nobody(*command: str | Path) -> list[str | Path]:
    """Returns a command that runs without privileges, as another user if this user is root."""
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Returns the folder in which the command keeps records without --out."""
    return tmp_path / "state"


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the cache of all tests, in all their processes: what one test has compiled, the
    others find."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "builds"


@pytest.fixture
def environment(state: Path, builds: Path) -> dict[str, str]:
    return {
        **os.environ,
        "XDG_STATE_HOME": str(state),
        "XDG_CACHE_HOME": str(builds),
        "COLUMNS": "80",
    }


@pytest.fixture(scope="session")
def warm_command() -> Iterator[WarmCommand]:
    command = WarmCommand(COMMAND)
    yield command
    command.close()


@pytest.fixture
def lockyard(environment: dict[str, str], warm_command: WarmCommand) -> Callable[..., Outcome]:
    """Runs the installed command and gives back what it printed and how it ended."""

    def run(*arguments: str, extra: Mapping[str, str] | None = None) -> Outcome:
        # Python and the linker read these before anything else.
        if not any(name.startswith(("LD_", "PYTHON")) for name in extra or {}):
            return warm_command.run(arguments, {**environment, **(extra or {})}, 100)
        return subprocess.run(
            [COMMAND, *arguments],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            env={**environment, **(extra or {})},
        )

    return run


@pytest.fixture
def fake_harness(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """An environment in which the harness is the real one but for what `job` does with a job.

    `job` is shell text that sees the job as $job and may fall through to the real harness.
    """

    def make(job: str) -> dict[str, str]:
        from lockyard.harness import harness_path

        path = tmp_path / "harness"
        path.write_text(
            "#!/bin/sh\n"
            f"real='{harness_path()}'\n"
            '[ $# -eq 0 ] || exec "$real" "$@"\n'
            "while read -r job; do\n"
            f"{job}\n"
            'printf "%s\\n" "$job" | "$real" || exit $?\n'
            "done\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return {"LOCKYARD_HARNESS": str(path)}

    return make


@pytest.fixture
def fake_checker(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """An environment in which the checker is the real one but for what `job` does with a job.

    `job` is Python that sees the job as `job`, may change it, may print an answer and `continue`;
    `real(job)` is what the real checker answers last.
    """

    def make(job: str) -> dict[str, str]:
        from lockyard.checker import checker_path

        path = tmp_path / "checker"
        path.write_text(
            f"#!{sys.executable}\n"
            "import json, os, signal, subprocess, sys, time\n"
            "def real(job):\n"
            f"    answered = subprocess.run(['{checker_path()}'], input=json.dumps(job),\n"
            "        capture_output=True, text=True, timeout=60, check=True)\n"
            "    return json.loads(answered.stdout.splitlines()[-1])\n"
            "for line in sys.stdin:\n"
            "    job = json.loads(line)\n" + textwrap.indent(textwrap.dedent(job), "    ") + "\n"
            "    print(json.dumps(real(job)), flush=True)\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return {"LOCKYARD_CHECKER": str(path)}

    return make
