# SPDX-License-Identifier: Apache-2.0
"""lockyard explain: where each thread was during each long stall, and what caused the stall."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lockyard.errors import ExitStatus
from lockyard.explain import source
from lockyard.explain.session import Wanted, explained
from lockyard.measure.session import say

if TYPE_CHECKING:
    from pathlib import Path

    from lockyard.field_kit.long_waits import Chosen

MOST_WRONG_SHOWN = 20


def run(
    result: Path | None, file: Path | None, pid: int | None, wanted: Wanted, as_json: bool
) -> ExitStatus:
    found = explained(source.found(result, file, pid), wanted)
    if as_json:
        from lockyard.explain.document import document

        print(json.dumps(document(found)))  # noqa: T201
        return ExitStatus.DONE
    for warning in found.warnings:
        say(warning)
    from lockyard.explain.text import print_explained

    print_explained(found)
    return ExitStatus.DONE


def run_profile(path: Path, chosen: Chosen, as_json: bool) -> ExitStatus:
    """Shows the longest waits of a profile that 'lockyard profile' wrote."""
    from lockyard.field_kit import long_waits, profile_files

    processes = profile_files.read(path)
    if as_json:
        print(json.dumps(long_waits.document(processes, chosen)))  # noqa: T201
        return ExitStatus.DONE
    for line in long_waits.lines(processes, chosen):
        print(line)  # noqa: T201
    return ExitStatus.DONE


def run_truth(
    result: Path | None, file: Path | None, longer_than_ns: float, as_json: bool
) -> ExitStatus:
    """Prints the confusion matrix of traces whose causes were injected."""
    from lockyard.explain.truth import matrix_document, matrix_of, print_matrix, wrong_lines

    matrix = matrix_of(source.found(result, file, None), longer_than_ns)
    if as_json:
        print(json.dumps(matrix_document(matrix)))  # noqa: T201
    else:
        print_matrix(matrix)
        for line in wrong_lines(matrix, MOST_WRONG_SHOWN):
            say(line)
    return ExitStatus.DONE if matrix.holds else ExitStatus.CHECK_FAILED
