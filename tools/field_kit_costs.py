#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what the field kit costs a program, as one table in Markdown with a target for each line.
Each figure is paired with the program alone.

    tools/field_kit_costs.py                               # all: about 9 minutes
    tools/field_kit_costs.py --only pair --only start      # some

pair: an uncontended pair of lock and unlock, alone, swapped, and under profile. start: a program
that does nothing. programs: real programs under profile; those that are not installed are left out,
and the table names their Debian packages. rocksdb: RocksDB with another mutex. causes: the causes
of injected waits, and those found. guard: how soon injected deadlocks are reported, and what is
reported in many contended operations without one. hang: 1,000 blocked threads.
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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from field_kit_programs import PROGRAMS, found, load, rocksdb, shares

from lockyard.field_kit import preload
from lockyard.stats import Ratio, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


BY_MEDIAN = "by the median"


@dataclass(frozen=True)
class Line:
    """A line of the table; `is_met` is None without a target or without a figure, and BY_MEDIAN
    if the median meets the target and the interval does not decide."""

    what: str
    figure: str
    target: str = ""
    is_met: bool | str | None = None


class Programs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pair = self._compiled("tools/field_kit_pair.c", "cc", "-O2")
        scenes = sorted(map(str, (ROOT / "tests/field_kit").glob("contended_*.cpp")), reverse=True)
        self.contended = self._compiled(scenes[0], "c++", "-O1", *scenes[1:])
        self.blocked = self._compiled("tests/field_kit/blocked_threads.cpp", "c++", "-O1")
        (folder / "nothing.c").write_text("int main(void) { return 0; }\n")
        self.nothing = self._compiled(str(folder / "nothing.c"), "cc", "-O2")

    def _compiled(self, source: str, compiler: str, flag: str, *more: str) -> str:
        standard = ["-std=c++20"] if compiler == "c++" else []
        binary = self.folder / Path(source).stem
        command = [compiler, *standard, flag, "-pthread", str(ROOT / source), *more]
        command += ["-o", str(binary)]
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
    programs: Programs, names: tuple[str, ...], blocks: int,
    figure: Callable[[dict[str, str]], float],
) -> dict[str, dict[int, float]]:  # fmt: skip
    ways = environments(programs.folder)

    def measured(environment: dict[str, str]) -> float:
        try:
            return figure(environment)
        finally:
            for file in (programs.folder / "records").iterdir():
                file.unlink()

    return shares({name: ways[name] for name in names}, measured, blocks)


def ratio_of(figures: dict[str, dict[int, float]], name: str) -> Ratio:
    ratio = paired_ratio(figures[name], figures["alone"])
    assert ratio is not None  # noqa: S101 - all blocks have both
    return ratio


def above(ratio: Ratio, target: float) -> bool | str:
    """Returns whether the ratio is at least the target: by its interval, or else by its median."""
    if ratio.low is not None and ratio.low >= target:
        return True
    return BY_MEDIAN if ratio.median >= target else False


def below(ratio: Ratio, target: float) -> bool | str:
    return above(ratio.inverse, 1 / target)


def shown(ratio: Ratio) -> str:
    low, high = (f"{bound:.3f}" if bound is not None else "?" for bound in (ratio.low, ratio.high))
    return f"{ratio.median:.3f} [{low}, {high}], {ratio.blocks} pairs"


def difference(figures: dict[str, dict[int, float]], name: str) -> float:
    return statistics.median(
        figures[name][block] - figures["alone"][block] for block in figures[name]
    )


def pair(programs: Programs) -> Iterator[Line]:
    def cost_ns(environment: dict[str, str]) -> float:
        text = subprocess.run(
            [programs.pair], env=environment, capture_output=True, check=True, timeout=PATIENCE_S
        ).stdout
        return float(text)

    figures = paired(programs, ("alone", "glibc", "mutex", "profile"), 15, cost_ns)
    alone = statistics.median(figures["alone"].values())
    yield Line("pair of lock and unlock: glibc", f"{alone:.2f} ns")
    yield Line("pair: control that forwards to glibc", shown(ratio_of(figures, "glibc")))
    swapped = ratio_of(figures, "mutex")
    yield Line("pair: swapped mutex", shown(swapped), "<= 0.70", below(swapped, 0.70))
    more = difference(figures, "profile")
    text = f"{more:+.2f} ns; {shown(ratio_of(figures, 'profile'))}"
    yield Line("pair: profile", text, "<= +5 ns", more <= 5)


def start(programs: Programs) -> Iterator[Line]:
    def took_ms(environment: dict[str, str]) -> float:
        took = []
        for _ in range(20):
            begin = time.perf_counter()
            subprocess.run([programs.nothing], env=environment, check=True, timeout=PATIENCE_S)
            took.append((time.perf_counter() - begin) * 1e3)
        return statistics.median(took)

    figures = paired(programs, ("alone", "mutex", "profile"), 15, took_ms)
    for name in ("mutex", "profile"):
        more = difference(figures, name)
        alone = statistics.median(figures["alone"].values())
        text = f"{more:+.3f} ms to {alone:.2f} ms"
        yield Line(f"start and end: {name}", text, "<= +0.5 ms", more <= 0.5)


def real_programs(programs: Programs) -> Iterator[Line]:
    for each in PROGRAMS:
        what, target = f"profile: {each.name}", f">= {each.target}"
        if each.missing:
            names = ", ".join(each.missing)
            yield Line(what, f"left out: no {names}; apt install {each.package}", target)
            continue
        folder = programs.folder / each.package
        folder.mkdir(exist_ok=True)
        figures = paired(programs, ("alone", "profile"), 7, each.prepare(folder))
        ratio = ratio_of(figures, "profile")
        yield Line(what, f"{shown(ratio)}", target, above(ratio, each.target))


def rocksdb_swapped(programs: Programs) -> Iterator[Line]:
    what = "RocksDB, one cache shard, run --mutex mutex"
    (package,) = (each for each in PROGRAMS if each.package == "rocksdb-tools")
    if package.missing:
        yield Line(what, "left out: no db_bench; apt install rocksdb-tools", ">= 1.8")
        return
    (folder := programs.folder / "swapped").mkdir()
    command = rocksdb(folder)
    longest: dict[str, dict[int, float]] = {"alone": {}, "mutex": {}}

    def operations(environment: dict[str, str]) -> float:
        text = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        ).stdout
        of = longest["mutex" if "LD_PRELOAD" in environment else "alone"]
        of[len(of)] = found(r"P99: ([0-9.]+)", text)
        return found(r"readrandom .* ([0-9]+) ops/sec", text)

    ratio = ratio_of(paired(programs, ("alone", "mutex"), 9, operations), "mutex")
    yield Line(what, f"{shown(ratio)}", ">= 1.8", above(ratio, 1.8))
    tail = ratio_of(longest, "mutex")
    yield Line(f"{what}: p99", shown(tail), "<= 0.2", below(tail, 0.2))


def causes(programs: Programs) -> Iterator[Line]:
    counts = {scene: _causes_of(programs, scene) for scene in SCENES}
    right = total = known = well_placed = waits = 0
    for scene, (by_cause, placed, of_scene) in counts.items():
        whole = sum(by_cause.values())
        right += by_cause[SCENES[scene]]
        total += whole
        known += whole - by_cause["unknown"]
        well_placed += placed
        waits += of_scene
        row = ", ".join(f"{name} {count / whole:.1%}" for name, count in sorted(by_cause.items()))
        yield Line(f"causes of {scene} (injected: {SCENES[scene]})", row)
    cause, injected, sites = known / total, right / total, well_placed / waits
    yield Line(f"{total} waits of 100 us and more: with a cause", f"{cause:.1%}",
               ">= 90 %", cause >= 0.9)  # fmt: skip
    yield Line("cause as injected", f"{injected:.1%}", ">= 95 %", injected >= 0.95)
    yield Line("sites of waiter and holder right", f"{sites:.1%}", ">= 95 %", sites >= 0.95)


def _causes_of(programs: Programs, scene: str) -> tuple[Counter[str], int, int]:
    """Returns the long waits by cause, and of all waits those with the right sites, and all."""
    by_cause, sites, waits = Counter[str](), 0, 0
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
                by_cause[each["cause"]] += each["waits"]
    return by_cause, sites, waits


def guard(programs: Programs) -> Iterator[Line]:
    out = programs.folder / "findings.jsonl"
    for scene, count in (("pairs", "300"), ("triples", "300"), ("ordered", "8400000")):
        command = [
            COMMAND, "guard", "--long-hold", "1000s", "--on-deadlock", "error", "-o", str(out),
            "--", programs.contended, scene, count,
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
        findings = [json.loads(line) for line in out.read_text().splitlines()]
        if scene == "ordered":
            # Four threads lock and unlock three mutexes in each round.
            text = f"{len(findings)} in {int(count) * 4 * 3:,} operations"
            yield Line("guard: reports without a deadlock", text, "0 in 10^8", not findings)
            return
        after_us = [each["found_after_ns"] / 1e3 for each in findings if each["what"] == "deadlock"]
        text = f"{len(after_us)} of {count}"
        yield Line(f"guard: deadlocks reported, {scene}", text, "all", len(after_us) == int(count))
        text = f"{statistics.median(after_us):.1f} us (median), {max(after_us):.1f} us (longest)"
        yield Line(f"guard: reported after, {scene}", text, "<= 1 ms", max(after_us) <= 1000)


def hang(programs: Programs) -> Iterator[Line]:
    with subprocess.Popen(
        [programs.blocked, "many"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        try:
            assert program.stdout is not None  # noqa: S101 - it is a pipe
            program.stdout.readline()
            time.sleep(2)
            took = []
            for _ in range(7):
                command = [COMMAND, "hang", str(program.pid), "--json"]
                told = json.loads(
                    subprocess.run(
                        command, capture_output=True, timeout=PATIENCE_S, check=False
                    ).stdout
                )
                took.append(told["took_ms"])
        finally:
            program.kill()
    owners = sum(each["owner"] is not None for each in told["waiting"])
    middle = statistics.median(took)
    text = f"{middle:.1f} ms (median), {max(took):.1f} ms (longest); {owners} owners told"
    yield Line(f"hang: {told['threads']} threads", text, "<= 100 ms", middle <= 100)


PARTS = {
    "pair": pair, "start": start, "programs": real_programs, "rocksdb": rocksdb_swapped,
    "causes": causes, "guard": guard, "hang": hang,
}  # fmt: skip
VERDICTS = {True: "yes", BY_MEDIAN: BY_MEDIAN, False: "**no**", None: ""}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", choices=PARTS, metavar="PART", help=", ".join(PARTS)
    )
    chosen = parser.parse_args().only or list(PARTS)
    print(f"At the beginning: {load()}.\n\n| line | figure | target | met |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(Path(folder))
        try:
            for name in chosen:
                print(f"{name} ...", file=sys.stderr)
                for line in PARTS[name](programs):
                    verdict = VERDICTS[line.is_met]
                    print(
                        f"| {line.what} | {line.figure} | {line.target} | {verdict} |", flush=True
                    )
        except KeyboardInterrupt:
            sys.exit("interrupted; the table has what was measured so far")
    print(f"\nAt the end: {load()}.")


if __name__ == "__main__":
    main()
