# SPDX-License-Identifier: Apache-2.0
"""Automatic mutants: each order of a lock weakened, each wake dropped; some check must kill
each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lockyard.checks.clients import TIMED_SUITE, ClientSize
from lockyard.checks.result import Check, Result, Settings, Standing
from lockyard.checks.survivors import Key, source_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lockyard.checks.clients import Client
    from lockyard.checks.session import Session

# Client sizes that reach everything that a lock does; listing needs no complete search.
LISTING_SIZES = (
    ClientSize(),
    ClientSize(tries=True),
    ClientSize(threads=3),
    ClientSize(threads=3, tries=True),
)
LISTING_S = 10.0


@dataclass
class Mutation:
    """A mutation of one place in the source, and the locks and clients that run it."""

    site: dict[str, Any]
    clients: list[Client] = field(default_factory=list)
    is_own: bool = False  # belongs to a user's lock or client

    @property
    def place(self) -> str:
        return f"{self.site['file']}:{self.site['line']}"

    @property
    def dropped(self) -> str:
        """Returns what the source has and the mutant has not, such as `acquire`."""
        return self.change.removeprefix("(failure) ").split(" ")[0]

    @property
    def change(self) -> str:
        return self.words.split(" ", 1)[1]

    @property
    def summary(self) -> str:
        return f"{self.place} {self.change}" if self.is_own else self.words

    @property
    def words(self) -> str:
        return str(self.site["words"])

    @property
    def key(self) -> Key:
        file, line, column = self.site["file"], self.site["line"], self.site["column"]
        weakening = self.words.removeprefix(f"{file}:{line}:{column}").strip()
        return Key(file, weakening, source_text(file, line) or f"{line}:{column}")


@dataclass(frozen=True)
class MutationResult:
    mutation: Mutation
    last: Result  # the check that killed it, or the last check that did not
    checks: int
    reason: str | None  # why it is allowed to survive
    open: bool = False  # some of its checks did not finish

    @property
    def killed(self) -> bool:
        return self.last.found_fault

    @property
    def outcome(self) -> str:
        if self.killed:
            return "killed"
        return "undecided" if self.open else "survived"

    @property
    def standing(self) -> Standing:
        if self.killed or self.reason is not None:
            return Standing.EXPECTED
        if self.mutation.is_own:  # it is for the user to say whether that is too strong
            return Standing.INCONCLUSIVE if self.open else Standing.EXPECTED
        if self.last.verdict not in ("passed", "inconclusive"):
            return Standing.FAILED
        return Standing.INCONCLUSIVE if self.open else Standing.FAILED


def mutations_of(
    session: Session,
    locks: Iterable[Client],
    clients: Iterable[Client],
    settings: Settings,
    *,
    is_own: bool = False,
) -> list[Mutation]:
    """Lists each mutation once, although several locks and clients may run its line."""
    found: dict[str, Mutation] = {}
    for lock in locks:
        sizes = [each for each in LISTING_SIZES if lock.offers_try or not each.tries]
        sizes += TIMED_SUITE if lock.offers_timed else ()
        for word, site in _sites_of(session, lock, sizes, settings).items():
            found.setdefault(word, Mutation(site, is_own=is_own)).clients.append(lock)
    files = {each.site["file"] for each in found.values()}
    for client in clients:
        for word, site in _sites_of(session, client, client.sizes(), settings).items():
            is_ours = site["file"] in files or source_text(site["file"], 1)
            # In a lock, or in another header of the library; the start of a thread has no place.
            if (is_own and site["file"]) or is_ours:
                found.setdefault(word, Mutation(site, is_own=is_own)).clients.append(client)
    return list(found.values())


def _sites_of(
    session: Session, client: Client, sizes: Iterable[ClientSize], settings: Settings
) -> dict[str, dict[str, Any]]:
    words: dict[str, dict[str, Any]] = {}
    for size in sizes:
        job = {**Check(client, size, settings).to_job(), "ask": "mutations"}
        job["seconds"] = LISTING_S
        words |= {site["words"]: site for site in session.checker.ask(job, LISTING_S)}
    return words


def results(
    session: Session, mutations: Iterable[Mutation], settings: Settings, listed: dict[Key, str]
) -> Iterator[MutationResult]:
    """Checks the mutations one by one; ends early on Ctrl-C."""
    for mutation in mutations:
        if session.interrupted:
            return
        yield result(session, mutation, settings, listed.get(mutation.key))


def result(
    session: Session, mutation: Mutation, settings: Settings, reason: str | None
) -> MutationResult:
    """Checks the mutant until a check kills it. `reason` is why it may survive."""
    done: list[Result] = []
    checks = (
        Check(client, size, settings, mutation.site)
        for size in dict.fromkeys(each for one in mutation.clients for each in one.sizes())
        for client in mutation.clients
        if size in client.sizes()
    )
    for each in session.results(checks):
        done.append(each)
        if each.verdict not in ("passed", "inconclusive"):
            break
    is_open = any(each.standing is Standing.INCONCLUSIVE for each in done)
    return MutationResult(mutation, done[-1], len(done), reason, is_open)
