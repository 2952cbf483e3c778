# SPDX-License-Identifier: Apache-2.0
"""The output of `lockyard predict --json`. schema/prediction.schema.json is generated from these
types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from lockyard.field_kit.prediction import PLAIN
from lockyard.field_kit.prediction_text import doubt, expected

if TYPE_CHECKING:
    from lockyard.field_kit.prediction import Prediction
    from lockyard.field_kit.trial import Trial
    from lockyard.stats import Ratio


class RatioDocument(Struct):
    """A ratio with its interval of 95 %, which needs enough rounds."""

    median: float
    low: float | None
    high: float | None


class PlacedDocument(Struct, kw_only=True):
    """A lock of the program, and how this machine's locks do with its lengths."""

    lock: str
    objects: int
    threads: int
    hold_ns: float
    gap_ns: float
    wanted: Annotated[
        float, Meta(description="Threads that would hold the lock at a time without waits.")
    ]
    program_per_s: float
    model_per_s: float
    doubt: Annotated[str, Meta(description="Why the model may not fit; empty if it fits.")]
    ratios: dict[str, RatioDocument | None]


class MeasuredDocument(Struct, kw_only=True):
    """A figure of the program with a lock, predicted and measured."""

    figure: str
    lock: str
    predicted: RatioDocument | None
    measured: RatioDocument | None


class PredictionDocument(Struct, tag_field="record", tag="prediction", kw_only=True):
    """What other locks would give a program."""

    schema: Literal[1] = 1
    baseline: str
    load: float
    locks: dict[str, RatioDocument | None]
    placed: list[PlacedDocument]
    left_out: Annotated[
        list[str], Meta(description="Locks that cost something, with too few samples.")
    ]
    measured: Annotated[
        list[MeasuredDocument] | UnsetType, Meta(description="Only with --verify.")
    ] = UNSET


def document(found: Prediction, trial: Trial | None) -> PredictionDocument:
    return PredictionDocument(
        baseline=PLAIN,
        load=found.load,
        locks={lock: _ratio(found.ratio(lock)) for lock in found.locks},
        placed=[
            PlacedDocument(
                lock=each.row.lock,
                objects=each.row.objects,
                threads=each.row.threads,
                hold_ns=each.hold_ns,
                gap_ns=each.gap_ns,
                wanted=each.wanted,
                program_per_s=each.program_per_s,
                model_per_s=each.model_per_s,
                doubt=doubt(each),
                ratios={lock: _ratio(each.ratio(lock)) for lock in found.locks},
            )
            for each in found.placed
        ],
        left_out=[row.lock for row in found.left_out],
        measured=UNSET if trial is None else _measured(found, trial),
    )


def _measured(found: Prediction, trial: Trial) -> list[MeasuredDocument]:
    return [
        MeasuredDocument(
            figure=metric.name,
            lock=lock,
            predicted=_ratio(expected(found, metric, lock)),
            measured=_ratio(trial.ratio(metric.name, lock)),
        )
        for metric in trial.metrics
        for lock in trial.wanted.locks
    ]


def _ratio(ratio: Ratio | None) -> RatioDocument | None:
    return None if ratio is None else RatioDocument(ratio.median, ratio.low, ratio.high)
