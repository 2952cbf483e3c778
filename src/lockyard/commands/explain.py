# SPDX-License-Identifier: Apache-2.0
"""lockyard explain: where each thread was during each long stall, and what caused the stall."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.errors import ExitStatus
from lockyard.explain import source
from lockyard.explain.session import Wanted, explained
from lockyard.files import replace_file
from lockyard.measure.session import say
from lockyard.page.wanted import WantedPage

if TYPE_CHECKING:
    from pathlib import Path

    from lockyard.explain.session import Explained
    from lockyard.field_kit.long_waits import Chosen

MOST_WRONG_SHOWN = 20


@dataclass(frozen=True)
class Files:
    """The files that explanations are written to."""

    page: WantedPage
    perfetto: Path | None = None


def run(
    traces: source.Found, wanted: Wanted, as_json: bool, files: Files | None = None
) -> ExitStatus:
    files = files or Files(WantedPage())
    files.page.check()
    found = explained(traces, wanted)
    if as_json:
        from lockyard.explain.document import document

        print(json.dumps(document(found)))  # noqa: T201
    else:
        for warning in found.warnings:
            say(warning)
        from lockyard.explain.text import print_explained

        print_explained(found)
    _write(files, traces, found)
    return ExitStatus.DONE


def _write(files: Files, traces: source.Found, found: Explained) -> None:
    if files.perfetto is not None:
        from lockyard.explain.perfetto import lines

        content = "\n".join(lines(traces.traces)).encode()
        replace_file(files.perfetto, content, "so there is no trace for Perfetto")
        say(f"trace for https://ui.perfetto.dev: {files.perfetto}")
    if files.page.path is not None:
        from lockyard.page.of_explanation import page_of

        names = ", ".join(dict.fromkeys(each.path.name for each in traces.traces[:3]))
        files.page.write(page_of(found, names))


def run_profile(path: Path, chosen: Chosen, as_json: bool, files: Files) -> ExitStatus:
    """Shows the longest waits of a profile that 'lockyard profile' wrote."""
    from lockyard.field_kit import long_waits, perfetto_file, profile_files

    files.page.check()
    processes = profile_files.read(path)
    if as_json:
        print(json.dumps(long_waits.document(processes, chosen)))  # noqa: T201
    else:
        for line in long_waits.lines(processes, chosen):
            print(line)  # noqa: T201
    if files.perfetto is not None:
        profile_files.write(files.perfetto, perfetto_file.content(processes))
    if files.page.path is not None:
        from lockyard.page.of_profile import page_of

        files.page.write(page_of(processes))
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
