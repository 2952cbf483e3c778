# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from conftest import COMMAND
from typer.testing import CliRunner

from lockyard.checks import bench
from lockyard.checks.clients import Client, ClientSize
from lockyard.checks.result import Check, Result, Settings
from lockyard.cli.app import app
from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    Fake = Callable[[str], dict[str, str]]

# The mutant of these tests: the order of a lock's release, weakened, wherever it is in the source.
BREAK_RELEASE = """
    if job["ask"] in ("check", "replay"):
        sites = real({**job, "ask": "mutations", "mutation": None})["result"]
        job["mutation"] = next(each for each in sites if "release ->" in each["words"])
"""
NEVER_DONE = """
    if job["ask"] == "check":
        print('{"progress": {"executions": 41, "states": 1234}}', flush=True)
        time.sleep(60)
"""
# The moment lets the progress be read before the signal comes.
INTERRUPTS = NEVER_DONE.replace(
    "time.sleep(60)", "time.sleep(0.5); os.kill(os.getppid(), signal.SIGINT); time.sleep(60)"
)


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def flags_of(size: dict[str, Any]) -> str:
    return " ".join(each for each in ("tries", "timed", "destroys") if size[each])


def test_checks_a_lock_in_a_suite_of_shapes(lockyard: Callable[..., Outcome]) -> None:
    checked = lockyard("check", "ticket_spinlock", "--json")
    assert checked.returncode == 0, checked.stderr
    found = [
        (each["size"]["threads"], each["size"]["acquisitions"], flags_of(each["size"]))
        for each in lines_of(checked.stdout)
    ]
    assert found == [(2, 1, ""), (2, 1, "tries"), (2, 2, ""), (3, 1, ""), (2, 1, "destroys")]
    for each in lines_of(checked.stdout):
        assert (each["verdict"], each["coverage"]) == ("passed", "exhaustive")
        assert each["executions"] > 0
        assert each["states"] > 0


def test_checks_a_timed_lock_with_time_outs_too(lockyard: Callable[..., Outcome]) -> None:
    checked = lockyard("check", "futex_mutex", "--json")
    assert checked.returncode == 0, checked.stdout
    found = [(each["size"]["threads"], flags_of(each["size"])) for each in lines_of(checked.stdout)]
    assert found[-2:] == [(2, "timed"), (3, "timed")]


def test_searches_with_any_number_of_preemptions_if_asked(lockyard: Callable[..., Outcome]) -> None:
    client = ("check", "fair_mutex_turns", "--json")
    by_its_bound, by_any = lockyard(*client), lockyard(*client, "--bound", "any", "--seconds", "1")
    assert "preemptions <= 2" in lines_of(by_its_bound.stdout)[0]["coverage"]
    assert "preemptions" not in lines_of(by_any.stdout)[0]["coverage"]


def test_checks_the_one_shape_that_is_asked_for(lockyard: Callable[..., Outcome]) -> None:
    checked = lockyard("check", "tas_spinlock", "ticket_spinlock", "--threads", "3", "--bound", "2")
    assert checked.returncode == 0, checked.stderr
    rows = re.findall(r"(\w+_spinlock) +(\S+) +passed .* preemptions <= (\d)", checked.stdout)
    locks = ("tas_spinlock", "ticket_spinlock")
    assert rows == [(lock, "3x1", bound) for lock in locks for bound in "12"]


def test_checks_as_many_threads_as_the_engine_has_room_for(
    lockyard: Callable[..., Outcome],
) -> None:
    sampled = ("--search", "random", "--seconds", "1", "--json")
    checked = lockyard("check", "tas_spinlock", "--threads", "9", *sampled)
    assert checked.returncode == 0, checked.stderr
    (result,) = lines_of(checked.stdout)
    assert (result["size"]["threads"], result["verdict"]) == (9, "passed")


def test_checks_every_lock(lockyard: Callable[..., Outcome]) -> None:
    listed = lockyard("check", "--all", "--threads", "2", "--seconds", "0.02", "--json")
    assert listed.returncode in (0, 5), listed.stdout  # 5: not all is done by then
    names = {each["client"] for each in lines_of(listed.stdout)}
    assert {"tas_spinlock", "ticket_spinlock", "futex_mutex"} <= names


def test_shows_a_failure_thread_by_thread_and_how_to_see_it_again(
    lockyard: Callable[..., Outcome], fake_checker: Fake
) -> None:
    broken = fake_checker(BREAK_RELEASE)
    checked = lockyard("check", "ticket_spinlock", "--threads", "2", extra=broken)
    assert checked.returncode == 4
    assert "ticket_spinlock 2x1: race: " in checked.stdout
    assert re.search(r"\n +ticket_spinlock\.hpp:\d+ +T0  \S", checked.stdout)
    assert re.search(r"\n +ticket_spinlock\.hpp:\d+ +│   T1  \S", checked.stdout)
    again = re.search(r"lockyard (check ticket_spinlock --replay \S+)", checked.stdout)
    assert again is not None
    replayed = lockyard(*again[1].split(), extra=broken)
    assert replayed.returncode == 4
    assert "ticket_spinlock 2x1: race: " in replayed.stdout
    assert "│   T1  " in replayed.stdout


def test_refuses_an_execution_that_there_is_no_more(
    lockyard: Callable[..., Outcome], fake_checker: Fake
) -> None:
    checked = lockyard(
        "check", "tas_spinlock", "--threads", "2", "--json", extra=fake_checker(BREAK_RELEASE)
    )
    (failed,) = lines_of(checked.stdout)
    assert (failed["standing"], failed["verdict"]) == ("failed", "race")
    stale = lockyard("check", "tas_spinlock", "--replay", failed["replay"] + "1111")
    assert stale.returncode == 2
    assert "another version" in stale.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "nothing to check"),
        (("ticket_spinlok",), "did you mean ticket_spinlock"),
        (("ticket_spinlock", "--all"), "one of them at a time"),
        (("--bench", "--mutants"), "one of them at a time"),
        (("ticket_spinlock", "--bench"), "one of them at a time"),
        (("--litmus", "--threads", "2"), "has its own client sizes"),
        (("--all", "--mutants", "--threads", "2"), "--mutants: has its own client sizes"),
        (("--bound", "0", "--all"), "--bound 0: without preemptions"),
        (("--bound", "-1", "--all"), "--bound -1: must be from 1"),
        (("--bound", "all", "--all"), "--bound all: must be from 1"),
        (("--threads", "0", "--all"), "--threads 0: must be from 1"),
        (("--threads", "10", "--all"), "--threads 10: must be from 1"),
        (("--acquisitions", "0", "--all"), "--acquisitions 0: must be from 1"),
        (("--seconds", "0", "--all"), "--seconds 0: must be more than 0"),
        (("--seconds", "nan", "--all"), "--seconds nan: must be more than 0"),
        (("--workers", "0", "--all"), "--workers 0: must be from 1"),
        (("--memory", "2", "--all"), "--memory 2: must be from 1M"),
        (("--memory", "1K", "--all"), "--memory 1K: must be from 1M"),
        (("--search", "all", "--all"), "--search all: no such search; choose from exhaustive"),
        (("--replay", "x"), "name that lock"),
        (("tas_spinlock", "futex_mutex", "--replay", "x"), "name that lock"),
        (("tas_spinlock", "--replay", "x"), "not of the form LOCK:SIZE:CHOICES"),
        (("tas_spinlock", "--replay", "tas_spinlock:2x:00"), "not of the form LOCK:SIZE:CHOICES"),
        (
            ("tas_spinlock", "--replay", "tas_spinlock:2x1tw:00"),
            "not of the form LOCK:SIZE:CHOICES",
        ),
        (("tas_spinlock", "--replay", "tas_spinlock:10x1:00"), "refuses the job"),
        (
            ("tas_spinlock", "--replay", "futex_mutex:2x1:00"),
            "an execution of futex_mutex, not of tas_spinlock; name futex_mutex",
        ),
        (("tas_spinlock", "--replay", "tas_spinlock:2x1:zz"), "does not fit"),
        (
            ("tas_spinlock", "--replay", "a:2x1:0", "--threads", "2"),
            "already contains the client size",
        ),
    ],
)
def test_refuses_bad_input_with_the_reason(arguments: tuple[str, ...], says: str) -> None:
    refused = CliRunner().invoke(app, ["check", *arguments])
    assert isinstance(refused.exception, UsageError)
    assert says in str(refused.exception)
    assert refused.stdout == ""


def test_a_refusal_is_bad_usage(lockyard: Callable[..., Outcome]) -> None:
    refused = lockyard("check", "ticket_spinlok")
    assert refused.returncode == 2
    assert "did you mean ticket_spinlock" in refused.stderr


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        (("--memory", "1M"), "the memory limit was reached"),
        (("--seconds", "0.05"), "the time limit was reached"),
    ],
)
def test_what_is_not_finished_is_inconclusive(
    lockyard: Callable[..., Outcome], limit: tuple[str, ...], says: str
) -> None:
    size = ("--threads", "4", "--acquisitions", "3")
    checked = lockyard("check", "futex_mutex", *size, *limit, "--json")
    assert checked.returncode == 5
    (result,) = lines_of(checked.stdout)
    assert (result["verdict"], result["coverage"]) == ("inconclusive", f"inconclusive: {says}")
    assert result["states"] > 0


@pytest.mark.parametrize("search", ["pct", "random"])
def test_sampling_says_how_many_executions(lockyard: Callable[..., Outcome], search: str) -> None:
    checked = lockyard(
        "check", "tas_spinlock", "--threads", "2", "--search", search, "--seconds", "0.2"
    )
    assert checked.returncode == 0
    assert re.search(r"passed .* sampled [\d,]+ executions", checked.stdout)


def test_ctrl_c_keeps_what_was_covered(environment: dict[str, str], fake_checker: Fake) -> None:
    with subprocess.Popen(
        [COMMAND, "check", "tas_spinlock", "futex_mutex", "--threads", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment, **fake_checker(INTERRUPTS)},
    ) as process:
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"tas_spinlock .*inconclusive +41 +1,234 +inconclusive: interrupted", stdout)
    assert "1 checks were not started" in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("answer", "status", "says"),
    [
        ("os.abort()", 4, "the checker ended with signal 6"),
        ("sys.exit(3)", 4, "the checker ended with status 3"),
        ("print('nonsense', flush=True)", 4, "it wrote no record but: b'nonsense'"),
        ("print('[]', flush=True)", 4, "it wrote no record but: b'[]'"),
        ("print('{}', flush=True)", 4, "it wrote no result but: {}"),
        ("print('{\"result\": {}}', flush=True)", 4, "has an unknown form"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 5, "perhaps out of memory"),
    ],
)
def test_a_failing_checker_is_a_result_and_the_next_check_follows(
    fake_checker: Fake, answer: str, status: int, says: str
) -> None:
    fails = f'if job["ask"] == "check" and job["threads"] == 3:\n    {answer}\n    continue'
    arguments = ["check", "tas_spinlock", "--json"]
    checked = CliRunner().invoke(app, arguments, env=fake_checker(fails))
    assert checked.exit_code == status
    verdicts = [each["verdict"] for each in lines_of(checked.stdout)]
    bad = "crashed" if status == 4 else "inconclusive"
    assert verdicts == ["passed", "passed", "passed", bad, "passed"]
    assert says in json.loads(checked.stdout.splitlines()[3])["what" if status == 4 else "left_out"]


def test_ends_a_checker_that_hangs(monkeypatch: pytest.MonkeyPatch, fake_checker: Fake) -> None:
    from lockyard import checker
    from lockyard.checks.clients import listed, named
    from lockyard.checks.result import Standing
    from lockyard.checks.session import Session

    monkeypatch.setattr(checker, "GRACE_S", 0.3)
    monkeypatch.setenv(*fake_checker(NEVER_DONE).popitem())
    with checker.Checker() as started:
        (client,) = named(listed(started), ["tas_spinlock"])
        session = Session(started)
        result = session.result(Check(client, client.size, Settings(seconds=0.2)))
    assert result.standing is Standing.INCONCLUSIVE
    assert (result.executions, result.states) == (41, 1234)
    assert "within" in result.left_out or "after its time" in result.left_out


def test_a_checker_that_is_missing_is_a_missing_capability(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    for path in (tmp_path, tmp_path / "none"):
        checked = lockyard("check", "--all", extra={"LOCKYARD_CHECKER": str(path)})
        assert checked.returncode == 3
        assert "correct or unset LOCKYARD_CHECKER" in checked.stderr


def test_figures_of_speed_are_shown_with_their_targets(lockyard: Callable[..., Outcome]) -> None:
    # A second of each rate, and a low limit for all else.
    measured = lockyard("check", "--bench", "--seconds", "0.2", "--json")
    assert measured.returncode == 0, measured.stderr
    *figures, memory = lines_of(measured.stdout)
    assert "ticket_spinlock 3x2" in [each["figure"] for each in figures]
    assert all(each["states"] > 0 for each in figures)
    assert memory["peak_bytes"] > 1 << 20


@pytest.mark.parametrize(("bounded", "is_met"), [("", True), ("short spins <= 1", False)])
def test_a_bounded_search_misses_a_target_for_all_executions(bounded: str, is_met: bool) -> None:
    client = Client(name="mutex", group="lock", summary="", expected="passed", size=ClientSize())
    figure = bench.Figure("mutex 2x1", ("mutex",), ClientSize(), at_most_s=9, exhaustive=True)
    result = Result(Check(client, ClientSize(), Settings()), "passed", seconds=1, bounded=bounded)
    assert bench.measured(figure, [result], workers=1).met == is_met
