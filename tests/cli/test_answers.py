# SPDX-License-Identifier: Apache-2.0
"""The page of answers: every question has commands, and the tool that repeats them finds each."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import answers


def test_every_question_has_a_command() -> None:
    page = answers.PAGE.read_text()
    questions = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert questions == list(dict.fromkeys(each.question for each in answers.commands(page)))


def test_finds_every_command_and_leaves_out_remarks() -> None:
    page = "## Why?\n\ntext\n\n    lockyard measure wait && lockyard explain f   # a remark\n"
    found = answers.commands(page + "\n    lockyard costs --for '1 s'\n")
    assert [each.words for each in found] == [
        ["lockyard", "measure", "wait"],
        ["lockyard", "explain", "f"],
        ["lockyard", "costs", "--for", "1 s"],
    ]
    assert {each.question for each in found} == {"Why?"}
