# SPDX-License-Identifier: Apache-2.0
"""How long the runs of a cell are, how many there are, and what they may take together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from lockyard.catalog import Study
    from lockyard.plan import Request

PUBLISHED_BUDGET_S = 30.0
DEFAULT_LOOP_RUNS = 100
# Starting and ending a run takes about this long, and so much more for each thread.
RUN_OVERHEAD_S = 0.005
THREAD_OVERHEAD_S = 0.0005
# Fewer runs than this leave no 95 % interval; shorter runs than this measure their own start.
WANTED_RUNS = 6
SHORTEST_RUN_S = 0.01
# The harness's counts may overflow in a longer one.
LONGEST_RUN_S = 60.0
# What the runs of a cell may take when only their number was given: a multiple of their length,
# and some seconds for locks that cannot stop in time.
BUDGET_PER_RUN = 3.0
BUDGET_SPARE_S = 5.0


def lengths_of_runs(study: Study, threads: int, request: Request) -> dict[str, Any]:
    """The fields of a cell that say so."""
    if request.as_published or request.loops is not None:
        return _by_loops(study, request)
    return _by_time(study, threads, request)


def _by_loops(study: Study, request: Request) -> dict[str, Any]:
    """As many runs as fit the time, up to those asked for or published."""
    default_s = PUBLISHED_BUDGET_S if request.as_published else study.default_budget_s
    return {
        "loops": request.loops or study.published_loops,
        "run_s": 0.0,
        "runs": request.runs or study.published_runs or DEFAULT_LOOP_RUNS,
        "budget_s": request.budget_s or default_s,
    }


def _by_time(study: Study, threads: int, request: Request) -> dict[str, Any]:
    """Either the time is given and the runs follow, or the runs and the time follows, or both."""
    run_s = study.default_run_s
    overhead_s = RUN_OVERHEAD_S + threads * THREAD_OVERHEAD_S
    budget_s = request.budget_s
    if request.runs is not None and budget_s is None:
        runs = request.runs
        budget_s = runs * BUDGET_PER_RUN * run_s + BUDGET_SPARE_S
    else:
        budget_s = budget_s or study.default_budget_s
        runs = request.runs or max(WANTED_RUNS, int(budget_s / (run_s + overhead_s)))
        run_s = max(budget_s / runs - overhead_s, SHORTEST_RUN_S)
        if run_s > LONGEST_RUN_S:
            raise UsageError(
                f"a run of {run_s:.0f} s is too long to count exactly; ask for more --runs or "
                f"less time, so that a run takes at most {LONGEST_RUN_S:.0f} s"
            )
    return {"loops": None, "run_s": run_s, "runs": runs, "budget_s": budget_s}
