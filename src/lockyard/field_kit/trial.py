# SPDX-License-Identifier: Apache-2.0
"""A program alone and with other locks, in turn: what each lock gains or loses."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from lockyard.errors import ExitStatus, LockyardError, UsageError
from lockyard.field_kit import preload
from lockyard.stats import Ratio, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

ALONE = "alone"
FEWEST_ROUNDS = 7  # with fewer, no interval of 95 % is narrower than all values
RUN_TIME = "run time"
SWITCHES = "context switches"
_QUOTED = 2000


class FailedRunError(LockyardError):
    """A run of the program failed, so its figures mean nothing."""

    status = ExitStatus.CHECK_FAILED


@dataclass(frozen=True)
class Metric:
    """A figure of a run; `pattern` is None for those that lockyard measures itself."""

    name: str
    is_lower_better: bool
    pattern: re.Pattern[str] | None = None

    def read(self, output: str) -> float:
        """Returns the last match's figure."""
        matches = self.pattern.findall(output) if self.pattern else []
        try:
            return float(matches[-1].replace(",", ""))
        except (IndexError, ValueError):
            found = f"found {matches[-1]!r}, which is not a number" if matches else "found nothing"
            raise UsageError(
                f"the pattern {self.name!r} {found} in the program's output, so nothing "
                f"can be compared; the output ends with: {output[-200:].strip()!r}"
            ) from None


def metric_of(text: str, is_lower_better: bool) -> Metric:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"{text}: not a regular expression ({error}); correct it") from None
    if pattern.groups != 1:
        raise UsageError(
            f"{text}: has {pattern.groups} groups, so which part is the figure is unknown; put one "
            "pair of parentheses around the number"
        )
    return Metric(text, is_lower_better, pattern)


@dataclass(frozen=True)
class Wanted:
    command: tuple[str, ...]
    locks: tuple[str, ...]  # without ALONE
    metrics: tuple[Metric, ...]
    rounds: int
    seed: int


@dataclass
class Trial:
    """Figures by metric, lock and round."""

    wanted: Wanted
    metrics: tuple[Metric, ...]  # the wanted ones, and those that lockyard measures itself
    load: tuple[float, float] = (0.0, 0.0)  # before and after
    figures: dict[tuple[str, str], dict[int, float]] = field(default_factory=dict)

    def add(self, metric: str, lock: str, round_: int, figure: float) -> None:
        self.figures.setdefault((metric, lock), {})[round_] = figure

    def ratio(self, metric: str, lock: str) -> Ratio | None:
        """Returns the ratio to the program alone; None if that has no figure other than 0."""
        return paired_ratio(self.figures[metric, lock], self.figures[metric, ALONE])


def too_few_rounds(rounds: int) -> str:
    return (
        f"--rounds {rounds}: fewer than {FEWEST_ROUNDS} rounds give no interval of 95 %; give "
        f"{FEWEST_ROUNDS} or more"
    )


def note(round_: int, name: str) -> None:
    """Shows what is run now, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[Kround {round_ + 1}: {name}", end="", file=sys.stderr)  # noqa: T201


def end_notes() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)  # noqa: T201


def gains(metric: Metric, ratio: Ratio | None) -> bool | None:
    """Returns whether the lock gains; None if no difference is shown."""
    if ratio is None or not ratio.shows_difference:
        return None
    return (ratio.median < 1) == metric.is_lower_better


def measured(wanted: Wanted, tell: Callable[[int, str], None]) -> Trial:
    """Runs the program alone and with each lock in each round, in random order within a round."""
    trial = Trial(wanted, (Metric(RUN_TIME, True), *wanted.metrics, Metric(SWITCHES, True)))
    launches = {lock: preload.Launch(wanted.command, lock, {}) for lock in wanted.locks}
    launches[ALONE] = preload.Launch(wanted.command, None, {})
    order = random.Random(wanted.seed)  # noqa: S311 - no secret
    before = os.getloadavg()[0]
    for round_ in range(wanted.rounds):
        names = list(launches)
        order.shuffle(names)
        for name in names:
            tell(round_, name)
            _run(trial, launches[name], name, round_)
    trial.load = (before, os.getloadavg()[0])
    return trial


def _run(trial: Trial, launch: preload.Launch, name: str, round_: int) -> None:
    with preload.report_file() as reports, tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = launch.start(
            reports, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        usage = _usage_at_end(process)
        took_s = time.perf_counter() - begin
        text = _text(output)
        if process.returncode != 0:
            how = "alone" if name == ALONE else f"with {name}"
            raise FailedRunError(
                f"{launch.command[0]} {how} ended with status {process.returncode} in round "
                f"{round_ + 1}, so its figures mean nothing; it printed at last: "
                f"{text[-_QUOTED:].strip() or 'nothing'}"
            )
        launch.check(preload.read_reports(reports))
    trial.add(RUN_TIME, name, round_, took_s)
    trial.add(SWITCHES, name, round_, usage.ru_nvcsw + usage.ru_nivcsw)
    for metric in trial.metrics:
        if metric.pattern is not None:
            trial.add(metric.name, name, round_, metric.read(text))


def _usage_at_end(process: subprocess.Popen[bytes]) -> Any:
    """Waits; an interruption ends the program, too. The usage includes the program's children."""
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        process.wait()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
