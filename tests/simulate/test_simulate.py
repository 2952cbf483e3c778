# SPDX-License-Identifier: Apache-2.0
"""`lockyard simulate` and `lockyard machines`: figures, errors and repetition."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from lockyard.simulate.published import Figure, agreements, cliffs, rank_correlation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from conftest import Outcome

QUICK = ("--machine", "ryzen1700", "--for", "4ms", "--background", "quiet")


@pytest.fixture
def simulated(lockyard: Callable[..., Outcome]) -> Callable[..., Any]:
    """Runs `lockyard simulate` with --json and returns the document."""

    def run(*arguments: str, extra: Mapping[str, str] | None = None) -> Any:
        outcome = lockyard("simulate", *arguments, "--json", extra=extra)
        assert outcome.returncode == 0, outcome.stderr
        return json.loads(outcome.stdout)

    return run


@pytest.fixture
def definition(tmp_path: Path) -> Callable[..., str]:
    """Writes the definition of a machine in which a text is replaced, and returns the file."""

    def write(old: str = "", new: str = "") -> str:
        folder = files("lockyard") / "simulate" / "machines"
        text = (folder / "ryzen1700.toml").read_text("utf-8")
        assert old in text
        path = tmp_path / "mine.toml"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return str(path)

    return write


def test_same_seed_gives_the_same_document_in_two_processes_and_another_seed_does_not(
    simulated: Callable[..., Any],
) -> None:
    arguments = ("wait", "--locks", "mutex,mcs_spinlock", "--threads", "20", *QUICK)
    first = simulated(*arguments, "--seed", "7")
    # The second process has other hashes of strings.
    assert simulated(*arguments, "--seed", "7", extra={"PYTHONHASHSEED": "random"}) == first
    assert simulated(*arguments, "--seed", "70")["cells"] != first["cells"]


def test_queue_lock_collapses_with_one_thread_more_than_processors(
    simulated: Callable[..., Any],
) -> None:
    found = simulated(
        "throughput", "--locks", "mcs_spinlock", "--threads", "16,17", "--hold", "200ns",
        "--gap", "2us", *QUICK,
    )  # fmt: skip
    full, over = (cell["figures"]["operations_per_s"]["value"] for cell in found["cells"])
    assert over < 0.9 * full


def test_figures_have_a_range_over_backgrounds_and_name_what_they_depend_on(
    simulated: Callable[..., Any],
) -> None:
    found = simulated(
        "wait", "--locks", "ticket_spinlock", "--threads", "16", "--for", "30ms", "--sensitivity"
    )
    figures = found["cells"][0]["figures"]
    longest = figures["wait_max_ns"]
    assert longest["low"] < longest["value"] <= longest["high"]
    assert "background" in longest["depends_on"]
    rate = figures["operations_per_s"]
    assert rate["low"] < rate["value"]
    assert "hop_remote_ns" not in rate["depends_on"]


def test_cost_changes_the_figure_that_it_should(simulated: Callable[..., Any]) -> None:
    def rate(*changes: str) -> float:
        found = simulated("throughput", "--locks", "ticket_spinlock", *changes, *QUICK)
        value: float = found["cells"][0]["figures"]["operations_per_s"]["value"]
        return value

    usual = rate()
    assert rate("--set", "hop_socket_ns=184", "--set", "hop_remote_ns=184") < 0.8 * usual
    assert rate("--set", "futex_wake_ns=9000") == pytest.approx(usual)


def test_shows_tables_with_ranges_and_where_the_time_went(
    lockyard: Callable[..., Outcome],
) -> None:
    shown = lockyard("simulate", "scale", "--locks", "queued_spinlock", "--machine", "xeon8468",
                     "--threads", "1,96", "--pin", "--explain", "--for", "5ms")  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    for text in ("queued_spinlock", "96", "/s", "lines in transit"):
        assert text in shown.stdout


def test_urgent_thread_waits_for_the_hog_without_inheritance(simulated: Callable[..., Any]) -> None:
    where = ("--scheduler", "fifo", "--machine", "vm2", "--background", "quiet", "--for", "200ms")
    found = simulated("priority", "--locks", "mutex,pi_mutex", "--hog-percent", "40", *where)
    plain, inherited = (cell["figures"] for cell in found["cells"])
    assert plain["inverted_share"]["value"] > 0
    assert inherited["inverted_share"]["value"] == 0
    assert inherited["hog_cpu_share"]["value"] == pytest.approx(0.4, abs=0.05)
    assert {cell["threads"] for cell in found["cells"]} == {2}


def test_workers_are_pools_whose_bursts_and_pauses_can_be_chosen(
    simulated: Callable[..., Any],
) -> None:
    pools = "worker_pool[spin],worker_pool[event]"
    where = ("--machine", "vm2", "--threads", "1", "--background", "quiet")
    found = simulated("workers", "--pools", pools, "--burst", "1", "--gap", "4ms", *where)
    spin, event = (cell["figures"] for cell in found["cells"])
    assert spin["start_median_ns"]["value"] < event["start_median_ns"]["value"]
    for each in (spin, event):
        assert each["operations_per_s"]["value"] == pytest.approx(250, rel=0.1)


def test_bystander_is_slowed_by_the_other_thread_of_its_core(
    simulated: Callable[..., Any],
) -> None:
    few, many = (
        simulated("bystander", "--locks", "mutex", "--threads", threads, *QUICK)["cells"][0]
        for threads in ("8", "16")
    )
    assert few["figures"]["slowdown"]["value"] == pytest.approx(1, abs=0.1)
    assert many["figures"]["slowdown_busy"]["value"] > 1.2


def test_lists_and_shows_machines_with_their_sources(lockyard: Callable[..., Outcome]) -> None:
    listed = json.loads(lockyard("machines", "--json").stdout)
    assert {"ryzen1700", "xeon8468"} <= {each["name"] for each in listed["machines"]}
    assert {"cfs", "eevdf", "fifo", "rr"} <= {each["name"] for each in listed["schedulers"]}
    for each in listed["machines"]:
        assert each["sources"].keys() == {"topology", *each["costs"]}
    assert "hop_cache_ns" in lockyard("machines", "xeon8468").stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--threads", "65"], "at most 64 threads"),
        (["--scheduler", "cfq"], "did you mean cfs?"),
        (["--machine", "ryzen"], "did you mean ryzen1700?"),
        (["--locks", "mcs_spinlok"], "did you mean mcs_spinlock?"),
        (["--locks", "std::mutex"], "futex_mutex has the algorithm"),
        (["--set", "hop_cach_ns=3"], "did you mean hop_cache_ns?"),
        (["--set", "pause_ns=-3"], "not less than 0"),
        (["--set", "hop_cache_ns=500"], "is more than hop_socket_ns"),
        (["--set", "pause_ns"], "not NAME=NUMBER"),
        (["--background", "deskto"], "did you mean desktop?"),
        (["--loops", "5"], "applies only to wait and idle"),
        (["--for", "1us"], "too short"),
        (["--workload", "lock1"], "applies only to scale"),
        (["--burst", "4"], "applies only to workers"),
        (["--interval", "1ms"], "applies only to priority"),
        (["--interval", "1us"], "from 100us to 1s"),
        (["--hog-percent", "95"], "95"),
        (["--pools", "all"], "throughput measures locks"),
        (["scale", "--workload", "lock9"], "did you mean lock"),
        (["workers", "--locks", "mutex"], "measures pools"),
        (["workers", "--pools", "worker_pool[spinn]"], "did you mean worker_pool[spin]?"),
        (["priority", "--pin"], "share one processor"),
    ],
)
def test_refuses_what_it_cannot_simulate(
    lockyard: Callable[..., Outcome], arguments: list[str], expected: str
) -> None:
    study = [] if not arguments[0].startswith("-") else ["throughput"]
    refused = lockyard("simulate", *study, *arguments)
    assert refused.returncode == 2
    assert expected in refused.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('hit_ns = { value = 1, source = "agner" }', "hit_ns = { value = 1 }", "no source"),
        ("agner = ", "agnes = ", "names the source agner"),
        ("hit_ns = { value = 1,", "hit_ns = { value = -1,", "not less than 0"),
        ("hit_ns = { value = 1,", "hit_ns = { value = 900,", "is more than hop_core_ns"),
        ("pause_ns =", "paus_ns =", "did you mean pause_ns?"),
        ("processors = 16", "processors = 0", "must be a number from 1"),
        ("smt_slowdown = { value = 1.5", "smt_slowdown = { value = 0.5", "not less than 1"),
        ("[costs]", "[cost]", "no table [costs]"),
        ("[costs]", "[costs", "not a TOML file"),
    ],
)
def test_refuses_wrong_definitions_of_machines(
    lockyard: Callable[..., Outcome],
    definition: Callable[..., str],
    old: str,
    new: str,
    expected: str,
) -> None:
    refused = lockyard("machines", definition(old, new))
    assert refused.returncode == 2
    assert expected in refused.stderr.replace("\n", " ")


def test_simulates_a_definition_of_the_users_own(
    simulated: Callable[..., Any], definition: Callable[..., str]
) -> None:
    found = simulated("throughput", "--machine", definition(), "--locks", "mutex", "--for", "4ms")
    assert found["cells"][0]["threads"] == 16


def test_says_what_to_do_without_a_simulator(lockyard: Callable[..., Outcome]) -> None:
    refused = lockyard("simulate", "wait", extra={"LOCKYARD_SIMULATOR": "/nonexistent"})
    assert refused.returncode == 3
    assert "LOCKYARD_SIMULATOR" in refused.stderr


def test_machine_whose_costs_are_zero_ends_with_the_thread_that_never_advances(
    lockyard: Callable[..., Outcome],
) -> None:
    zero = [f"--set={name}=0" for name in ("hit_ns", "hop_core_ns", "pause_ns", "yield_ns")]
    rest = ("hop_cache_ns", "hop_socket_ns", "hop_remote_ns", "locked_ns")
    zero += [f"--set={name}=0" for name in rest]
    failed = lockyard("simulate", "throughput", "--locks", "ticket_spinlock", *zero)
    assert failed.returncode == 4
    assert "virtual time does not advance" in failed.stderr
    assert "thread " in failed.stderr


def test_cliff_of_a_curve_is_its_largest_fall_from_16_threads_on() -> None:
    curve = {2: (9, 9), 4: (3, 3), 16: (5, 5), 48: (4.9, 4), 56: (3, 3.9), 96: (2.5, 3.8)}
    figures = [
        Figure("lock1, x, operations per s", f"{threads} threads", *each)
        for threads, each in curve.items()
    ]
    assert cliffs(figures) == [
        "lock1, x, operations per s: falls most from 48 to 56 threads, simulated from 16 to 48"
    ]
    assert [each.table for each in agreements(figures)][-1] == "all operations per s"


def test_rank_correlation_shares_ranks_among_equal_values() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 2, 2, 3], [1, 2, 2, 3]) == pytest.approx(1)


def test_explain_reads_a_trace_and_finds_the_cause_that_the_machine_implies(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    def explained(lock: str) -> Any:
        trace = tmp_path / f"{lock}.trace"
        work = ("--threads", "8", "--hold", "5us", "--gap", "20us", "--for", "60ms")
        where = ("--machine", "vm2", "--locks", lock, "--trace", str(trace))
        done = lockyard("simulate", "throughput", *where, *work)
        assert done.returncode == 0, done.stderr
        return json.loads(lockyard("explain", "--file", str(trace), "--json").stdout)

    causes = {
        (each["lock"], each["kind"]): each["causes_ns"]
        for document in map(explained, ("ticket_spinlock", "futex_mutex"))
        for each in document["locks"]
    }
    for lock in ("ticket_spinlock", "futex_mutex"):
        found = causes[lock, "idle"]
        assert found["unexplained"] < 0.05 * sum(found.values())
    # The next ticket's owner is off its processor, for there are two processors and eight threads.
    idle = causes["ticket_spinlock", "idle"]
    assert idle["waiter_not_running"] > 0.9 * sum(idle.values())
    # Threads sleep, and one that is woken waits for a processor.
    assert causes["futex_mutex", "idle"]["woken_not_running"] > 0


def test_trace_is_of_one_cell(lockyard: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "both.trace"
    refused = lockyard("simulate", "wait", "--locks", "mutex,tas_spinlock", "--trace", str(path))
    assert refused.returncode == 2
    assert "2 cells are simulated" in refused.stderr.replace("\n", " ")
    assert not path.exists()
    refused = lockyard(
        "simulate", "wait", "--locks", "mutex", "--trace", str(tmp_path / "no" / "x")
    )
    assert refused.returncode == 2
    assert "cannot be written" in refused.stderr.replace("\n", " ")
