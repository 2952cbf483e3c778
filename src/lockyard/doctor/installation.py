# SPDX-License-Identifier: Apache-2.0
"""Checks of installed software: what measuring needs, and what the library needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lockyard.doctor.findings import Finding, Fine, Outcome, Severity

if TYPE_CHECKING:
    from lockyard.doctor.facts import Facts

PACKAGES = {
    "libhwloc.so.15": "libhwloc15",
    "libstdc++.so.6": "libstdc++6",
    "libgcc_s.so.1": "libgcc-s1",
    "libudev.so.1": "libudev1",
}


def harness(facts: Facts) -> Outcome:
    if facts.harness is not None:
        return Fine(f"the harness starts (built by {facts.harness['compiler']})")
    said = facts.harness_problem
    library = re.search(r"(\S+\.so[.\d]*): cannot open shared object", said)
    name = library.group(1) if library else ""
    remedy, about = None, "follow the message, or reinstall lockyard"
    if name in PACKAGES:
        remedy = facts.as_root(f"apt-get install -y {PACKAGES[name]}")
        about = "on Debian and Ubuntu; elsewhere, the package that holds the library"
    elif name:
        about = f"install the package that holds {name}"
    elif "GLIBC" in said:
        about = "it was built on a newer system: build lockyard on this one"
    return Finding(
        Severity.LIMITS,
        f"the harness needs {name}, which is missing" if name else f"no harness: {said}",
        "nothing can be measured",
        remedy,
        about,
        {"message": said, "library": name or None},
    )


def compiler(facts: Facts) -> Outcome:
    return _tool(facts, "g++", "g++", (12,))


def cmake(facts: Facts) -> Outcome:
    return _tool(facts, "cmake", "cmake", (3, 25))


def pkg_config(facts: Facts) -> Outcome:
    return _tool(facts, "pkg-config", "pkg-config", ())


def own_locks(facts: Facts) -> Outcome:
    """Checks what --lock needs besides the harness."""
    if facts.user_locks_compiler:
        return Fine(f"--lock can compile ({facts.user_locks_compiler})")
    return Finding(
        Severity.LIMITS,
        facts.user_locks_problem,
        "the catalogue's locks can be measured, but no user locks",
        facts.as_root("apt-get install -y g++ nlohmann-json3-dev"),
        "on Debian 12, Ubuntu 24.04 or later; the message names what is missing",
        {"message": facts.user_locks_problem},
    )


def _tool(facts: Facts, tool: str, package: str, least: tuple[int, ...]) -> Outcome:
    version = facts.tools.get(tool)
    wanted = ".".join(map(str, least))
    if version is not None and _numbers(version) >= least:
        return Fine(f"{tool} {version}")
    return Finding(
        Severity.NOTE,
        f"{tool} is {version}, older than {wanted}" if version else f"{tool} is not installed",
        "programs that use the library may not build here; measuring does not need it",
        facts.as_root(f"apt-get install -y {package}"),
        "on Debian 12, Ubuntu 24.04 or later",
        {"version": version, "least": wanted or None},
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(word) for word in re.findall(r"\d+", version))
