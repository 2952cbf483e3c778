# SPDX-License-Identifier: Apache-2.0
"""The console prints text as it is."""

from __future__ import annotations

import pytest

from lockyard.report.console import stdout_console


@pytest.mark.parametrize("name", ["my.hpp:lock::spin", "m.hpp:m::m8", ":key:"])
def test_names_between_colons_are_no_pictures(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stdout_console().print(name, markup=False)
    assert capsys.readouterr().out.rstrip() == name
