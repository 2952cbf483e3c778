#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ sources of the seeded faults, for the build of the checker.

    seeded_faults.py virtual/faults/*.toml --include include --to build/faults

README.md describes the tables. For each fault, the headers that it changes are copied to a folder
with the fault's name, and into a namespace of that name, so that one program can have all faults.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Fault = dict[str, Any]

NEEDED = ("summary", "verdict", "client", "threads")
SIZES = ("threads", "acquisitions", "tries", "timed", "destroys")
SETTINGS = ("preemptions", "spurious_wakes", "timeouts", "short_spins", "old_reads", "asymmetric")
KEYS = {*NEEDED, *SIZES, *SETTINGS, "headers", "reduction", "change"}
SHIPPED = re.compile(r"^namespace lockyard::(?:inline v0(::detail)?|harness) \{", re.MULTILINE)


class TableError(Exception):
    """A table that is malformed, or that the headers do not fit."""


def changed(headers: Mapping[str, str], fault: str, changes: Iterable[list[str]]) -> dict[str, str]:
    """Returns the headers with each change made at the one place that its first text fits.

    The amount of white space does not count.
    """
    texts = dict(headers)
    for before, after in changes:
        place = re.compile(r"\s+".join(re.escape(word) for word in before.split()))
        found = [name for name, text in texts.items() for _ in place.findall(text)]
        if len(found) != 1:
            raise TableError(
                f"the fault {fault} does not fit {' and '.join(texts) or 'any header'}: this text "
                f"occurs {len(found)} times instead of once:\n{before.strip()}\n"
                "So the checker would not have the fault. Adapt the text to the header, or delete "
                "the fault if the header cannot have it any longer."
            )
        texts[found[0]] = replaced(texts[found[0]], place, after.strip())
    return texts


def replaced(text: str, place: re.Pattern[str], after: str) -> str:
    """Returns the text with the replacement; each later line keeps its number."""
    head, tail = place.split(text)
    rest, newline, lines = tail.partition("\n")
    number = text.count("\n") - lines.count("\n") + 1
    return f"{head}{after}{rest}{newline}#line {number}\n{lines}"


def in_namespace(header: str, fault: str) -> str:
    """Returns the header in the fault's namespace; other names still mean the shipped code."""
    own = f"namespace lockyard::faults::{fault}"
    shipped = f"{own}::detail {{ using namespace lockyard::detail; }} "
    return SHIPPED.sub(lambda found: f"{shipped}{own}{found[1] or ''} {{", header)


def initializers(fault: Fault, names: Iterable[str]) -> str:
    def value(name: str) -> str:
        return (
            f"model::barriers::{fault[name]}" if name == "asymmetric" else json.dumps(fault[name])
        )

    return "{" + ", ".join(f".{name} = {value(name)}" for name in names if name in fault) + "}"


def entry(name: str, fault: Fault) -> str:
    group = "client" if fault["verdict"] == "passed" else "mutant"
    return (
        f"      {{.name = {json.dumps(name)}, .of = group::{group},\n"
        f"       .summary = {json.dumps(fault['summary'])}, .make = faults::{name}::make,\n"
        f"       .size = {initializers(fault, SIZES)},\n"
        f"       .expected = model::verdict::{fault['verdict']},\n"
        f"       .how = {initializers(fault, SETTINGS)}}},\n"
    )


def source(stem: str, table: Mapping[str, Any], faults: Mapping[str, Fault]) -> str:
    """Returns the source of `faults_of_<stem>()`, the list of the table's faults."""
    includes = ["checker/registry.hpp", "clients/clients.hpp", *table.get("includes", ())]
    includes += [
        f"{name}/{Path(header).name}"
        for name, fault in faults.items()
        for header in headers_of(fault)
    ]
    makers = "".join(
        f"namespace lockyard::faults::{name} {{\n{table.get('names', '')}\n"
        f"constexpr checker::maker make = &{fault['client']};\n}}\n"
        for name, fault in faults.items()
    )
    entries = "".join(entry(name, fault) for name, fault in faults.items())
    return (
        "".join(f"#include <{each}>\n" for each in includes)
        + f"namespace lockyard::faults {{ using namespace checker; }}\n{makers}"
        + f"namespace lockyard::checker {{\nstd::vector<checked_client> faults_of_{stem}() {{\n"
        + f"  return {{\n{entries}  }};\n}}\n}}\n"
    )


def source_of_all(stems: Iterable[str]) -> str:
    functions = [f"faults_of_{stem}()" for stem in stems]
    return (
        "#include <faults/faults.hpp>\nnamespace lockyard::checker {\n"
        + "".join(f"std::vector<checked_client> {each};\n" for each in functions)
        + "std::vector<checked_client> seeded_faults() {\n  std::vector<checked_client> all;\n"
        + f"  for (const auto& more : {{{', '.join(functions)}}}) {{\n"
        + "    all.insert(all.end(), more.begin(), more.end());\n  }\n  return all;\n}\n}\n"
    )


def headers_of(fault: Fault) -> list[str]:
    return list(fault.get("headers", ()))


def read_table(path: Path) -> tuple[dict[str, Any], dict[str, Fault]]:
    """Returns the table, and its faults with the table's defaults."""
    try:
        table = tomllib.loads(path.read_text())
        faults = {name: table.get("defaults", {}) | own for name, own in table["faults"].items()}
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise TableError(f"this is not a table of faults: {error}") from error
    for name, fault in faults.items():
        wrong = [f"has the unknown key `{key}`" for key in sorted(fault.keys() - KEYS)]
        wrong += [f"lacks the key `{key}`" for key in NEEDED if key not in fault]
        if wrong:
            raise TableError(f"the fault {name} {wrong[0]}; faults/README.md lists the keys")
    return table, faults


def write(path: Path, text: str) -> None:
    """Writes the file if it changes, so that only changes are compiled again."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def generate(path: Path, include: Path, to: Path) -> set[Path]:
    """Writes the source of one table, and its headers; returns the headers that it has read."""
    table, faults = read_table(path)
    read: set[Path] = set()
    for name, fault in faults.items():
        paths = {header: include / "lockyard" / header for header in headers_of(fault)}
        shipped = {header: each.read_text() for header, each in paths.items()}
        changes = [*fault.get("reduction", ()), *fault.get("change", ())]
        for header, text in changed(shipped, name, changes).items():
            write(to / name / Path(header).name, in_namespace(text, name))
        read.update(paths.values())
    write(to / f"{path.stem}.cpp", source(path.stem, table, faults))
    return read


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", type=Path, nargs="+")
    parser.add_argument(
        "--include", type=Path, required=True, help="the folder of lockyard's headers"
    )
    parser.add_argument("--to", type=Path, required=True, help="the folder of the sources")
    given = parser.parse_args(arguments)
    read: set[Path] = set()
    for path in given.tables:
        try:
            read |= generate(path, given.include, given.to)
        except (TableError, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
    listing = given.to / "all.cpp"
    write(listing, source_of_all(path.stem for path in given.tables))
    write(given.to / "all.d", f"{listing}: {' '.join(map(str, sorted(read)))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
