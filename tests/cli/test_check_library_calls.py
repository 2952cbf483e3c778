# SPDX-License-Identifier: Apache-2.0
"""Calls of functions that the checker does not know count while there are other threads."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(120)

PROGRAM = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int n;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *unused) {
  pthread_mutex_lock(&guard);
  n++;
  pthread_mutex_unlock(&guard);
  WITHIN;
  return unused;
}
int main(int argc, char **argv) {
  BEFORE;
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  AFTER;
  return argc > 99 ? sscanf(argv[1], "%d", &n) : 0;
}
"""


def executions(path: Path, environment: dict[str, str], **parts: str) -> int:
    text = PROGRAM
    for name in ("WITHIN", "BEFORE", "AFTER"):
        text = text.replace(name, parts.get(name.lower(), ""))
    program = path / "program.c"
    program.write_text(text)
    checked = subprocess.run(
        [COMMAND, "check", "--client", program.name, "--json", "--seconds", "30"],
        cwd=path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=environment,
    )
    found = json.loads(checked.stdout)
    assert found["verdict"] == "passed", checked.stderr
    return int(found["executions"])


def test_counts_no_call_of_the_only_thread(tmp_path: Path, environment: dict[str, str]) -> None:
    plain = executions(tmp_path, environment)
    call = 'if (getenv("LOCKYARD_NAME")) n = 0'
    assert executions(tmp_path, environment, before=call) == plain
    assert executions(tmp_path, environment, after=call) == plain
    assert executions(tmp_path, environment, within='if (unused) getenv("HOME")') == plain
    assert executions(tmp_path, environment, within='if (unused) fprintf(stderr, "more")') == plain


def test_counts_a_call_that_a_thread_makes(tmp_path: Path, environment: dict[str, str]) -> None:
    plain = executions(tmp_path, environment)
    assert executions(tmp_path, environment, within='getenv("HOME")') > plain
