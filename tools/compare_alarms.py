#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts false alarms of `lockyard compare`, and checks that it finds a real difference.

Halves of one measurement are compared, many times: two blocks that follow each other are a pair,
and a coin says which of them goes to file A and which to file B. Every difference is a false alarm.
Then the same with all times of B's runs longer by a tenth, and rates lower: now a difference should
be found.

    lockyard measure throughput wait --threads 2 --runs 480 --for 40s --out records.jsonl
    tools/compare_alarms.py records.jsonl
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lockyard import harness
from lockyard.compare.comparison import Outcome, Verdict, compare
from lockyard.compare.gates import parse
from lockyard.compare.pairing import Chosen
from lockyard.compare.reading import read_two
from lockyard.records import read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lockyard.catalog import Catalog
    from lockyard.compare.comparison import Comparison, Finding
    from lockyard.compare.gates import Gate
    from lockyard.records import RecordFile

Run = dict[str, Any]
MOST_ALARMS = 0.08


def main() -> int:
    options = _options()
    catalog = harness.catalog()
    gates = parse(options.fail_if, catalog)
    content = read_records(options.records)
    by_block = _whole_blocks(content.runs)
    wanted = 2 * options.blocks
    print(
        f"{options.records.name}: {len(content.runs)} runs, {len(by_block)} whole blocks; "
        f"{options.comparisons} comparisons of {options.blocks} blocks with {options.blocks}, "
        f"{len(by_block) // wanted} of them disjoint; seed {options.seed}"
    )
    if len(by_block) < wanted:
        print(f"needs {wanted} blocks; measure with --runs {wanted}", file=sys.stderr)
        return 2

    def found(slower: float) -> list[Comparison]:
        chance = random.Random(options.seed)  # noqa: S311 - no secret
        ordered = [by_block[block] for block in sorted(by_block)]
        with tempfile.TemporaryDirectory() as folder:
            return [
                _compared(Path(folder), content, halves, gates, catalog)
                for halves in _halves(chance, ordered, options, slower)
            ]

    alarms = _print_alarms(found(1.0), options.comparisons)
    _print_found(found(1 + options.slower / 100), options)
    return 0 if alarms <= MOST_ALARMS * options.comparisons else 4


def _whole_blocks(runs: list[Run]) -> dict[int, list[Run]]:
    """Cells end when their time is spent, some before others."""
    by_block: dict[int, list[Run]] = {}
    for run in runs:
        by_block.setdefault(run["block"], []).append(run)
    of_locks = {run["cell"] for run in runs if run["lock"] is not None}
    return {
        block: some for block, some in by_block.items() if of_locks <= {run["cell"] for run in some}
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", type=Path)
    parser.add_argument("--comparisons", type=int, default=200)
    parser.add_argument("--blocks", type=int, default=30, help="of each half (30)")
    parser.add_argument("--slower", type=float, default=10, help="slow-down of B, in percent (10)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fail-if", action="append", default=[])
    return parser.parse_args()


def _halves(
    chance: random.Random, ordered: list[list[Run]], options: argparse.Namespace, slower: float
) -> Iterator[tuple[list[Run], list[Run]]]:
    for _ in range(options.comparisons):
        first = chance.randrange(len(ordered) - 2 * options.blocks + 1)
        a: list[Run] = []
        b: list[Run] = []
        for block in range(options.blocks):
            pair = ordered[first + 2 * block : first + 2 * block + 2]
            chance.shuffle(pair)
            a += [{**run, "block": block} for run in pair[0]]
            b += [{**_slowed(run, slower), "block": block} for run in pair[1]]
        yield a, b


def _slowed(run: Run, factor: float) -> Run:
    """Returns the run as if every wait and operation had taken that much longer."""
    if factor == 1:
        return run
    scaled: dict[str, Callable[[float], float]] = {
        "_ns": lambda value: value * factor,
        "_per_s": lambda value: value / factor,
    }
    values = dict(run["values"])
    for key, value in values.items():
        for suffix, change in scaled.items():
            if key.endswith(suffix) and isinstance(value, int | float):
                values[key] = change(value)
    histograms = {
        name: {**histogram, "scale": histogram["scale"] * factor}
        for name, histogram in run["histograms"].items()
    }
    return {**run, "values": values, "histograms": histograms}


def _compared(
    folder: Path,
    content: RecordFile,
    halves: tuple[list[Run], list[Run]],
    gates: tuple[Gate, ...],
    catalog: Catalog,
) -> Comparison:
    paths = (folder / "a.jsonl", folder / "b.jsonl")
    for path, runs in zip(paths, halves, strict=True):
        lines = (content.environment, content.plan, *runs)
        path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return compare(*read_two(paths, gates, catalog), Chosen(), gates)


def _print_alarms(all_: list[Comparison], comparisons: int) -> int:
    alarms = sum(bool(found.different) for found in all_)
    alone = sum(test.p <= 0.05 for found in all_ for test in found.tests)
    tests = sum(len(found.tests) for found in all_)
    most = int(MOST_ALARMS * comparisons)
    print(f"like with like: {alarms} of {comparisons} show a difference (at most {most} may)")
    print(f"  uncorrected, {alone} of {tests} figures would ({alone / tests:.1%})")
    _print_gates(all_)
    return alarms


def _print_found(all_: list[Comparison], options: argparse.Namespace) -> None:
    some = sum(any(test.verdict is Verdict.WORSE for test in found.different) for found in all_)
    print(f"B slower by {options.slower:g} %: {some} of {options.comparisons} comparisons show it")
    worse: Counter[str] = Counter()
    wrong = 0
    for test in (test for found in all_ for test in found.different):
        worse[_name(test)] += test.verdict is Verdict.WORSE
        wrong += test.verdict is Verdict.BETTER
    for name in dict.fromkeys(_name(test) for found in all_ for test in found.tests):
        print(f"  {worse[name]:4} {name}")
    print(f"  {wrong} figures are shown as better")
    _print_gates(all_)


def _print_gates(all_: list[Comparison]) -> None:
    judged = [test for found in all_ for test in found.judged]
    for gate in dict.fromkeys(test.gate for test in judged):
        if gate is not None:
            failed = sum(
                any(test.gate == gate and test.outcome is Outcome.FAILED for test in found.judged)
                for found in all_
            )
            print(f"  gate {gate.text} fails in {failed} comparisons")


def _name(test: Finding) -> str:
    cell = test.pair.a
    return f"{cell.study} of {cell.lock or 'the machine'} × {cell.threads}: {test.figure.name}"


if __name__ == "__main__":
    sys.exit(main())
