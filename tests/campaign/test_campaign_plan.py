# SPDX-License-Identifier: Apache-2.0
"""Campaign files: the tasks that they mean, and the errors in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import msgspec
import pytest

from lockyard import schema
from lockyard.campaign.document import document, planned
from lockyard.campaign.engine import Outcome
from lockyard.campaign.plan import read
from lockyard.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
command = "measure"
limit_s = 60

[each]
locks = "mutex,std::mutex"
as-published = false
peers = true

[sweep]
study = ["wait", "throughput"]
threads = [2, "4,16"]
"""


def _file(path: Path, text: str) -> Path:
    file = path / "night.toml"
    file.write_text(text)
    return file


def test_makes_a_task_for_each_combination(tmp_path: Path) -> None:
    campaign = read(_file(tmp_path, FILE))
    assert len(campaign.tasks) == 4
    assert str(campaign.tasks[1]) == (
        "lockyard measure wait --locks mutex,std::mutex --peers --threads 4,16"
    )
    assert (campaign.limit_s, campaign.out) == (60.0, tmp_path / "night.results")
    assert len({task.name for task in campaign.tasks}) == 4


def test_a_task_keeps_its_name_so_that_a_campaign_can_go_on(tmp_path: Path) -> None:
    names = [task.name for task in read(_file(tmp_path, FILE)).tasks]
    assert names == [task.name for task in read(_file(tmp_path, FILE)).tasks]
    assert names[0].startswith("wait.mutex.std..mutex.2.")


def test_the_argument_of_a_check_is_its_lock(tmp_path: Path) -> None:
    text = 'command = "check"\n[sweep]\nlock = ["mutex", "fair_mutex"]\nthreads = [2, 3]\n'
    tasks = read(_file(tmp_path, text)).tasks
    assert [str(task) for task in tasks][:2] == [
        "lockyard check mutex --threads 2",
        "lockyard check mutex --threads 3",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("command = [", "not a TOML file"),
        ('command = "report"', "cannot be a campaign; choose from measure, simulate, check"),
        ("speed = 1", "unknown key 'speed'"),
        ("each = 1", r"\[each\] must be a table"),
        ("[each]\nthreads = 1\n[sweep]\nthreads = [2]", r"threads is in \[each\] and in \[sweep\]"),
        ("[sweep]\nstudy = []", r"study in \[sweep\] has no value"),
        ("[each]\nlocks = {}", "cannot be the value of an option"),
        ("limit_s = 0", "not a time in seconds"),
        ("limit_s = true", "not a time in seconds"),
        (f"[sweep]\na = {list(range(200))}\nb = {list(range(200))}", "more than 10,000"),
    ],
)
def test_refuses_a_file_that_means_nothing(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(_file(tmp_path, text))


def test_refuses_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "none.toml")


def test_its_documents_follow_their_schema(tmp_path: Path) -> None:
    campaign = read(_file(tmp_path, FILE))
    outcome = Outcome(done=1, kept=2, lost=["worker a is gone"], failed=["b: no result"])
    for each in (document(campaign, outcome), planned(campaign)):
        jsonschema.validate(json.loads(msgspec.json.encode(each)), schema.stored("campaign"))
    assert document(campaign, outcome).started_again == ["worker a is gone"]
    assert planned(campaign).tasks[0][0] == "measure"
