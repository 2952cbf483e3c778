# SPDX-License-Identifier: Apache-2.0
"""The output of `lockyard try --json`. schema/trial.schema.json is generated from these types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from lockyard.field_kit.trial import ALONE, gains

if TYPE_CHECKING:
    from lockyard.field_kit.trial import Metric, Trial


class RatioDocument(Struct):
    """A figure with the lock divided by the figure alone, and the interval of 95 %, if any."""

    median: float
    low: float | None
    high: float | None


class LockDocument(Struct):
    figures: Annotated[list[float], Meta(description="One for each round.")]
    ratio: RatioDocument | None
    gains: Annotated[bool | None, Meta(description="Null: no difference is shown.")]


class MetricDocument(Struct):
    name: str
    is_lower_better: bool
    alone: list[float]
    locks: dict[str, LockDocument]


class LoadDocument(Struct):
    before: float
    after: float


class TrialDocument(Struct, kw_only=True):
    """A program, run alone and with each lock."""

    schema: Literal[1] = 1
    command: list[str]
    rounds: int
    seed: int
    load: LoadDocument
    metrics: list[MetricDocument]


def document(trial: Trial) -> TrialDocument:
    return TrialDocument(
        command=list(trial.wanted.command),
        rounds=trial.wanted.rounds,
        seed=trial.wanted.seed,
        load=LoadDocument(*trial.load),
        metrics=[
            MetricDocument(
                metric.name,
                metric.is_lower_better,
                list(trial.figures[metric.name, ALONE].values()),
                {lock: _of_lock(trial, metric, lock) for lock in trial.wanted.locks},
            )
            for metric in trial.metrics
        ],
    )


def _of_lock(trial: Trial, metric: Metric, lock: str) -> LockDocument:
    ratio = trial.ratio(metric.name, lock)
    return LockDocument(
        list(trial.figures[metric.name, lock].values()),
        None if ratio is None else RatioDocument(ratio.median, ratio.low, ratio.high),
        gains(metric, ratio),
    )
