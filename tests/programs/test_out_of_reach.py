# SPDX-License-Identifier: Apache-2.0
"""Programs of musl and Go are refused, and a full disk costs records and not the program."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND
from contended_programs import compiled

from lockyard.field_kit import preload

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.deep, pytest.mark.timeout(300)]

PATIENCE_S = 120
LOCKS = """
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void) { return pthread_mutex_lock(&lock) + pthread_mutex_unlock(&lock); }
"""
GO = """package main

%s

func main() { println("ran") }
"""


def tool(name: str, package: str) -> str:
    found = shutil.which(name) or shutil.which(f"/usr/local/go/bin/{name}")
    if found is None:
        pytest.skip(f"{name} is not installed: apt install {package}")
    return found


def refused(program: Path, why: str) -> None:
    subprocess.run([program], check=True, capture_output=True, timeout=PATIENCE_S)
    for command in ("run", "profile", "guard"):
        shown = subprocess.run(
            [COMMAND, command, "--", program],
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert (shown.returncode, shown.stdout) == (3, "")
        assert why in shown.stderr


@pytest.mark.parametrize(("flags", "why"), [((), "uses musl"), (("-static",), "linked statically")])
def test_programs_of_musl_are_refused(tmp_path: Path, flags: tuple[str, ...], why: str) -> None:
    source, program = tmp_path / "locks.c", tmp_path / "locks"
    source.write_text(LOCKS)
    command = [tool("musl-gcc", "musl-tools"), *flags, source, "-o", program]
    subprocess.run(command, check=True, timeout=PATIENCE_S)
    refused(program, why)


@pytest.mark.parametrize(("with_c", "imports"), [("0", ""), ("1", 'import "C"')])
def test_programs_of_go_are_refused(tmp_path: Path, with_c: str, imports: str) -> None:
    go, program = tool("go", "golang-go"), tmp_path / "program"
    (tmp_path / "main.go").write_text(GO % imports)
    (tmp_path / "go.mod").write_text("module example\n")
    subprocess.run(
        [go, "build", "-o", program, "."], cwd=tmp_path, check=True, timeout=PATIENCE_S,
        env={**os.environ, "CGO_ENABLED": with_c, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"},
    )  # fmt: skip
    refused(program, "is a Go program")


def test_a_full_disk_costs_records_only(tmp_path: Path) -> None:
    contended = compiled(tmp_path / "contended-threads")
    (disk := tmp_path / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=320k", "tmpfs", disk]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("this user may not mount a small disk")
    try:
        environment = {
            **os.environ, "LD_PRELOAD": str(preload.recorder()), "LOCKYARD_RECORDS": str(disk),
        }  # fmt: skip
        for _ in range(3):  # the third finds no room at all
            subprocess.run(
                [contended, "convoy", "2000"], env=environment, check=True, timeout=PATIENCE_S
            )
        with pytest.raises(OSError, match="No space left"):
            (disk / "rest").write_bytes(bytes(1 << 20))
        command = [COMMAND, "profile", "-o", disk / "profile", "--", contended, "asleep", "3"]
        shown = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert shown.returncode == 3
        assert "cannot be written (No space left on device)" in shown.stderr
        assert "want_account" in shown.stderr  # the profile itself is shown
    finally:
        subprocess.run(["umount", disk], check=True, timeout=PATIENCE_S)
