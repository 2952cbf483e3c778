# SPDX-License-Identifier: Apache-2.0
"""The harness at its own interface: jobs in, records out, faults named."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import time
from typing import Any

import pytest

from lockyard.harness import Harness, harness_path
from lockyard.program import ProgramDiedError, ProgramOverrunError

JOB: dict[str, Any] = {
    "schema": 2,
    "study": "wait",
    "lock": "futex_mutex",
    "conditions": {
        "threads": 2,
        "pinning": "none",
        "policy": "other",
        "priority": 0,
        "nice": 0,
        "slice_ns": None,
        "deadline": None,
        "load": 0,
        "load_nice": 0,
        "timer_slack_ns": None,
        "hold_ns": 0,
        "gap_ns": 0,
        "lengths": "constant",
        "parameters": {},
        "loops": None,
        "duration_s": 0.02,
        "as_published": False,
        "seed": 1,
    },
    "rehearse": False,
    "block": 3,
    "run": 3,
    "clock": {"source": "tsc", "ns_per_tick": 0.4},
    "cgroup": None,
    "environment": "abc",
}


def answer(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [harness_path()], input=text, capture_output=True, text=True, timeout=60, check=False
    )


def changed(path: str, value: Any) -> str:
    """The job with the value at a JSON pointer replaced, or removed where the value is None."""
    job = copy.deepcopy(JOB)
    *way, last = path.strip("/").split("/")
    target = job
    for key in way:
        target = target[key]
    if value is None:
        del target[last]
    else:
        target[last] = value
    return json.dumps(job)


def test_a_wakeup_without_a_worker_is_refused() -> None:
    job = json.loads(changed("/study", "wakeup")) | {"lock": "spin"}
    job["conditions"]["threads"] = 1
    refused = answer(json.dumps(job))
    assert refused.returncode == 2
    assert "job at /conditions/threads: must be at least 2" in refused.stderr


def test_a_schedule_without_arrivals_is_refused() -> None:
    job = copy.deepcopy(JOB) | {"study": "response"}
    job["conditions"]["parameters"] = {"load_percent": 0, "rate_per_s": 0}
    refused = answer(json.dumps(job))
    assert refused.returncode == 2
    assert "job at /conditions/parameters: load_percent and rate_per_s must" in refused.stderr
    job["conditions"]["parameters"]["rate_per_s"] = 1000
    assert answer(json.dumps(job)).returncode == 0


@pytest.mark.parametrize("sleepers", [0, 65, 1.5, "1"])
def test_a_count_is_a_whole_number_in_its_range(sleepers: Any) -> None:
    job = copy.deepcopy(JOB) | {"study": "uncontended"}
    job["conditions"] |= {"threads": 1, "parameters": {"sleepers": sleepers}}
    refused = answer(json.dumps(job))
    assert refused.returncode == 2
    assert "job at /conditions/parameters/sleepers: must be a whole number" in refused.stderr


@pytest.mark.parametrize("writers", [2, 3])
def test_some_of_the_threads_leave_others(writers: int) -> None:
    job = copy.deepcopy(JOB) | {"study": "readers", "lock": "shared_mutex"}
    job["conditions"]["parameters"] = {"writers": writers}
    refused = answer(json.dumps(job))
    assert refused.returncode == 2
    assert "/conditions/parameters/writers: must be a whole number from 0 to 1" in refused.stderr


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        ("parameters/workload", {"parameters": {"workload": "abc"}}),
        ("parameters/workload", {"parameters": {"workload": None}}),
        ("parameters/workload", {"parameters": {}}),
        ("threads", {"parameters": {"workload": "abba"}, "threads": 2}),
    ],
)
def test_a_workload_is_one_of_the_study_with_its_threads(
    place: str, changes: dict[str, Any]
) -> None:
    job = copy.deepcopy(JOB) | {"study": "recovery", "lock": "resilient_mutex"}
    job["conditions"] |= changes
    refused = answer(json.dumps(job))
    assert refused.returncode == 2
    assert f"job at /conditions/{place}: " in refused.stderr


def test_answers_every_job_with_a_record_in_order() -> None:
    answered = answer(json.dumps(JOB) + "\n\n" + changed("/study", "idle") + "\n")
    assert answered.returncode == 0, answered.stderr
    first, second = [json.loads(line) for line in answered.stdout.splitlines()]
    assert (first["study"], second["study"]) == ("wait", "idle")
    assert first["block"] == 3
    assert first["environment"] == "abc"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/schema", 1),
        ("/schema", "2"),
        ("/schema", None),
        ("/study", "wayt"),
        ("/study", 7),
        ("/lock", "no_such_lock"),
        ("/conditions", []),
        ("/conditions/threads", 0),
        ("/conditions/threads", -1),
        ("/conditions/threads", 5000),
        ("/conditions/threads", 1.5),
        ("/conditions/threads", None),
        ("/conditions/pinning", "tight"),
        ("/conditions/pinning", []),
        ("/conditions/duration_s", 0),
        ("/conditions/duration_s", -1),
        ("/conditions/duration_s", "2s"),
        ("/conditions/loops", 0),
        ("/conditions/as_published", "yes"),
        ("/clock", "tsc"),
        ("/clock/source", "wall"),
        ("/clock/ns_per_tick", 0),
        ("/conditions/duration_s", 61),
        ("/conditions/seed", -1),
        ("/conditions/policy", "fair"),
        ("/conditions/policy", None),
        ("/conditions/priority", 100),
        ("/conditions/nice", 20),
        ("/conditions/slice_ns", 0),
        ("/conditions/deadline", {"runtime_ns": 1, "deadline_ns": 2}),
        ("/conditions/load", -1),
        ("/conditions/load_nice", -21),
        ("/conditions/timer_slack_ns", 0),
        ("/conditions/hold_ns", -1),
        ("/conditions/gap_ns", 1e9),
        ("/conditions/gap_ns", None),
        ("/conditions/lengths", "normal"),
        ("/conditions/parameters", None),
        ("/conditions/parameters", 7),
        ("/conditions/parameters/share_percent", 50),  # in a study without parameters
        ("/rehearse", 1),
        ("/cgroup", 7),
    ],
)
def test_names_the_place_of_a_fault_as_a_json_pointer(path: str, value: Any) -> None:
    answered = answer(changed(path, value))
    assert answered.returncode == 2
    assert f"job at {path}" in answered.stderr  # or at what it lacks
    assert answered.stdout == ""


@pytest.mark.parametrize("text", ['{"schema":1,"study":', "lock", '"', "[1,2", "{}x"])
def test_refuses_what_is_no_complete_json(text: str) -> None:
    answered = answer(text)
    assert answered.returncode == 2
    assert "JSON" in answered.stderr
    assert answered.stdout == ""


def test_refuses_a_document_that_is_no_object() -> None:
    answered = answer("[]")
    assert answered.returncode == 2
    assert "must be an object" in answered.stderr


def test_refuses_more_threads_than_a_study_has() -> None:
    answered = answer(changed("/study", "uncontended"))
    assert answered.returncode == 2
    assert "job at /conditions/threads: must be 1" in answered.stderr


def test_counts_every_operation_in_its_histogram() -> None:
    record = json.loads(answer(json.dumps(JOB)).stdout)
    counted = sum(count for _, count in record["histograms"]["wait"]["counts"])
    assert counted == record["values"]["operations"]
    assert sum(record["values"]["operations_per_thread"]) == counted


def test_says_unavailable_for_a_processor_that_is_not_there() -> None:
    answered = answer(changed("/conditions/pinning", [4095]))
    record = json.loads(answered.stdout)
    assert record["status"] == "unavailable"
    assert "threads cannot be pinned to processor 4095" in record["reason"]


@pytest.mark.parametrize("pinning", ["compact", "spread", [0]])
def test_measures_pinned_threads(pinning: Any) -> None:
    if pinning == [0]:
        pinning = [min(os.sched_getaffinity(0))]
    record = json.loads(answer(changed("/conditions/pinning", pinning)).stdout)
    assert record["status"] == "ok", record["reason"]
    assert record["conditions"]["pinning"] == pinning


def test_says_so_when_records_cannot_be_written() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        answered = subprocess.run(
            [harness_path()],
            input=json.dumps(JOB),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert answered.returncode == 3
    assert "No space left on device" in answered.stderr


def test_refuses_an_unknown_option_and_explains_itself() -> None:
    asked = subprocess.run(
        [harness_path(), "--what"], capture_output=True, text=True, timeout=60, check=False
    )
    assert asked.returncode == 2
    assert "usage:" in asked.stderr


@pytest.mark.deep  # compares times
def test_measures_one_thread_before_any_other_thread_existed() -> None:
    """In every run, also after one that had threads: std::mutex shows it on glibc."""
    alone = changed("/study", "uncontended").replace('"threads": 2', '"threads": 1')
    alone = alone.replace('"parameters": {}', '"parameters": {"sleepers": 1}')
    jobs = [changed("/conditions/threads", 4), alone]
    last = json.loads(
        answer("\n".join(jobs).replace("futex_mutex", "std::mutex")).stdout.splitlines()[-1]
    )
    values = last["values"]
    assert values["pair_before_threads_least_ns"] < values["pair_after_threads_least_ns"]


def test_ends_its_run_when_it_is_ended_itself() -> None:
    long_job = changed("/conditions/duration_s", 50.0)
    with subprocess.Popen(
        [harness_path()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write(long_job + "\n")
        process.stdin.flush()
        children: list[str] = []
        while not children:
            listed = f"/proc/{process.pid}/task/{process.pid}/children"
            with open(listed) as file:  # noqa: PTH123 - a file of the kernel's
                children = file.read().split()
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        while _is_running(children[0]):
            time.sleep(0.01)


def _is_running(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - a file of the kernel's
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_run_that_does_not_answer_in_time_is_ended() -> None:
    with Harness() as harness, pytest.raises(ProgramOverrunError, match="no answer within"):
        harness.run(json.loads(changed("/conditions/duration_s", 60.0)), timeout_s=0.3)


def test_a_bad_job_ends_the_harness_with_its_reason() -> None:
    with Harness() as harness, pytest.raises(ProgramDiedError, match="/lock") as died:
        harness.run({**JOB, "lock": "no_such_lock"}, timeout_s=30)
    assert died.value.program_status == 2
