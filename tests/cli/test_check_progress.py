# SPDX-License-Identifier: Apache-2.0
"""Progress of a check whose standard error is not a terminal."""

from __future__ import annotations

from lockyard.checks.clients import Client, ClientSize
from lockyard.checks.progress import lines_of
from lockyard.checks.result import Check, Settings


def test_progress_without_a_terminal_is_a_line_every_ten_seconds() -> None:
    lines: list[str] = []
    on_progress = lines_of(lines.append)
    client = Client(name="mine", group="lock", summary="", expected="passed", size=ClientSize())
    check = Check(client, ClientSize(), Settings())
    for _ in range(2):
        on_progress(check, {}, 0.0)
        for second in (1.0, 9.9, 10.5, 12.0, 20.4, 20.6):
            on_progress(check, {"executions": 5_000, "states": 9_000}, second)
    assert [line.rsplit(", ", 1)[1] for line in lines] == ["after 10 s", "after 21 s"] * 2
    assert "5,000 executions, 9,000 states" in lines[0]
