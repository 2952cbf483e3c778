# SPDX-License-Identifier: Apache-2.0
"""Runs checks on the workers of a cluster, each check whole on one worker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rich.progress import MofNCompleteColumn

from lockyard.campaign import handout
from lockyard.campaign.engine import LostError
from lockyard.checker import Checker
from lockyard.checks import mutations
from lockyard.checks.result import Check, Result
from lockyard.checks.session import Session
from lockyard.errors import LockyardError
from lockyard.measure.progress import bar
from lockyard.measure.session import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lockyard.campaign.pools import ClusterPool
    from lockyard.checks.mutations import Mutation, MutationResult
    from lockyard.checks.result import Settings
    from lockyard.checks.survivors import Key

SAID_EVERY_S = 10.0
CONSEQUENCE = "nothing more was checked"


def checked(check: Check) -> dict[str, Any]:
    """Runs on a worker, which has the same version of lockyard."""
    return _answered(lambda session: session.result(check))


def mutated(mutation: Mutation, settings: Settings, reason: str | None) -> dict[str, Any]:
    """Runs on a worker, which has the same version of lockyard."""
    return _answered(lambda session: mutations.result(session, mutation, settings, reason))


def _answered(answer: Callable[[Session], Result | MutationResult]) -> dict[str, Any]:
    try:
        with Checker() as checker:
            return {"result": answer(Session(checker))}
    except LockyardError as error:
        return {"failure": str(error)}


def results(pool: ClusterPool, checks: Sequence[Check]) -> Iterator[Result]:
    """Yields the results as they arrive. A check that no worker could finish is inconclusive. If
    none could be started, raises LockyardError."""
    for number, reply in _replies(pool, checked, [(each,) for each in checks]):
        yield reply.get("result") or _undone(checks[number], reply)


def mutation_results(
    pool: ClusterPool, wanted: Sequence[Mutation], settings: Settings, listed: dict[Key, str]
) -> Iterator[MutationResult]:
    """Yields the outcomes as they arrive; what was not done is inconclusive, as in results()."""
    arguments = [(each, settings, listed.get(each.key)) for each in wanted]
    for number, reply in _replies(pool, mutated, arguments):
        mutation, _, reason = arguments[number]
        check = Check(mutation.clients[0], mutation.clients[0].size, settings, mutation.site)
        yield reply.get("result") or mutations.MutationResult(
            mutation, _undone(check, reply), 1, reason, open=True
        )


def _undone(check: Check, reply: handout.Reply) -> Result:
    return Result(check, "inconclusive", left_out=reply["failure"])


def _replies(
    pool: ClusterPool, function: Callable[..., dict[str, Any]], arguments: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, handout.Reply]]:
    left = dict.fromkeys(range(len(arguments)))
    calls = handout.Calls(
        len(arguments),
        pool.workers,
        lambda worker, number: pool.call(worker, function, *arguments[number]),
        CONSEQUENCE,
    )
    said_s = time.monotonic()
    with bar("checks", MofNCompleteColumn(), len(arguments)) as (progress, task):
        try:
            for number, reply in handout.replies(calls):
                del left[number]
                progress.advance(task)
                if progress.disable and time.monotonic() - said_s >= SAID_EVERY_S:
                    said_s = time.monotonic()
                    say(f"{len(arguments) - len(left)} of {len(arguments)} checks are done")
                yield number, reply
        except (LockyardError, LostError) as error:
            what = str(error)
            if isinstance(error, LostError):
                what = f"the cluster no longer answers ({error}), so {CONSEQUENCE}"
            if len(left) == len(arguments):
                raise error if isinstance(error, LockyardError) else LockyardError(what) from error
            say(what)
            yield from ((number, {"failure": what}) for number in left)
