# SPDX-License-Identifier: Apache-2.0
"""lockyard check: explores every execution of a lock that the memory model allows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from lockyard.checker import Checker, checker_path
from lockyard.checks import bench, clients, module, mutations
from lockyard.checks.progress import shown_progress
from lockyard.checks.replay import replayed
from lockyard.checks.result import Check, Result, Settings, Standing
from lockyard.checks.session import Session
from lockyard.checks.survivors import read_list, stale_entries
from lockyard.errors import ExitStatus, MissingCapabilityError
from lockyard.measure.session import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lockyard.checks.choice import Choice
    from lockyard.checks.clients import Client
    from lockyard.checks.mutations import MutationResult


Outcome = TypeVar("Outcome", "Result", "MutationResult")


def run(choice: Choice, settings: Settings, as_json: bool) -> ExitStatus:
    with Checker(module.built(choice.own) if choice.own else None) as checker:
        known = clients.listed(checker)
        if own := choice.own:
            known = [replace(each, option=own.option(each.name)) for each in known]
        if choice.replay:
            (client,) = known if choice.own else clients.named(known, choice.names)
            return _replay(replayed(checker, client, choice.replay), as_json)
        session = Session(checker)
        with shown_progress(session):
            if choice.bench:
                return bench.run(session, known, settings, as_json)
            checks = _checks(choice, known, settings)
            results = _kept(session, session.results(checks), as_json)
            _say_left_out(session, len(checks) - len(results))
            mutated: list[MutationResult] = []
            stale: list[str] = []
            if choice.mutants and not session.interrupted:
                mutated, stale = _mutated(session, known, settings, as_json)
    if not as_json:
        from lockyard.checks.text import print_mutations, print_results

        print_results(results)
        print_mutations(mutated)
    for each in stale:
        say(each)
    return _status([*results, *mutated], bool(stale), session.interrupted)


def _checks(choice: Choice, known: list[Client], settings: Settings) -> list[Check]:
    litmus = clients.of_groups(known, "litmus") if choice.litmus else []
    faults = clients.of_groups(known, "mutant") if choice.mutants else []
    if choice.mutants and not faults:
        say("the checker lists no hand-written fault; only the automatic ones are checked")
    if choice.litmus and not litmus:
        raise MissingCapabilityError(
            f"the checker at {checker_path()} lists no litmus test, so the run would prove "
            "nothing; reinstall lockyard, or correct LOCKYARD_CHECKER"
        )
    ordinary = clients.of_groups(known, "lock", "client")
    wanted = ordinary if choice.all or choice.own else clients.named(ordinary, choice.names)
    return [
        Check(client, size, each)
        for client in (*litmus, *wanted, *faults)
        for size in ((choice.size,) if choice.size else client.sizes)
        for each in settings.by_bound()
    ]


def _kept(session: Session, found: Iterator[Outcome], as_json: bool) -> list[Outcome]:
    """Collects the outcomes and prints each as it arrives; Ctrl-C keeps what arrived so far."""
    kept: list[Outcome] = []
    try:
        for each in found:
            kept.append(each)
            if as_json:
                print(json.dumps(each.to_json()), flush=True)  # noqa: T201
    except KeyboardInterrupt:
        session.interrupted = True
    return kept


def _mutated(
    session: Session, known: Iterable[Client], settings: Settings, as_json: bool
) -> tuple[list[MutationResult], list[str]]:
    """Checks the automatic mutants; returns their outcomes and the errors in the survivor list."""
    listed = read_list()
    locks, clients = (clients.of_groups(known, group) for group in ("lock", "client"))
    try:
        wanted = mutations.mutations_of(session, locks, clients, settings)
    except KeyboardInterrupt:
        session.interrupted = True
        return [], []
    results = _kept(session, mutations.results(session, wanted, settings, listed), as_json)
    _say_left_out(session, len(wanted) - len(results))
    return results, [] if session.interrupted else stale_entries(listed, results)


def _replay(result: Result, as_json: bool) -> ExitStatus:
    if as_json:
        print(json.dumps(result.to_json()))  # noqa: T201
    else:
        from lockyard.checks.text import print_replayed

        print_replayed(result)
    return _status([result], failed=False, interrupted=False)


def _say_left_out(session: Session, checks: int) -> None:
    if session.interrupted:
        say(f"interrupted; {checks} checks were not started; results so far are kept")


def _status(
    found: Iterable[Result | MutationResult], failed: bool, interrupted: bool
) -> ExitStatus:
    standings = {each.standing for each in found}
    if failed or Standing.FAILED in standings:
        return ExitStatus.CHECK_FAILED
    if interrupted or Standing.INCONCLUSIVE in standings:
        return ExitStatus.INCONCLUSIVE
    return ExitStatus.DONE
