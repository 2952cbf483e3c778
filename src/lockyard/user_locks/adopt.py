# SPDX-License-Identifier: Apache-2.0
"""Adds user locks to the harness that this process measures with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard import harness
from lockyard.catalog import GROUPS
from lockyard.errors import UsageError
from lockyard.measure.session import say
from lockyard.user_locks.build import harness_with

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.catalog import Catalog, Study
    from lockyard.user_locks.lock_spec import UserLocks


def adopt(given: UserLocks, studies: Sequence[str]) -> None:
    """Builds a harness for those studies that can measure any lock; if none can, that is an
    error."""
    catalog = harness.catalog()
    chosen = catalog.select_studies(studies)
    measuring = [study for study in chosen if measures_any_lock(study)]
    if not measuring:
        possible = ", ".join(each.name for each in catalog.studies if measures_any_lock(each))
        raise UsageError(
            f"{given}: {_list(chosen)} cannot measure a user lock, so nothing was measured; choose "
            f"from {possible}"
        )
    _check_names(given, catalog)
    harness.use(harness_with(given, list(dict.fromkeys(study.stem for study in measuring))))
    _check_readers(given, measuring)


def measures_any_lock(study: Study) -> bool:
    return study.measures in ("locks", "shared_locks")


def _check_names(given: UserLocks, catalog: Catalog) -> None:
    known = {*GROUPS, *(each.name for each in catalog.measured)}
    known |= {each.seed_name for each in catalog.locks}
    for lock in given.locks:
        if lock.type_name in known:
            raise UsageError(
                f"{lock}: the catalogue has a lock of this name, and records could not tell the "
                f"two apart; write the type in another way, as in ::{lock.type_name}"
            )


def _check_readers(given: UserLocks, measuring: Sequence[Study]) -> None:
    """Leaves locks that cannot be shared out of the studies that share, and says so."""
    shared = {lock.name: lock.shared for lock in harness.catalog().locks}
    sharing = [study for study in measuring if study.measures == "shared_locks"]
    for name in given.names if sharing else ():
        if shared[name]:
            continue
        cause = (
            f"{name} lacks some of lock_shared(), try_lock_shared(), unlock_shared() and "
            f"try_lock(), so {_list(sharing)} cannot measure it"
        )
        if len(sharing) == len(measuring):
            raise UsageError(f"{cause}, and nothing was measured; add the missing functions")
        say(f"{cause}; the other studies measure it")


def _list(studies: Sequence[Study]) -> str:
    return ", ".join(study.name for study in studies)
