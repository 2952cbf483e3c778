# SPDX-License-Identifier: Apache-2.0
"""Runs the checks of a choice and shows their results."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from lockyard.campaign.pools import cluster
from lockyard.checker import Checker, checker_path
from lockyard.checks import bench, clients, debugger, imports, module, mutations, on_cluster
from lockyard.checks.document import document
from lockyard.checks.minimal import minimised
from lockyard.checks.progress import shown_progress
from lockyard.checks.recipe import Recipe
from lockyard.checks.replay import replayed
from lockyard.checks.result import Check, Result, Settings, Standing
from lockyard.checks.session import Session
from lockyard.checks.survivors import read_list, stale_entries
from lockyard.cxx_names import demangled
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, MissingCapabilityError, UsageError
from lockyard.measure.session import say
from lockyard.program import ProgramDiedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lockyard.campaign.pools import ClusterPool
    from lockyard.checks.choice import Choice
    from lockyard.checks.clients import Client
    from lockyard.checks.mutations import MutationResult
    from lockyard.page.wanted import WantedPage

Outcome = TypeVar("Outcome", "Result", "MutationResult")


def run(choice: Choice, settings: Settings, as_json: bool, page: WantedPage) -> int:
    page.check()
    built = module.built(choice.user_code) if choice.user_code else None
    with Checker(built) as checker:
        known = _listed(checker, choice)
        if own := choice.user_code:
            known = [replace(each, option=own.option(each.name)) for each in known]
        if choice.replay:
            of_text = [each for each in known if choice.replay.startswith(f"{each.name}:")]
            (client,) = (
                (of_text or known)[:1] if choice.user_code else clients.named(known, choice.names)
            )
            result = replayed(checker, client, choice.replay)
            if choice.gdb:
                return debugger.run(checker, result, as_json)
            _write_page(page, [result], [])
            return _replay(result, as_json)
        session = Session(
            checker, unseen=imports.unseen(built, Recipe.read().known) if built else ()
        )
        there = cluster(choice.cluster) if choice.cluster else nullcontext()
        with there as pool, nullcontext() if pool else shown_progress(session):
            if choice.bench:
                return bench.run(session, known, settings, as_json)
            checks = _checks(choice, known, settings)
            found = on_cluster.results(pool, checks) if pool else session.results(checks)
            results = _in_order(checks, _kept(session, _readable(session, found), as_json))
            _say_left_out(session, len(checks) - len(results))
            mutated: list[MutationResult] = []
            stale: list[str] = []
            if choice.mutants and not session.interrupted and _is_worth_mutating(choice, results):
                mutated, stale = _mutated(session, known, settings, pool, as_json=as_json)
    if not as_json:
        from lockyard.checks.text import print_mutations, print_results

        print_results(results)
        print_mutations(mutated)
    _write_page(page, results, mutated)
    for each in stale:
        say(each)
    return _status([*results, *mutated], bool(stale), session.interrupted)


def _listed(checker: Checker, choice: Choice) -> list[Client]:
    """Returns the clients. The checker loads a module before it lists any."""
    try:
        return clients.listed(checker)
    except ProgramDiedError as error:
        missing = re.search(r"undefined symbol: (\w+)", str(error))
        if choice.user_code is None or missing is None:
            raise
        raise UsageError(
            f"{choice.user_code}: uses `{demangled(missing[1])}`, which neither the code nor a "
            "library that is linked defines, so nothing was checked; name the source that "
            "defines it, or its library, by --flags"
        ) from None


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
        for size in client.sizes(choice.size)
        for each in settings.by_bound()
    ]


def _in_order(checks: Sequence[Check], results: Sequence[Result]) -> list[Result]:
    """The results of a cluster arrive in any order."""
    order = {each.label: place for place, each in enumerate(checks)}
    return sorted(results, key=lambda each: (order[each.check.label], each.bound or 0))


def _readable(session: Session, found: Iterable[Result]) -> Iterator[Result]:
    """Yields the results; an unexpected failure is shown by its simplest execution."""
    for each in found:
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


def _is_worth_mutating(choice: Choice, results: Iterable[Result]) -> bool:
    """Says why not: a check that fails anyway would kill each mutant."""
    if choice.user_code is None or not any(each.found_fault for each in results):
        return True
    say(
        f"{choice.user_code}: fails as it is, so no mutant was checked: each would fail too; "
        "correct the code first"
    )
    return False


def _mutated(
    session: Session,
    known: Sequence[Client],
    settings: Settings,
    pool: ClusterPool | None,
    *,
    as_json: bool,
) -> tuple[list[MutationResult], list[str]]:
    """Checks the automatic mutants; returns their outcomes and the errors in the survivor list."""
    is_own = any(each.option for each in known)
    listed = {} if is_own else read_list()
    locks, others = (clients.of_groups(known, group) for group in ("lock", "client"))
    try:
        wanted = mutations.mutations_of(session, locks, others, settings, is_own=is_own)
    except KeyboardInterrupt:
        session.interrupted = True
        return [], []
    found = (
        on_cluster.mutation_results(pool, wanted, settings, listed)
        if pool
        else mutations.results(session, wanted, settings, listed)
    )
    results = _kept(session, found, as_json)
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
