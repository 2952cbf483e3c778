# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/answers.md, so that its figures can be replaced.

    python tools/answers.py --minutes 10 --out answers    # all; records and output in answers/
    python tools/answers.py --only spin                   # questions with that word

Each measurement gets its share of the time; a command that fails is named at the end."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "answers.md"
EXAMPLES = PAGE.parents[1] / "examples"
PRINTED = re.compile(r"cells in .* about ([\d.]+) (s|min|h)")
SECONDS = {"s": 1, "min": 60, "h": 3600}
LEAST_S, MOST_S = 0.3, 20.0


@dataclass
class Command:
    question: str
    words: list[str]

    @property
    def is_measured(self) -> bool:
        return self.words[1] == "measure"


def commands(page: str) -> list[Command]:
    """Returns the commands of the page, which are indented, below their questions."""
    found, question = [], ""
    for line in page.splitlines():
        if line.startswith("## "):
            question = line[3:]
        if line.startswith("    lockyard "):
            parts = re.split(r"\s#", line)[0].split("&&")
            found += [Command(question, shlex.split(part)) for part in parts]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--out", type=Path, default=Path("answers"))
    parser.add_argument("--only", default="", help="only questions that contain this")
    parser.add_argument("--lockyard", default="lockyard", help="the command")
    chosen = parser.parse_args()
    wanted = [c for c in commands(PAGE.read_text()) if chosen.only.lower() in c.question.lower()]
    measured = sum(each.is_measured for each in wanted)
    chosen.out.mkdir(parents=True, exist_ok=True)
    program = str(Path(chosen.lockyard).resolve()) if "/" in chosen.lockyard else chosen.lockyard
    failed = []
    for number, each in enumerate(wanted):
        share_s = 60 * chosen.minutes / max(measured, 1)
        print(f"\n## {each.question}\n$ {shlex.join(each.words)}", flush=True)
        if run(each, program, share_s, chosen.out.resolve() / f"{number:02}.jsonl"):
            failed.append(shlex.join(each.words))
    for each_failed in failed:
        print(f"failed: {each_failed}", file=sys.stderr)
    return 1 if failed else 0


def run(command: Command, program: str, share_s: float, out: Path) -> int:
    """Returns the exit status."""
    words = [program, *_in_place(command.words[1:], out)]
    folder = EXAMPLES / "spin_counts" if "--scenario" in words else PAGE.parents[1]
    if command.is_measured:
        words = _without(_without(words, "--for"), "--out")
        if "--scenario" not in words:
            length = _length_s(words, folder, share_s)
            words += ["--for", f"{1000 * length:.0f}ms"]
        words += ["--out", str(out)]
    return subprocess.run(words, cwd=folder, check=False).returncode


def _in_place(words: list[str], out: Path) -> list[str]:
    """Makes `explain` read the records of the measurement before it."""
    if words[0] != "explain":
        return words
    return ["explain", str(out.with_name(f"{int(out.stem) - 1:02}.jsonl"))]


def _without(words: list[str], option: str) -> list[str]:
    at = words.index(option) if option in words else len(words)
    return words[:at] + words[at + 2 :]


def _length_s(words: list[str], folder: Path, share_s: float) -> float:
    """Returns how long a cell may be measured so that all cells take their share of the time."""
    asked = subprocess.run(
        [*words, "--for", "1s", "--dry-run"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = PRINTED.search(" ".join((asked.stdout + asked.stderr).split()))
    if found is None:
        return 1.0
    whole_s = float(found[1]) * SECONDS[found[2]]
    return min(max(share_s / whole_s, LEAST_S), MOST_S)


if __name__ == "__main__":
    sys.exit(main())
