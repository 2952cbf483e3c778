# SPDX-License-Identifier: Apache-2.0
"""Runs the checks of a choice and shows their results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from lockyard.checker import Checker, checker_path
from lockyard.checks import bench, clients, debugger, imports, module, mutations
from lockyard.checks.document import document
from lockyard.checks.minimal import minimised
from lockyard.checks.progress import shown_progress
from lockyard.checks.replay import replayed
from lockyard.checks.result import Check, Result, Settings, Standing
from lockyard.checks.session import Session
from lockyard.checks.survivors import read_list, stale_entries
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, MissingCapabilityError
from lockyard.measure.session import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lockyard.checks.choice import Choice
    from lockyard.checks.clients import Client
    from lockyard.checks.mutations import MutationResult
    from lockyard.page.wanted import WantedPage

Outcome = TypeVar("Outcome", "Result", "MutationResult")


def run(choice: Choice, settings: Settings, as_json: bool, page: WantedPage) -> int:
    page.check()
    built = module.built(choice.user_code) if choice.user_code else None
    with Checker(built) as checker:
        known = clients.listed(checker)
        if own := choice.user_code:
            known = [replace(each, option=own.option(each.name)) for each in known]
        if choice.replay:
            (client,) = known if choice.user_code else clients.named(known, choice.names)
            result = replayed(checker, client, choice.replay)
            if choice.gdb:
                return debugger.run(checker, result, as_json)
            _write_page(page, [result], [])
            return _replay(result, as_json)
        session = Session(checker, unseen=imports.unseen(built) if built else ())
        with shown_progress(session):
            if choice.bench:
                return bench.run(session, known, settings, as_json)
            checks = _checks(choice, known, settings)
            results = _kept(session, _readable(session, checks), as_json)
            _say_left_out(session, len(checks) - len(results))
            mutated: list[MutationResult] = []
            stale: list[str] = []
            if choice.mutants and not session.interrupted:
                mutated, stale = _mutated(
                    session, known, settings, as_json, is_own=choice.user_code is not None
                )
    if not as_json:
        from lockyard.checks.text import print_mutations, print_results

        print_results(results)
        print_mutations(mutated)
    _write_page(page, results, mutated)
    for each in stale:
        say(each)
    return _status([*results, *mutated], bool(stale), session.interrupted)


def _write_page(
    page: WantedPage, results: Sequence[Result], mutated: Sequence[MutationResult]
) -> None:
    if page.path is not None:
        from lockyard.page.of_checks import page_of

        page.write(page_of(results, mutated))


def _checks(choice: Choice, known: list[Client], settings: Settings) -> list[Check]:
    litmus = clients.of_groups(known, "litmus") if choice.litmus else []
    faults = clients.of_groups(known, "mutant") if choice.mutants else []
    if choice.mutants and not faults and not choice.user_code:
        say("the checker lists no hand-written fault; only the automatic ones are checked")
    if choice.litmus and not litmus:
        raise MissingCapabilityError(
            f"the checker at {checker_path()} lists no litmus test, so the run would prove "
            "nothing; reinstall lockyard, or correct LOCKYARD_CHECKER"
        )
    ordinary = clients.of_groups(known, "lock", "client")
    wanted = ordinary if choice.all or choice.user_code else clients.named(ordinary, choice.names)
    return [
        Check(client, size, each)
        for client in (*litmus, *wanted, *faults)
        for size in ((choice.size,) if choice.size else client.sizes)
        for each in settings.by_bound()
    ]


def _readable(session: Session, checks: Iterable[Check]) -> Iterator[Result]:
    """Yields the results; an unexpected failure is shown by its simplest execution."""
    for each in session.results(checks):
        yield minimised(session, each) if each.standing is Standing.FAILED else each


def _kept(session: Session, found: Iterator[Outcome], as_json: bool) -> list[Outcome]:
    """Collects the outcomes and prints each as it arrives; Ctrl-C keeps what arrived so far."""
    kept: list[Outcome] = []
    try:
        for each in found:
            kept.append(each)
            if as_json:
                print_document(document(each))
    except KeyboardInterrupt:
        session.interrupted = True
    return kept


def _mutated(
    session: Session, known: Sequence[Client], settings: Settings, as_json: bool, *, is_own: bool
) -> tuple[list[MutationResult], list[str]]:
    """Checks the automatic mutants; returns their outcomes and the errors in the survivor list."""
    listed = {} if is_own else read_list()
    locks, others = (clients.of_groups(known, group) for group in ("lock", "client"))
    try:
        wanted = mutations.mutations_of(session, locks, others, settings, is_own=is_own)
    except KeyboardInterrupt:
        session.interrupted = True
        return [], []
    results = _kept(session, mutations.results(session, wanted, settings, listed), as_json)
    _say_left_out(session, len(wanted) - len(results))
    return results, [] if session.interrupted else stale_entries(listed, results)


def _replay(result: Result, as_json: bool) -> ExitStatus:
    if as_json:
        print_document(document(result))
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
    if interrupted:
        return ExitStatus.INTERRUPTED
    standings = {each.standing for each in found}
    if failed or Standing.FAILED in standings:
        return ExitStatus.CHECK_FAILED
    if Standing.INCONCLUSIVE in standings:
        return ExitStatus.INCONCLUSIVE
    return ExitStatus.DONE
