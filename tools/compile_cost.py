#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the processor time that compiling a mutex takes with the time for std::mutex.

Each block compiles both, in alternating order. Prints the least times of both, and the median ratio
with its 95 % interval.

    tools/compile_cost.py --blocks 12
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from lockyard.stats import ratio_of

ROOT = Path(__file__).parents[1]
OBJECT = ("-O2", "-c", "-o", os.devnull)
HEADER, STANDARD_HEADER = "#include <lockyard/park/mutex.hpp>\n", "#include <mutex>\n"
USE = "{} m;\nint n;\nvoid add() {{\n  m.lock();\n  ++n;\n  m.unlock();\n}}\n"
OURS, STANDARD = HEADER + USE.format("lockyard::mutex"), STANDARD_HEADER + USE.format("std::mutex")
ELSEWHERE = "extern template class lockyard::basic_mutex<>;\n"
CASES = {
    "header, parsed": (HEADER, STANDARD_HEADER, ("-fsyntax-only",)),
    "header, compiled": (HEADER, STANDARD_HEADER, OBJECT),
    "use, compiled": (OURS, STANDARD, OBJECT),
    "use, slow paths elsewhere": (OURS.replace(HEADER, HEADER + ELSEWHERE), STANDARD, OBJECT),
}


def cost_s(source: str, flags: tuple[str, ...]) -> float:
    command = ["c++", "-std=c++20", f"-I{ROOT}/include", "-x", "c++", "-", *flags]
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, input=source, text=True, check=True, timeout=120)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=12)
    blocks = max(6, parser.parse_args().blocks)
    print(f"{'':28} {'ours':>8} {'std':>8}   ratio [95 %]")
    for name, (ours, standard, flags) in CASES.items():
        pairs = []
        for block in range(blocks):
            order = (ours, standard) if block % 2 else (standard, ours)
            took = {source: cost_s(source, flags) for source in order}
            pairs.append((took[ours], took[standard]))
        ratio = ratio_of([mine / theirs for mine, theirs in pairs])
        assert ratio is not None  # noqa: S101 - there are blocks
        least = [min(each) for each in zip(*pairs, strict=True)]
        bounds = f"[{ratio.low:.2f}, {ratio.high:.2f}]"
        print(f"{name:28} {least[0]:6.3f} s {least[1]:6.3f} s   {ratio.median:.2f} {bounds}")


if __name__ == "__main__":
    main()
