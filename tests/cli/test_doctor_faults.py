# SPDX-License-Identifier: Apache-2.0
"""lockyard doctor finds each fault that it knows in a fake machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_machine import machine
from machine_faults import FAULTS

from lockyard.doctor.checks import CHECKS, examine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("name", "files", "facts", "severity", "remedy"), FAULTS)
def test_finds_a_fault_with_its_remedy(  # noqa: PLR0913 - the columns of the table
    tmp_path: Path,
    name: str,
    files: dict[str, str | None],
    facts: dict[str, Any],
    severity: str,
    remedy: str,
) -> None:
    found = examine(machine(tmp_path, files, **facts)).findings
    assert name in found
    assert found[name].severity == severity
    assert remedy in f"{found[name].remedy} {found[name].about_remedy}"
    assert found[name].consequence


def test_every_check_has_a_fault_that_it_finds() -> None:
    finding_nothing = {"preemption"}
    assert {name for name, *_ in FAULTS} | finding_nothing == {check.__name__ for check in CHECKS}
