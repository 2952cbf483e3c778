# SPDX-License-Identifier: Apache-2.0
"""Programs in the style of GenMC's, and C++ programs with rare constructs: the checker's verdicts.

The first comment of each program has the two verdicts, of the program and of its form with the
macro FAULT, and derives them from the rules of C11 and C++20.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Outcome

pytestmark = pytest.mark.timeout(300)

PROGRAMS = Path(__file__).with_name("programs")
HEAD = re.compile(r"// (\w+); with FAULT (\w+)\. ")
# One of each kind; the others are checked by ./yard check-deep.
QUICK = {
    "backs_off_to_a_limit.cpp",
    "beyond_an_array.c",
    "bit_fields.c",
    "c11_condition.c",
    "cached_indices.cpp",
    "called_too_early.c",
    "causality.c",
    "cleanup_handlers.c",
    "drains_until_stopped.c",
    "ends_by_exit.c",
    "environment.c",
    "exit_unwinds.cpp",
    "freed_once.cpp",
    "futex_mutex.c",
    "futex_results.c",
    "futex_waits_twice.c",
    "futures.cpp",
    "last_member_array.c",
    "loaded_then_exchanged.c",
    "lock_seen_by_an_attempt.cpp",
    "lock_used_by_hand.c",
    "mcs_lock.c",
    "membarrier_dekker.cpp",
    "memory_resource.cpp",
    "never_given_back.c",
    "nondet_branches.c",
    "polls_in_blocks.c",
    "prints_by_streams.cpp",
    "pushes_to_two_stacks.cpp",
    "reads_to_the_end.c",
    "same_value.c",
    "scoped_locks.cpp",
    "shared_pointer_functions.cpp",
    "split_counts.cpp",
    "standard_array.cpp",
    "static_destructor.cpp",
    "stoppable_lock.c",
    "struct_by_value.cpp",
    "virtual_base.cpp",
    "waits_for_a_flag.cpp",
    "waits_for_its_own_variables.cpp",
}


def cases() -> Iterator[object]:
    for program in sorted(PROGRAMS.iterdir()):
        found = HEAD.search(program.read_text())
        assert found, f"{program.name} does not begin with its verdicts"
        marks = [] if program.name in QUICK else [pytest.mark.deep]
        for verdict, flags in zip(found.groups(), ((), ("--flags", "-DFAULT")), strict=True):
            yield pytest.param(
                program.name, flags, verdict, id=f"{program.name}-{verdict}", marks=marks
            )


def check(program: str, *flags: str, environment: dict[str, str]) -> dict[str, Any]:
    checked = subprocess.run(
        [COMMAND, "check", "--client", program, *flags, "--json", "--seconds", "120"],
        cwd=PROGRAMS,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
        env=environment,
    )
    assert checked.stdout, checked.stderr
    found: dict[str, Any] = json.loads(checked.stdout)
    return found


@pytest.mark.parametrize(("program", "flags", "verdict"), cases())
def test_programs_have_the_verdicts_of_the_standards(
    program: str, flags: tuple[str, ...], verdict: str, environment: dict[str, str]
) -> None:
    found = check(program, *flags, environment=environment)
    assert found["verdict"] == verdict, found["what"]
    if found["replay"]:
        again = check(program, *flags, "--replay", found["replay"], environment=environment)
        assert (again["verdict"], again["what"]) == (verdict, found["what"])


def test_creations_joins_and_first_turns_of_spins_double_no_executions(
    environment: dict[str, str],
) -> None:
    """The barrier has 36 graphs: in each phase the threads arrive in one of six orders."""
    found = check("three_at_a_barrier.c", environment=environment)
    assert found["executions"] < 500


def test_threads_that_wait_for_each_other_multiply_no_executions(
    environment: dict[str, str],
) -> None:
    """Each fork is taken in one of two orders, and two of all 64 results need a circle."""
    found = check("philosophers.c", environment=environment)
    assert found["executions"] == 62


@pytest.mark.parametrize(
    "program",
    [
        "futex_barrier.c",
        "futex_mutex.c",
        "futex_once.c",
        "futex_semaphore.c",
        "futex_sequence.c",
        "futex_timed.c",
    ],
)
def test_sleeps_have_no_limit_where_nothing_reads_their_results(
    program: str, environment: dict[str, str]
) -> None:
    assert check(program, environment=environment)["coverage"] == "exhaustive"


# Each crash leaves the checker able to go on: the failing execution is run again for its steps.
@pytest.mark.deep
@pytest.mark.parametrize(
    ("text", "verdict", "said"),
    [
        ("return 5 / number;", "assertion", "divided by zero"),
        ("if (number == 0) __builtin_trap();", "assertion", "an instruction ends the program"),
        ("return ((int (*)(void))pointer)();", "lifetime", "called through a null pointer"),
        (
            "return ((int (*)(void))(number == 0 ? &data : 0))();",
            "lifetime",
            "a function is called at an address without code",
        ),
        (
            'if (number == 0) strtok((char*)0x1234567, "a");',
            "lifetime",
            "an address without memory is used",
        ),
    ],
)
def test_a_crash_is_a_failing_execution(
    text: str, verdict: str, said: str, environment: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "ends.c"
    program.write_text(
        "#include <string.h>\n_Atomic int number;\nvoid* _Atomic pointer;\nstatic int data;\n"
        f"int main(void) {{ {text} }}\n"
    )
    found = check(str(program), environment=environment)
    assert found["verdict"] == verdict, found
    assert said in found["what"]
    assert found["steps"][-1]["where"] == "ends.c:5"
    again = check(str(program), "--replay", found["replay"], environment=environment)
    assert (again["verdict"], again["what"]) == (verdict, found["what"])


def test_worker_processes_search_together_what_one_searches(
    environment: dict[str, str], tmp_path: Path
) -> None:
    text = (PROGRAMS / "three_at_a_barrier.c").read_text().replace("threads = 3", "threads = 4")
    program = tmp_path / "four_at_a_barrier.c"
    program.write_text(text)
    alone, together = (
        check(str(program), "--workers", workers, environment=environment) for workers in ("1", "3")
    )
    assert alone["executions"] > 10_000  # other processes begin after 4,096
    for key in ("verdict", "coverage", "executions", "states", "spins"):
        assert together[key] == alone[key]


@pytest.mark.deep
@pytest.mark.parametrize(
    "text",
    [
        "int deep(int n) { volatile char all[1000]; all[0] = (char)n; "
        "return n == 0 ? all[0] : deep(n - 1) + all[0]; } int main(void) { deep(1000); }",
        "int main(void) { volatile char all[400000]; all[0] = 1; }",
    ],
)
def test_says_that_the_stack_is_too_small(
    text: str, lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    program = tmp_path / "ends.c"
    program.write_text(f"{text}\n")
    checked = lockyard("check", "--client", str(program))
    assert checked.returncode == 2, checked.stdout
    assert "a thread needs more than 256 KiB of stack" in checked.stderr


@pytest.mark.deep
def test_says_that_static_initialisation_crashes(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    program = tmp_path / "begins.cpp"
    program.write_text("static int* volatile none;\nstatic int first = *none;\nint main() {}\n")
    checked = lockyard("check", "--client", str(program))
    assert checked.returncode != 0, checked.stdout
    assert "the code crashes in its static initialisation" in checked.stderr
