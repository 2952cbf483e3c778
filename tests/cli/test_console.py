# SPDX-License-Identifier: Apache-2.0
"""The console prints text as it is, and tables that fit."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from lockyard.checks import text
from lockyard.checks.clients import Client, ClientSize
from lockyard.checks.result import Check, Result, Settings
from lockyard.report.console import stdout_console


@pytest.mark.parametrize("name", ["my.hpp:lock::spin", "m.hpp:m::m8", ":key:"])
def test_names_between_colons_are_no_pictures(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stdout_console().print(name, markup=False)
    assert capsys.readouterr().out.rstrip() == name


def test_a_narrow_table_of_checks_keeps_the_verdict() -> None:
    path = "a/client/whose/path/is/longer/than/a/line/of/the/terminal.cpp"
    client = Client(path, "client", "", "passed", ClientSize())
    result = Result(Check(client, ClientSize(), Settings()), "passed", executions=1234)
    printed = io.StringIO()
    Console(file=printed, width=60).print(text._table([result]))  # noqa: SLF001
    assert "passed" in printed.getvalue()
    assert "1,234" in printed.getvalue()
