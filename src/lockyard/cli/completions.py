# SPDX-License-Identifier: Apache-2.0
"""Shell completion: the names that arguments take."""

from __future__ import annotations

import os
from pathlib import Path

HEADER_SUFFIXES = (".hpp", ".h", ".hh", ".hxx", ".h++", ".ipp", ".inc")


def locks(incomplete: str) -> list[str]:
    """Completes the last of several names and keeps the names before it."""
    from lockyard import harness
    from lockyard.catalog import GROUPS

    known = [*GROUPS, *(lock.name for lock in harness.catalog().locks)]
    return completed(incomplete, known)


def pools(incomplete: str) -> list[str]:
    from lockyard import harness
    from lockyard.catalog import GROUPS

    return completed(incomplete, [*GROUPS, *(pool.name for pool in harness.catalog().pools)])


def references(incomplete: str) -> list[str]:
    from lockyard import harness
    from lockyard.catalog import BEST_SLEEPING_PEER

    catalog = harness.catalog()
    known = [BEST_SLEEPING_PEER, *(each.name for each in catalog.measured), *catalog.ways]
    return [name for name in known if name.startswith(incomplete)]


def studies(incomplete: str) -> list[str]:
    from lockyard import harness

    return [each.name for each in harness.catalog().studies if each.name.startswith(incomplete)]


def studies_listed(incomplete: str) -> list[str]:
    from lockyard import harness

    return completed(incomplete, [each.name for each in harness.catalog().studies])


def figures(incomplete: str) -> list[str]:
    """Completes the figures that every comparison has."""
    from lockyard import harness
    from lockyard.compare.figures import headline

    known = [
        f"{study.name}.{figure.name}"
        for study in harness.catalog().studies
        for figure in headline(study.name, as_published=False)
    ]
    return [name for name in known if name.startswith(incomplete)]


def ways(incomplete: str) -> list[str]:
    from lockyard import harness

    return completed(incomplete, harness.catalog().ways)


def parameters(incomplete: str) -> list[str]:
    from lockyard import harness

    names = dict.fromkeys(each.name for each in harness.catalog().parameters)
    return [f"{name}=" for name in names if name.startswith(incomplete)]


def policies(incomplete: str) -> list[str]:
    from lockyard.machine.conditions import POLICIES

    return completed(incomplete, list(POLICIES))


def machine_settings(incomplete: str) -> list[str]:
    from lockyard.machine.settings import NAMES

    return [f"{name}=" for name in NAMES if name.startswith(incomplete)]


def problems(incomplete: str) -> list[str]:
    from lockyard.machine.settings import FIXES, SETTINGS

    known = [*FIXES, *(f"{name}=" for name in SETTINGS)]
    return [name for name in known if name.startswith(incomplete)]


def checked(incomplete: str) -> list[str]:
    from lockyard.checker import Checker
    from lockyard.checks.clients import listed, of_groups

    with Checker() as checker:
        known = of_groups(listed(checker), "lock", "client")
    return [each.name for each in known if each.name.startswith(incomplete)]


def machines(incomplete: str) -> list[str]:
    from lockyard.simulate.machines import names

    return [name for name in names() if name.startswith(incomplete)]


def simulated_studies(incomplete: str) -> list[str]:
    from lockyard.simulate.simulator import abilities

    return [name for name in abilities().studies if name.startswith(incomplete)]


def simulated_schedulers(incomplete: str) -> list[str]:
    from lockyard.simulate.simulator import abilities

    return completed(incomplete, list(abilities().schedulers))


def simulated_locks(incomplete: str) -> list[str]:
    from lockyard.simulate.simulator import abilities

    return completed(incomplete, ["all", *abilities().locks])


def simulated_pools(incomplete: str) -> list[str]:
    from lockyard.simulate.simulator import abilities

    return completed(incomplete, ["all", *abilities().pools])


def simulated_settings(incomplete: str) -> list[str]:
    from lockyard.simulate.simulator import abilities

    return [f"{name}=" for name in abilities().settings if name.startswith(incomplete)]


def swept_parameters(incomplete: str) -> list[str]:
    from lockyard.simulate.sweep import SWEPT

    own = [f"{name}=" for name in SWEPT if name.startswith(incomplete)]
    return own + simulated_settings(incomplete)


def headers(incomplete: str) -> list[str]:
    """Completes files that may be headers, up to the colon before the type."""
    return [
        f"{path}/" if path.is_dir() else f"{path}:"
        for path in _paths(incomplete)
        if path.is_dir() or path.suffix in HEADER_SUFFIXES
    ]


def folders(incomplete: str) -> list[str]:
    return [f"{path}/" for path in _paths(incomplete) if path.is_dir()]


def _paths(incomplete: str) -> list[Path]:
    """Lists matching paths; hidden ones only if the name begins with a dot."""
    folder, last = os.path.split(incomplete)
    try:
        found = sorted(Path(folder or ".").iterdir())
    except OSError:
        return []
    named = [path for path in found if path.name.startswith(last)]
    return [path for path in named if last.startswith(".") or not path.name.startswith(".")]


def completed(incomplete: str, known: list[str]) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in known if name.startswith(last)]
