# SPDX-License-Identifier: Apache-2.0
"""The example of contention hooks names the functions that wait."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "contention"
LINE = re.compile(r" *\d+ +(\d+\.\d)  (\S+)\+(0x[0-9a-f]+) \((\S+)\)")


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_prints_the_places_that_wait(tmp_path: Path) -> None:
    flags = "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
    folder = f"-DLOCKYARD_FOLDER={ROOT}"
    run("cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", tmp_path, folder, flags)
    run("cmake", "--build", tmp_path)
    lines = run(tmp_path / "shop").splitlines()
    titles = [at for at, line in enumerate(lines) if line.split()[:2] == ["waits", "waited"]]
    assert len(titles) == 2
    last = lines[titles[1] + 1 :]
    assert 1 <= len(last) <= 5
    sites = [LINE.fullmatch(line) for line in last]
    assert all(sites), last
    found = [site for site in sites if site]
    assert {site[2] for site in found} == {str(tmp_path / "shop")}
    assert {site[4] for site in found} & {"_Z7restockv", "_Z4sellv"}
    waited = [float(site[1]) for site in found]
    assert waited == sorted(waited, reverse=True)
    source = run("addr2line", "-Cfie", tmp_path / "shop", found[0][3])
    assert "main.cpp:" in source
