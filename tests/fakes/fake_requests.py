# SPDX-License-Identifier: Apache-2.0
"""Requests as the command line makes them of its texts."""

from __future__ import annotations

from lockyard.measure.work import Work, distributions, gaps, holds_ns, works


def works_of(hold: str, gap: str, lengths: str) -> list[Work]:
    return works(holds_ns("--hold", hold), gaps("--gap", gap), distributions("--lengths", lengths))
