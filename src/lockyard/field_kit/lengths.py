# SPDX-License-Identifier: Apache-2.0
"""Holds and gaps of a profiled lock, as `lockyard measure --lengths recorded:FILE` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lockyard.errors import ExitStatus, LockyardError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.field_kit.contention import Contention, Lengths, Row

# A disturbed length contains the time that another thread had the processor. Where only few are,
# they are left out: the measurement is disturbed in the same way, by its own threads.
FEW_DISTURBED = 0.05
FEWEST = 30
LONGEST_NS = 100_000_000  # that a measurement takes


class TooFewLengthsError(LockyardError):
    status = ExitStatus.INCONCLUSIVE


def used(of: Lengths) -> np.ndarray:
    """Returns the lengths that stand for the program's, in nanoseconds."""
    kept, disturbed = np.array(of.kept_ns, float), np.array(of.disturbed_ns, float)
    if len(disturbed) > FEW_DISTURBED * (len(kept) + len(disturbed)):
        kept = np.concatenate([kept, disturbed])
    return np.asarray(np.minimum(kept, LONGEST_NS))


def is_known(row: Row) -> bool:
    return min(len(used(row.holds)), len(used(row.gaps))) >= FEWEST


def csv(row: Row) -> bytes:
    """Returns a line for each hold, with a gap. Which gap came before which hold is not known."""
    random = np.random.default_rng(1)
    holds, gaps = used(row.holds), used(row.gaps)
    count = max(len(holds), len(gaps))
    pairs = zip(
        *(random.permutation(np.resize(random.permutation(each), count)) for each in (holds, gaps)),
        strict=True,
    )
    lines = [f"{hold:.0f},{gap:.0f}\n" for hold, gap in pairs]
    return "".join(["hold_ns,gap_ns\n", *lines]).encode()


def content(processes: Sequence[Contention]) -> bytes:
    """Returns the lengths of the most costly lock that has enough of them."""
    for found in processes:
        for row in found.rows:
            if is_known(row):
                return csv(row)
    raise TooFewLengthsError(
        f"no lock has {FEWEST} sampled holds and gaps, so there are no lengths to write; profile "
        "the program for longer (one acquisition of 16 to 512 is sampled)"
    )
