# SPDX-License-Identifier: Apache-2.0
"""Runs checks one after the other; a failure of the checker becomes a result."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lockyard.checks.result import Check, Result
from lockyard.program import ProgramDiedError, ProgramOverrunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lockyard.checker import Checker, Progress

# The time of a sampling check without --seconds; the checker's default, too.
SAMPLING_S = 10.0


@dataclass
class Session:
    checker: Checker
    on_progress: Callable[[Check, Progress, float], None] = lambda *_: None
    interrupted: bool = False
    unseen: tuple[str, ...] = ()  # what results of a user's code say besides
    _covered: Progress = field(default_factory=dict)
    _start_s: float = 0.0

    def results(self, checks: Iterable[Check]) -> Iterator[Result]:
        """Runs the checks; ends early on Ctrl-C."""
        for check in checks:
            if self.interrupted:
                return
            yield self.result(check)

    def result(self, check: Check) -> Result:
        self._covered = {}
        self._start_s = time.monotonic()
        self.on_progress(check, self._covered, 0.0)

        def on_progress(progress: Progress) -> None:
            self._covered = progress
            self.on_progress(check, progress, time.monotonic() - self._start_s)

        try:
            answer = self.checker.ask(check.to_job(), _limit_s(check), on_progress)
            return replace(Result.of(check, answer), unseen=self.unseen)
        except KeyboardInterrupt:
            self.interrupted = True
            return self._unanswered(check, "inconclusive", left_out="interrupted")
        except ProgramOverrunError as error:
            return self._unanswered(check, "inconclusive", left_out=str(error))
        except ProgramDiedError as error:
            if error.program_status == -signal.SIGKILL:
                reason = "the checker was killed, perhaps out of memory; give a lower --memory"
                return self._unanswered(check, "inconclusive", left_out=reason)
            return self._unanswered(check, "crashed", what=str(error))
        except (KeyError, TypeError) as error:
            what = f"the checker's result has an unknown form ({error!r}); reinstall lockyard"
            return self._unanswered(check, "crashed", what=what)

    def _unanswered(self, check: Check, verdict: str, what: str = "", left_out: str = "") -> Result:
        """Returns a result for a check without an answer, with the coverage so far."""
        return Result(
            check,
            verdict,
            what=what,
            left_out=left_out,
            executions=self._covered.get("executions", 0),
            states=self._covered.get("states", 0),
            seconds=time.monotonic() - self._start_s,
        )


def _limit_s(check: Check) -> float | None:
    if check.settings.seconds is None and check.settings.search != "exhaustive":
        return SAMPLING_S
    return check.settings.seconds
