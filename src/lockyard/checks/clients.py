# SPDX-License-Identifier: Apache-2.0
"""The clients that can be checked, as the checker lists them, and their sizes."""

from __future__ import annotations

import difflib
import re
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.checker import Checker

ANSWER_S = 60.0
MAX_THREADS = 9
MAX_ACQUISITIONS = 16


@dataclass(frozen=True)
class ClientSize:
    threads: int = 2
    acquisitions: int = 1
    tries: bool = False  # the last thread uses try_lock
    timed: bool = False  # the last thread uses try_lock_for
    destroys: bool = False  # the last thread destroys the lock

    def __str__(self) -> str:
        """Returns the short form, as in 3x1td: threads, acquisitions of each, flags."""
        flags = "t" * self.tries + "w" * self.timed + "d" * self.destroys
        return f"{self.threads}x{self.acquisitions}{flags}"

    @property
    def words(self) -> str:
        special = [" try_lock"] * self.tries + [" timed"] * self.timed
        special += [" destroyed"] * self.destroys
        return f"{self.threads}x{self.acquisitions}{','.join(special)}"

    @classmethod
    def parse(cls, text: str) -> ClientSize | None:
        match = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})([tw]?)(d?)", text)
        if match is None:
            return None
        how = match[3]
        return cls(int(match[1]), int(match[2]), how == "t", how == "w", bool(match[4]))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


# The default client sizes of a lock, small enough to finish in seconds.
SUITE = (
    ClientSize(),
    ClientSize(tries=True),
    ClientSize(acquisitions=2),
    ClientSize(threads=3),
    ClientSize(destroys=True),
)
TIMED_SUITE = (ClientSize(timed=True), ClientSize(threads=3, timed=True))
# A lock that a user wrote may lose what two threads leave in it as the third one gives up.
USERS_SUITE = (*SUITE, ClientSize(threads=3, tries=True))
READERS = ".readers"  # ends the name of the check of a lock that has lock_shared()


@dataclass(frozen=True)
class Client:
    name: str
    group: str  # lock, client, litmus or mutant
    summary: str
    expected: str  # the expected verdict
    size: ClientSize  # its own client size
    offers_try: bool = True  # has try_lock
    offers_timed: bool = False  # has try_lock_for
    room_for_two: bool = False  # and perhaps for no more threads
    option: str = ""  # how the command names a user's lock or client

    @property
    def in_command(self) -> str:
        """Returns what names it on the command line."""
        return self.option or self.name

    def sizes(self, wanted: ClientSize | None = None) -> tuple[ClientSize, ...]:
        """Returns the sizes to check; only locks have clients that come in several sizes. A
        user's lock makes attempts in a wanted size too."""
        if self.option and (wanted or self.name.endswith(READERS)):
            alone = replace(self.size, threads=2) if self.room_for_two else self.size
            size = wanted or alone
            suite = (size, replace(size, tries=True), replace(size, timed=True))
        elif wanted or self.group != "lock":
            return (wanted or self.size,)
        else:
            suite = (*(USERS_SUITE if self.option else SUITE), *TIMED_SUITE)
        return tuple(
            each
            for each in suite
            if (self.offers_try or not each.tries)
            and (self.offers_timed or not each.timed)
            and (wanted or not self.room_for_two or each.threads <= 2)
        )


def listed(checker: Checker) -> list[Client]:
    return [_client(entry) for entry in checker.ask({"ask": "list"}, ANSWER_S)]


def _client(entry: dict[str, Any]) -> Client:
    size = ClientSize(
        **{each.name: entry.get(each.name, each.default) for each in fields(ClientSize)}
    )
    texts = {key: entry[key] for key in ("name", "group", "summary", "expected")}
    return Client(
        **texts,
        size=size,
        offers_try=entry.get("offers_try", True),
        offers_timed=entry.get("offers_timed", False),
        room_for_two=entry.get("room_for_two", False),
    )


def of_groups(clients: Iterable[Client], *groups: str) -> list[Client]:
    return [each for each in clients if each.group in groups]


def named(clients: Sequence[Client], names: Iterable[str]) -> list[Client]:
    """Returns the clients with the given names, without repeats, in the order given."""
    by_name = {each.name: each for each in clients}
    return [by_name[_known(name, by_name)] for name in dict.fromkeys(names)]


def _known(name: str, by_name: dict[str, Client]) -> str:
    if name in by_name:
        return name
    near = difflib.get_close_matches(name, by_name, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(by_name)}"
    raise UsageError(f"'{name}' is neither a lock nor a client: {hint}")
