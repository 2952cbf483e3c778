# SPDX-License-Identifier: Apache-2.0
"""The clock of the harness: which one it is, how well the cores agree on it, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockyard.report.units import duration

if TYPE_CHECKING:
    from collections.abc import Mapping

TSC = "tsc"
# Reasons for a refusal: the harness's own, and `unknown` for older versions that gave none.
NOT_INVARIANT = "not_invariant"
NOT_COMPARED = "not_compared"
APART = "apart"
TOO_WIDE = "too_wide"
UNKNOWN = "unknown"
# Reasons that a busy machine causes and that a quiet machine may not have.
OF_BUSY_MACHINES = (NOT_COMPARED, TOO_WIDE)


def clock_line(clock: Mapping[str, Any]) -> str:
    return (
        f"clock: {clock['source']}, a read costs {duration(clock['tsc_read_ns'])} (tsc) or "
        f"{duration(clock['monotonic_raw_read_ns'])} (monotonic_raw); {_agreement(clock)}"
    )


def skew(clock: Mapping[str, Any]) -> str:
    """Returns the largest offset between two cores and its uncertainty."""
    return f"{duration(abs(clock['skew_ns']))} ± {duration(clock['skew_uncertainty_ns'])}"


def refusal(clock: Mapping[str, Any]) -> str:
    """Returns the kind of reason why the time-stamp counter is not used; empty if it is used. For
    records of older versions, the kind is derived from their other fields."""
    if clock["source"] == TSC:
        return ""
    if kind := clock.get("tsc_refused"):
        return str(kind)
    if not clock["tsc_invariant"]:
        return NOT_INVARIANT
    if clock["skew_pairs_apart"] > 0:
        return APART
    return NOT_COMPARED if clock["skew_pairs"] < clock["skew_pairs_wanted"] else UNKNOWN


def why_refused(clock: Mapping[str, Any]) -> str:
    """Returns the reason for the user; empty if the time-stamp counter is used."""
    kind = refusal(clock)
    if kind == NOT_INVARIANT:
        return "its rate changes, or it stops in deep sleep"
    if kind == NOT_COMPARED:
        return f"only {compared_pairs(clock)} could be compared"
    if kind == APART:
        return f"the cores' counters are {skew(clock)} apart"
    if kind == TOO_WIDE:
        return f"{too_wide(clock)}, and idle needs {duration(clock['skew_limit_ns'])}"
    return "the record gives no reason" if kind else ""


def compared_pairs(clock: Mapping[str, Any]) -> str:
    return f"{clock['skew_pairs']} of {clock['skew_pairs_wanted']} pairs of cores"


def too_wide(clock: Mapping[str, Any]) -> str:
    error_ns = abs(clock["skew_ns"]) + clock["skew_uncertainty_ns"]
    return (
        f"two cores' counters are only known to agree within {duration(error_ns)}, after "
        f"{clock['skew_attempts']} attempts"
    )


def _agreement(clock: Mapping[str, Any]) -> str:
    if why := why_refused(clock):
        return f"the time-stamp counter is not used: {why}"
    if clock["skew_pairs"] < clock["skew_pairs_wanted"]:
        return "the offset between the cores' counters could not be measured"
    return f"cores at most {skew(clock)} apart"
