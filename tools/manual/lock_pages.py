# SPDX-License-Identifier: Apache-2.0
"""The facts at the head of each lock's page, from the catalogue and from the code of the lock.

`python tools/manual/lock_pages.py` writes them into docs/locks; `--check` only says whether they
are up to date. The facts stand between two lines of comment; the rest of a page is written by hand.
"""

from __future__ import annotations

import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pair_code import locked_instructions

from lockyard import harness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lockyard.catalog import Catalog, Lock

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "locks"
HEADERS = ROOT / "include" / "lockyard"
BEGIN, END = "<!-- facts: tools/manual/lock_pages.py -->\n", "<!-- end -->"
FACTS = re.compile(f"(?<={re.escape(BEGIN)}).*?(?={re.escape(END)})", re.DOTALL)
READS_CODE = platform.machine() == "x86_64"
LOCKED = "locked instructions of an uncontended pair (x86-64)"
LOCKED_ROW = re.compile(rf"^\| {re.escape(LOCKED)} \|.*\n", re.MULTILINE)
IN_WORDS = {"fifo": "FIFO", "bounded_bypass": "bounded bypass"}


def pages(catalog: Catalog) -> Iterator[tuple[Path, list[Lock]]]:
    """Yields the page of each header, and the instances that the catalogue has of its lock."""
    ours = [lock for lock in catalog.locks if lock.kind == "ours"]
    for stem in dict.fromkeys(lock.name.partition("[")[0] for lock in ours):
        yield PAGES / f"{stem}.md", [each for each in ours if each.name.partition("[")[0] == stem]


def facts(instances: Sequence[Lock], locked: Mapping[str, int]) -> str:
    """Returns a table with a column for each instance. `locked` has the numbers of locked
    instructions that are known, by the names of the locks."""
    stem = instances[0].name
    (header,) = HEADERS.glob(f"*/{stem}.hpp")
    names = [f" `{each.name}` |" if len(instances) > 1 else " |" for each in instances]
    rows = [
        ("type", [f"`lockyard::{stem}`, from `<{header.relative_to(ROOT / 'include')}>`"]),
        ("seed name", [f"`{each.seed_name}`" if each.seed_name else "" for each in instances]),
        ("family, waiting, fairness", [_policies(each) for each in instances]),
        ("size", [_size(each) for each in instances]),
        (LOCKED, [str(locked.get(each.name, "")) for each in instances]),
        ("time-outs", [_timed(each) for each in instances]),
        ("shared", ["`lock_shared`" if each.shared else "" for each in instances]),
        ("recursive", ["yes" if each.recursive else "" for each in instances]),
        ("deadlocks, dead owners", ["errors" if each.recovering else "" for each in instances]),
        ("source", [each.origin for each in instances]),
    ]
    lines = [f"| |{''.join(names)}", f"|{'---|' * (len(instances) + 1)}"]
    for name, values in rows:
        if any(values):
            cells = [*values, *[""] * (len(instances) - len(values))]
            lines.append(f"| {name} |" + "".join(f" {each} |" for each in cells))
    table = "\n".join(re.sub(r"\|  (?=\|)", "| ", line) for line in lines)
    return f"\n{table}\n\n"


def _policies(of: Lock) -> str:
    return ", ".join(IN_WORDS.get(each, each) for each in (of.family, of.waiting, of.fairness))


def _size(of: Lock) -> str:
    zero = "all zero bytes are" if of.zero_is_free else "not all zero bytes in"
    return f"{of.size_bytes} byte{'s' * (of.size_bytes != 1)}; {zero} the free state"


def _timed(of: Lock) -> str:
    names = ["try_lock_for", "try_lock_until"] if of.timed else []
    if of.timed and of.shared:
        names += ["try_lock_shared_for", "try_lock_shared_until"]
    return ", ".join(f"`{name}`" for name in names)


def _locked(catalog: Catalog) -> dict[str, int]:
    """Leaves out recursive locks, because the owner that locks again has fewer."""
    ours = [lock for lock in catalog.locks if lock.kind == "ours"]
    counts = locked_instructions()
    return {ours[place].name: n for place, n in counts.items() if not ours[place].recursive}


def _without_code(text: str) -> str:
    """Returns what can be compared on this machine."""
    return text if READS_CODE else LOCKED_ROW.sub("", text)


def main() -> int:
    only_check = sys.argv[1:] == ["--check"]
    if not (only_check or READS_CODE):
        sys.exit("the facts include code for x86-64, so only such a machine can write them")
    catalog = harness.catalog()
    locked = _locked(catalog) if READS_CODE else {}
    stale = False
    for path, instances in pages(catalog):
        name, text = path.relative_to(ROOT), path.read_text()
        found = FACTS.search(text)
        if found is None:
            sys.exit(f"{name} has no place for its facts; write these lines:\n{BEGIN}{END}")
        written = text[: found.start()] + facts(instances, locked) + text[found.end() :]
        if _without_code(written) != _without_code(text):
            stale = True
            print(f"{name}: its facts are old; run this without --check", file=sys.stderr)
            if not only_check:
                path.write_text(written)
    return int(stale and only_check)


if __name__ == "__main__":
    sys.exit(main())
