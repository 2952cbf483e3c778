#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares uncontended pair costs by the headers of this tree with those by another commit's.

The same program is compiled twice. Each block runs both, in alternating order; the ratio of a block
is this tree's time by the commit's. Prints medians and the ratio with its 95 % interval.
`std::mutex` and `ttas_spinlock` are the controls: their code is the same in both.

    tools/pair_cost.py 3343a4b --blocks 60
"""

from __future__ import annotations

import argparse
import io
import statistics
import subprocess
import tarfile
import tempfile
from pathlib import Path

from lockyard.stats import ratio_of

ROOT = Path(__file__).parents[1]


def compiled(include: Path, binary: Path) -> Path:
    flags = ["-std=c++20", "-O2", "-DNDEBUG", f"-I{include}", "-pthread"]
    source = str(ROOT / "tools/pair_cost.cpp")
    subprocess.run(["c++", *flags, source, "-o", str(binary)], check=True, timeout=120)
    return binary


def headers_of(commit: str, place: Path) -> Path:
    packed = subprocess.run(
        ["git", "-C", ROOT, "archive", commit, "include"],
        check=True,
        capture_output=True,
        timeout=60,
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(place, filter="data")
    return place / "include"


def costs(binary: Path) -> dict[str, float]:
    shown = subprocess.run([binary], check=True, capture_output=True, text=True, timeout=60).stdout
    rows = (line.split() for line in shown.splitlines())
    return {name: float(ns) for name, ns in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", help="the commit with the headers to compare this tree's with")
    parser.add_argument("--blocks", type=int, default=60)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        new = compiled(ROOT / "include", place / "new")
        old = compiled(headers_of(chosen.commit, place), place / "old")
        blocks = []
        for block in range(chosen.blocks):
            if block % 2:
                before = costs(old)
                after = costs(new)
            else:
                after = costs(new)
                before = costs(old)
            blocks.append((after, before))
    print(f"{'':24} {'this tree':>10} {chosen.commit[:10]:>10}   ratio [95 %]")
    for name in blocks[0][0]:
        ratio = ratio_of([after[name] / before[name] for after, before in blocks])
        if ratio is None:
            parser.error("--blocks 0 compares nothing: ask for 6 or more")
        after_ns = statistics.median(after[name] for after, _ in blocks)
        before_ns = statistics.median(before[name] for _, before in blocks)
        bounds = f"[{ratio.low:.3f}, {ratio.high:.3f}]" if ratio.low and ratio.high else "too few"
        print(f"{name:24} {after_ns:7.2f} ns {before_ns:7.2f} ns   {ratio.median:.3f} {bounds}")


if __name__ == "__main__":
    main()
