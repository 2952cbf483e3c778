# SPDX-License-Identifier: Apache-2.0
"""Scenario files: the command line in TOML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lockyard.commands.measure import MeasureOptions, request_in, request_of
from lockyard.commands.measure import command as measure
from lockyard.errors import UsageError
from lockyard.measure import scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

    from lockyard.measure.request import MeasureRequest

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., MeasureRequest]:
    def read_text(text: str, **added: Any) -> MeasureRequest:
        path = tmp_path / "s.toml"
        path.write_text(text)
        return request_in(path, measure, MeasureOptions(**added))

    return read_text


def of_words(*words: str) -> MeasureRequest:
    return request_of(MeasureOptions(**measure.make_context("measure", list(words)).params))


EVERY_KEY = """
seed = 7
out = "here.jsonl"
against = "std::mutex"
[[sweep]]
studies = ["wait", "uncontended", "workers", "readers", "wakeup", "torture"]
locks = ["seeds", "futex_mutex"]
pools = "ours"
peers = true
threads = [1, 2]
for = "500ms"
runs = 3
loops = 5
pin = [0, 0]
as-published = false
policy = ["other", "rr"]
priority = 3
nice = 4
slice = ["1ms", "2ms"]
load = 1
load-nice = 2
timer-slack = "1us"
rest = "1ms"
quota = 1.5
hold = ["0", "200ns"]
gap = "10x"
lengths = ["constant", "bimodal"]
burst = [1, 8]
writers = 1
sleepers = 2
ways = ["futex"]
workload = "classic"
share-percent = [0, 50.5]
rate-per-s = 1e4
load-percent = 70
interval-ns = 1000
matrix-rows = 64
background-nice = 19
hold-ns = 500
gap-ns = 600
hog-percent = 40
set = { another = [1, 2] }
machine = { huge_pages = ["never", "as_found"] }
"""
THE_SAME = (
    *("wait", "uncontended", "workers", "readers", "wakeup", "torture"),
    *("--seed", "7", "--out", "here.jsonl", "--against", "std::mutex"),
    *("--locks", "seeds,futex_mutex", "--pools", "ours", "--peers", "--threads", "1,2"),
    *("--for", "500ms", "--runs", "3", "--loops", "5", "--pin", "0,0"),
    *("--policy", "other,rr", "--priority", "3", "--nice", "4", "--slice", "1ms,2ms"),
    *("--load", "1", "--load-nice", "2", "--timer-slack", "1us", "--rest", "1ms"),
    *("--quota", "1.5", "--hold", "0,200ns", "--gap", "10x", "--lengths", "constant,bimodal"),
    *("--burst", "1,8", "--writers", "1", "--sleepers", "2", "--ways", "futex"),
    *("--workload", "classic", "--share-percent", "0,50.5", "--rate-per-s", "10000.0"),
    *("--load-percent", "70", "--interval-ns", "1000", "--matrix-rows", "64"),
    *("--background-nice", "19", "--hold-ns", "500", "--gap-ns", "600", "--hog-percent", "40"),
    *("--set", "another=1,2", "--machine", "huge_pages=never,as_found"),
)


def test_every_option_has_a_key_that_says_the_same(read: Callable[..., MeasureRequest]) -> None:
    assert read(EVERY_KEY) == of_words(*THE_SAME)


def test_no_option_is_without_a_key() -> None:
    """All options are keys, except those that only the command line can give, two that exclude all
    others, and the options of user locks, which need a header. Parameters of studies are keys
    without being listed here."""
    keys = {line.partition(" = ")[0] for line in EVERY_KEY.splitlines() if " = " in line}
    options = {max(each.opts, key=len).removeprefix("--") for each in measure.params}
    left_out = {*scenario.NO_KEYS, "deadline", "autogroup", "lock", "include", "flags"}
    assert options - keys == left_out - {"help"}


def test_what_stands_before_the_sweeps_holds_for_each(read: Callable[..., MeasureRequest]) -> None:
    found = read(
        'threads = [1, 2]\nseed = 5\n[[sweep]]\nstudies = "wait"\n'
        '[[sweep]]\nstudies = "idle"\nthreads = 4\n'
    )
    one = of_words("wait", "--threads", "1,2", "--seed", "5")
    other = of_words("idle", "--threads", "4")
    assert list(found.sweeps) == [*one.sweeps, *other.sweeps]
    assert found.seed == 5


def test_a_file_without_sweeps_is_one(read: Callable[..., MeasureRequest]) -> None:
    found = read('studies = ["wait"]\nlocks = "seeds"\nseed = 5\n')
    assert found == of_words("wait", "--locks", "seeds", "--seed", "5")


def test_the_command_line_takes_precedence_over_the_file(
    read: Callable[..., MeasureRequest],
) -> None:
    found = read(
        'studies = "wait"\nseed = 5\nagainst = "std::mutex"\n', seed=0, out=Path("x.jsonl")
    )
    assert (found.seed, found.out, found.against) == (0, Path("x.jsonl"), "std::mutex")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('studies = "wait"\nthread = 2\n', "line 2: thread: not a key .* did you mean threads"),
        (
            '[[sweep]]\nstudies = "wait"\n\n[[sweep]]\nstudies = "idle"\nas_published = true\n',
            "line 6: as_published: not a key .* did you mean as-published",
        ),
        ('[[sweeps]]\nstudies = "wait"\n', "line 1: sweeps: not a key .* did you mean sweep"),
        ('studies = "wait"\n[sett]\na = 1\n', "line 2: sett: not a key .* did you mean set"),
        ('studies = "wait"\nzzz = 2\n', "line 2: zzz: not a key of a scenario; its keys are"),
        ('studies = "wait"\nyes = true\n', "line 2: yes: belongs on the command line"),
        ('studies = "wait"\nscenario = "a"\n', "scenario: belongs on the command line"),
        (
            '[[sweep]]\nstudies = "wait"\nseed = 2\n',
            "line 3: seed: applies to the whole measurement",
        ),
        ('studies = "wait"\nthreads = []\n', "line 2: threads: has no value, .* 0 cells"),
        ("sweep = []\n", "has no sweep, so there are 0 cells"),
        (
            '[sweep]\nstudies = "wait"\n',
            r"sweep must be a list of tables; head each table with \[\[sweep",
        ),
        ("threads = 2\n", "sweep 1: nothing to measure: name a study"),
        ('studies = "wait"\nthreads = 0\n', "sweep 1: --threads 0: a number of threads must be"),
        ('studies = "wait"\nthreads = true\n', "line 2: threads: must be a text or a number"),
        ('studies = "wait"\nthreads = 2026-01-01\n', "line 2: threads: must be a text or a number"),
        ('studies = "wait"\npeers = "yes"\n', "line 2: peers: must be true or false"),
        (
            'studies = "wait"\n[[sweep]]\npeers = true\n[[sweep]]\npeers = "yes"\n',
            "line 5: peers: must be true or false",
        ),
        ('studies = "wait"\nruns = "many"\n', "sweep 1: .*--runs.*many"),
        ('studies = "--help"\n', "line 1: studies: --help is an option"),
        ('studies = "wait\n', r"not valid TOML: .*line 1"),
    ],
)
def test_refuses_meaningless_values_and_names_the_place(
    read: Callable[..., MeasureRequest], text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "the scenario cannot be read"), (b"\xff", "not a text in UTF-8")],
)
def test_refuses_what_is_no_file_of_text(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "s.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        request_in(path, measure, MeasureOptions())


def test_measures_what_the_file_says(lockyard: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'runs = 1\n[[sweep]]\nstudies = "wait"\nthreads = [1, 2]\nlocks = "futex_mutex"\n'
        '[[sweep]]\nstudies = ["uncontended"]\nlocks = ["std::mutex"]\n'
    )
    measured = lockyard("measure", "--scenario", str(path), "--json")
    assert measured.returncode == 0, measured.stderr
    runs = [json.loads(line) for line in measured.stdout.splitlines()]
    found = {
        (run["study"], run["lock"], run["conditions"]["threads"]) for run in runs if run.get("lock")
    }
    assert found == {
        ("wait", "futex_mutex", 1),
        ("wait", "futex_mutex", 2),
        ("uncontended", "std::mutex", 1),
    }


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_examples_can_be_measured(lockyard: Callable[..., Outcome], path: Path) -> None:
    dry = lockyard("measure", "--scenario", str(path), "--dry-run", "--json")
    assert dry.returncode == 0, dry.stderr
    assert json.loads(dry.stdout)["number"] > 1


def test_there_are_examples() -> None:
    assert list(EXAMPLES.glob("*.toml"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('locks = "no_lock"', "no_lock"),
        ("set = { share_percent = 5 }", "--share-percent: applies only to the studies"),
        ("sleepers = 2", "--sleepers: applies only to the study uncontended"),
    ],
)
def test_says_in_which_sweep_is_what_the_plan_refuses(
    lockyard: Callable[..., Outcome], tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f'[[sweep]]\nstudies = "wait"\n[[sweep]]\nstudies = "idle"\n{line}\n')
    refused = lockyard("measure", "--scenario", str(path), "--dry-run")
    assert refused.returncode == 2
    assert f"{path}, sweep 2: " in refused.stderr
    assert message in refused.stderr


def test_other_options_are_refused_next_to_a_scenario(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = tmp_path / "s.toml"
    path.write_text('studies = "wait"\nbad = 1\n')
    refused = lockyard("measure", "wait", "--threads", "2", "--scenario", str(path))
    assert refused.returncode == 2
    assert "drop threads, studies" in refused.stderr
    refused = lockyard("measure", "--scenario", str(path))
    assert refused.returncode == 2
    assert "line 2: bad: not a key" in refused.stderr
    assert "Traceback" not in refused.stderr
