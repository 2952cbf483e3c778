# SPDX-License-Identifier: Apache-2.0
"""Made-up cells of a few locks, and what a verdict says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockyard.catalog import Catalog, Lock
from lockyard.report.summary import CellSummary
from lockyard.report.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

MS = 1e6


def a_lock(name: str, kind: str, seed_name: str = "", waiting: str = "spin") -> Lock:
    return Lock(name, seed_name, kind, "", waiting, "", 1, False, False, False, False, True, "")


CATALOG = Catalog(
    "0",
    (
        a_lock("tas_spinlock", "ours", "terrible_spinlock"),
        a_lock("ticket_spinlock", "ours", "ticket_spinlock"),
        a_lock("futex_mutex", "ours", waiting="park"),
        a_lock("std::mutex", "peer", "std::mutex", "park"),
        a_lock("null_lock", "control"),
    ),
    (),
    (),
)
KEYS = {
    ("wait", False): "wait_max_ns",
    ("wait", True): "wait_max_ns",
    ("idle", False): "idle_wanted_max_ns",
    ("idle", True): "idle_published_max_ns",
    ("uncontended", False): "pair_after_threads_ns",
}


def a_run(block: int, values: dict[str, Any], holds: bool = True) -> dict[str, Any]:
    return {
        "block": block,
        "values": {"complete": True, "run_ns": 50 * MS, **values},
        "checks": {"counter": holds},
        "histograms": {},
    }


def a_cell(
    study: str,
    lock: str,
    values: Sequence[float],
    threads: int = 16,
    **conditions: Any,
) -> CellSummary:
    """One whose runs have these values of the study's key."""
    published = conditions.setdefault("as_published", False)
    key = KEYS[study, published]
    runs = [a_run(block, {key: value}) for block, value in enumerate(values)]
    return CellSummary(study, lock, threads, {"threads": threads, **conditions}, runs)


def noise(longest_ns: float, runs: int = 1, **conditions: Any) -> CellSummary:
    """Two processors watched for a second each, the second one lossless."""
    core = {
        "watched_ns": 1000 * MS,
        "lost_ns": 30 * MS,
        "longest_ns": longest_ns,
        "steal_ns": 10 * MS,
        "run_delay_ns": 20 * MS,
    }
    still = {**core, "lost_ns": 0, "longest_ns": 0, "steal_ns": None, "run_delay_ns": 0}
    values = {"longest_ns": longest_ns, "cores": [{"cpu": 0, **core}, {"cpu": 1, **still}]}
    made = [a_run(block, values) for block in range(runs)]
    return CellSummary("noise", "", 2, {"threads": 2, **conditions}, made)


def said(*cells: CellSummary, processors: int | None = 2) -> list[str]:
    return [str(sentence) for sentence in verdict(cells, CATALOG, processors)]


def the_one(sentences: list[str], part: str) -> str:
    (found,) = [sentence for sentence in sentences if part in sentence]
    return found


LONG = [200 * MS, 150 * MS, 150 * MS, 90 * MS, 150 * MS, 150 * MS]
SHORT = [2 * MS] * 6
