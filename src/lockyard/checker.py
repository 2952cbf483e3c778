# SPDX-License-Identifier: Apache-2.0
"""The checker: its location, and a process of it that is restarted after its death."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from lockyard.errors import UsageError
from lockyard.program import Job, Program, ProgramDiedError, ProgramOverrunError, program_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# A working checker reports progress five times a second.
SILENCE_S = 60.0
GRACE_S = 10.0

Progress = dict[str, int]


def checker_path() -> Path:
    """The checker of this installation, or the one that LOCKYARD_CHECKER names."""
    return program_path("checker", "LOCKYARD_CHECKER", "no lock can be checked")


class Checker:
    """Checks what it knows; or, with a module, the user's locks and clients in that module."""

    def __init__(self, module: Path | None = None) -> None:
        self._path = checker_path()
        self._arguments = () if module is None else ("--module", str(module))
        self._program: Program | None = None

    @property
    def command(self) -> tuple[str, ...]:
        return (str(self._path), *self._arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._program is not None:
            self._program.close()
            self._program = None

    def ask(
        self,
        job: Job,
        limit_s: float | None = None,
        on_progress: Callable[[Progress], None] = lambda _: None,
    ) -> Any:
        """Returns the result of a job. Raises UsageError if the job is refused, ProgramDiedError,
        or ProgramOverrunError; after any exception the process has ended, and the next job gets a
        new one."""
        try:
            return self._ask(job, limit_s, on_progress)
        except BaseException:
            self.close()
            raise

    def _ask(self, job: Job, limit_s: float | None, on_progress: Callable[[Progress], None]) -> Any:
        if self._program is None:
            self._program = Program("checker", self._path, self._arguments)
        self._program.send(job)
        end_s = None if limit_s is None else time.monotonic() + limit_s + GRACE_S
        while True:
            left_s = SILENCE_S if end_s is None else end_s - time.monotonic()
            if left_s <= 0:
                raise ProgramOverrunError(
                    f"the checker did not end within {GRACE_S:g} s after its time and was stopped"
                )
            try:
                answer = self._program.receive(min(left_s, SILENCE_S))
            except ProgramOverrunError as error:
                if not self._arguments:
                    raise
                # It looks at the time at each step of the user's code.
                raise ProgramOverrunError(
                    f"{str(error).strip()} Perhaps a loop runs for long without an access that "
                    "the checker sees: make it shorter by a macro given by --flags"
                ) from None
            if "result" in answer:
                return answer["result"]
            if "error" in answer:
                raise UsageError(f"the checker refuses the job: {answer['error']}")
            if "progress" not in answer:
                raise ProgramDiedError("checker", 0, f"it wrote no result but: {answer}"[:200])
            on_progress(answer["progress"])
