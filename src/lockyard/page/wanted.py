# SPDX-License-Identifier: Apache-2.0
"""The page, and the charts in the terminal, that a command was asked for, if any."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError
from lockyard.measure.session import say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.measure.session import Measured
    from lockyard.page.model import Page


@dataclass(frozen=True)
class WantedPage:
    path: Path | None = None  # None: no page
    simulated: Sequence[Path] = ()
    in_terminal: bool = False  # charts of records go to standard output, too

    def check(self) -> None:
        """Raises UsageError before a long measurement whose page could not be written."""
        if self.path is None:
            if self.simulated:
                raise UsageError(
                    "--simulated draws into the page, but there is none; add --page FILE.html"
                )
            return
        folder = self.path.parent
        if self.path.is_dir():
            problem = "is a folder"
        elif not folder.is_dir() or not os.access(folder, os.W_OK):
            problem = f"{folder} is not a folder that can be written"
        else:
            self.simulated_documents()
            return
        raise UsageError(
            f"--page {self.path}: {problem}, so no page can be written and nothing was done; name "
            "a file in a folder with permission"
        )

    def write_records(
        self, measured: Measured, reference: str | None, warnings: Sequence[str] = ()
    ) -> None:
        if self.in_terminal:
            _print_charts(measured)
        if self.path is not None:
            from lockyard.page.of_records import page_of

            self.write(*page_of(measured, reference, self.simulated_documents(), warnings))

    def write(self, page: Page, order: Sequence[str] = ()) -> None:
        """Writes the page, and says so on standard error."""
        if self.path is None:
            return
        from lockyard.page import bundle

        for note in bundle.write(self.path, page, order):
            say(note)
        say(f"page: {self.path}")

    def simulated_documents(self) -> list[dict[str, Any]]:
        return [_simulated(path) for path in self.simulated]


def _print_charts(measured: Measured) -> None:
    from lockyard import harness
    from lockyard.page.in_terminal import charts
    from lockyard.report.console import stdout_console
    from lockyard.report.summary import summarise

    console = stdout_console()
    for line in charts(summarise(measured.runs, harness.catalog()), console):
        if line.style == "bold":  # a chart begins with its title, which may be long
            console.print()
            console.print(line, highlight=False)
        else:
            console.print(line, no_wrap=True, overflow="crop", highlight=False)


def _simulated(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
        known = all("figures" in cell and "threads" in cell for cell in document["cells"])
        if known and {"study", "machine"} <= document.keys():
            return dict(document)
    except OSError as error:
        raise UsageError(
            f"--simulated {path}: cannot be read ({error.strerror}), so no page was written; name "
            "a readable file"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise UsageError(
        f"--simulated {path}: not what 'lockyard simulate --json' prints, so no page was written; "
        "simulate again with --json and name that file"
    )
