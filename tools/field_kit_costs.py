#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what the field kit costs a program, each figure paired with the program alone.

    tools/field_kit_costs.py                # all: about 4 minutes
    tools/field_kit_costs.py pair start     # some

pair: an uncontended pair of lock and unlock, alone, swapped, and under profile. start: a program
that does nothing. causes: the causes of injected waits, and those found. guard: how soon injected
deadlocks are reported, and what is reported in many contended operations without one. hang: 1,000
blocked threads.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.field_kit import preload
from lockyard.stats import paired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
COMMAND = str(Path(sys.executable).with_name("lockyard"))
PATIENCE_S = 600
# Scenes of tests/field_kit/contended_threads.cpp whose waits have one cause.
SCENES = {
    "asleep": "holder blocked", "system_call": "holder blocked", "long_section": "long section",
    "preempted": "holder preempted", "convoy": "others first",
}  # fmt: skip
HOLDERS = {"asleep": "sleep_in_section", "system_call": "read_in_section",
           "long_section": "compute_in_section", "preempted": "compute_in_section",
           "convoy": "short_section"}  # fmt: skip


class Programs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pair = self._compiled("tools/field_kit_pair.c", "cc", "-O2")
        self.contended = self._compiled("tests/field_kit/contended_threads.cpp", "c++", "-O1")
        self.blocked = self._compiled("tests/field_kit/blocked_threads.cpp", "c++", "-O1")
        (folder / "nothing.c").write_text("int main(void) { return 0; }\n")
        self.nothing = self._compiled(str(folder / "nothing.c"), "cc", "-O2")

    def _compiled(self, source: str, compiler: str, flag: str) -> str:
        standard = ["-std=c++20"] if compiler == "c++" else []
        binary = self.folder / Path(source).stem
        command = [compiler, *standard, flag, "-pthread", str(ROOT / source), "-o", str(binary)]
        subprocess.run(command, check=True, timeout=PATIENCE_S)
        return str(binary)


def environments(folder: Path) -> dict[str, dict[str, str]]:
    """Returns the ways to run a program: alone, and with each library."""
    records = folder / "records"
    records.mkdir(exist_ok=True)
    libraries = {
        "glibc": preload.library(preload.CONTROL), "mutex": preload.library("mutex"),
        "profile": preload.recorder(),
    }  # fmt: skip
    found = {"alone": dict(os.environ)}
    for name, library in libraries.items():
        found[name] = {**os.environ, "LD_PRELOAD": str(library), "LOCKYARD_RECORDS": str(records)}
    return found


def paired(
    programs: Programs, blocks: int, figure: Callable[[dict[str, str]], float]
) -> dict[str, dict[int, float]]:
    ways = environments(programs.folder)
    found: dict[str, dict[int, float]] = {name: {} for name in ways}
    for block in range(blocks):
        names = list(ways) if block % 2 else list(reversed(ways))
        for name in names:
            found[name][block] = figure(ways[name])
        for file in (programs.folder / "records").iterdir():
            file.unlink()
    return found


def told(found: dict[str, dict[int, float]], unit: str) -> None:
    for name, figures in found.items():
        ratio = paired_ratio(figures, found["alone"])
        differences = sorted(figures[block] - found["alone"][block] for block in figures)
        print(
            f"  {name:8} {statistics.median(figures.values()):8.3f} {unit}  "
            f"{ratio and f'{ratio.median:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]'}  "
            f"{statistics.median(differences):+.3f} {unit}"
        )


def pair(programs: Programs) -> None:
    def cost_ns(environment: dict[str, str]) -> float:
        shown = subprocess.run(
            [programs.pair], env=environment, capture_output=True, check=True, timeout=PATIENCE_S
        )
        return float(shown.stdout)

    print("pair of lock and unlock, uncontended: median, ratio to alone, difference")
    told(paired(programs, 15, cost_ns), "ns")


def start(programs: Programs) -> None:
    def took_ms(environment: dict[str, str]) -> float:
        best = []
        for _ in range(20):
            begin = time.perf_counter()
            subprocess.run([programs.nothing], env=environment, check=True, timeout=PATIENCE_S)
            best.append((time.perf_counter() - begin) * 1e3)
        return statistics.median(best)

    print("start and end of a program that does nothing: median, ratio to alone, difference")
    told(paired(programs, 15, took_ms), "ms")


def causes(programs: Programs) -> None:
    print("causes of waits of 100 us and more, in rows the injected one, in percent")
    counts = {scene: _causes_of(programs, scene) for scene in SCENES}
    names = sorted({cause for found, _, _ in counts.values() for cause in found})
    print(f"  {'':34}" + "".join(f"{name:>18}" for name in names) + "  right sites")
    right = total = known = 0
    for scene, (found, sites, waits) in counts.items():
        whole = sum(found.values())
        right += found[SCENES[scene]]
        total += whole
        known += whole - found["unknown"]
        row = "".join(f"{100 * found[name] / whole:17.1f} " for name in names)
        print(f"  {scene:14}{SCENES[scene]:20}{row}{100 * sites / waits:12.1f}")
    print(f"  as injected: {right / total:.1%}; with a cause: {known / total:.1%}; {total} waits")


def _causes_of(programs: Programs, scene: str) -> tuple[Counter[str], int, int]:
    """Returns the long waits by cause, and of all waits those with the right sites, and all."""
    found, sites, waits = Counter[str](), 0, 0
    out = programs.folder / "profile.jsonl"
    count = "20000" if scene == "convoy" else "200"
    for _ in range(3):
        command = [COMMAND, "profile", "-o", str(out), "--", programs.contended, scene, count]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
        for line in out.read_text().splitlines():
            each: dict[str, Any] = json.loads(line)
            if each["record"] != "profile-wait" or each["lock"] != "account":
                continue
            waits += each["waits"]
            waiter = "short_section" if scene == "convoy" else "want_account"
            if (each["waiter_place"], each["holder_place"]) == (waiter, HOLDERS[scene]):
                sites += each["waits"]
            if each["cause"] != "short":
                found[each["cause"]] += each["waits"]
    return found, sites, waits


def guard(programs: Programs) -> None:
    out = programs.folder / "findings.jsonl"
    for scene, count in (("pairs", "300"), ("triples", "300"), ("ordered", "8400000")):
        command = [
            COMMAND, "guard", "--long-hold", "1000s", "--on-deadlock", "error", "-o", str(out),
            "--", programs.contended, scene, count,
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
        findings = [json.loads(line) for line in out.read_text().splitlines()]
        after_us = [each["found_after_ns"] / 1e3 for each in findings if each["what"] == "deadlock"]
        if after_us:
            print(
                f"guard, {scene}: {len(after_us)} of {count} reported, after "
                f"{statistics.median(after_us):.1f} us (median), {max(after_us):.1f} us (longest)"
            )
        else:
            # Four threads lock and unlock three mutexes in each round.
            print(f"guard, {scene}: {len(findings)} reported in {int(count) * 4 * 3:,} operations")


def hang(programs: Programs) -> None:
    with subprocess.Popen(
        [programs.blocked, "many"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        try:
            assert program.stdout is not None  # noqa: S101 - it is a pipe
            program.stdout.readline()
            time.sleep(2)
            took = []
            for _ in range(7):
                shown = subprocess.run(
                    [COMMAND, "hang", str(program.pid), "--json"],
                    capture_output=True, timeout=PATIENCE_S, check=False,
                )  # fmt: skip
                found = json.loads(shown.stdout)
                took.append(found["took_ms"])
            owners = sum(each["owner"] is not None for each in found["waiting"])
            print(
                f"hang: {found['threads']} threads read twice in {statistics.median(took):.1f} ms "
                f"(median), {max(took):.1f} ms (longest); {owners} owners told"
            )
        finally:
            program.kill()


PARTS = {each.__name__: each for each in (pair, start, causes, guard, hang)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    chosen = parser.parse_args().parts or list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        parser.error(f"{', '.join(unknown)}: no such part; choose from {', '.join(PARTS)}")
    load = f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors"
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(Path(folder))
        for name in chosen:
            PARTS[name](programs)
    print(f"{load} at the beginning, {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
