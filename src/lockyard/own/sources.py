# SPDX-License-Identifier: Apache-2.0
"""The programs that lockyard writes around a user's header.

Where a line of them is the user's own words, the compiler is told to call it by the option that it
came from.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lockyard.own.given import OwnLock

LOCKS = "own_locks.hpp"
HEADER = "// SPDX-License-Identifier: Apache-2.0\n// Written by lockyard.\n"


def locks(named: Sequence[OwnLock]) -> str:
    """The header that all others include: each lock by a name of ours."""
    first: dict[str, OwnLock] = {}
    for lock in named:
        first.setdefault(lock.header, lock)
    includes = "".join(
        f'# 1 {_text(str(lock))}\n#include "{header}"\n' for header, lock in first.items()
    )
    names = "".join(
        f"# 1 {_text(str(lock))}\nusing lock_{number} = {lock.type_name};\n"
        for number, lock in enumerate(named)
    )
    return f"{HEADER}#pragma once\n{includes}namespace lockyard_own {{\n{names}}}\n"


def check(named: Sequence[OwnLock]) -> str:
    """Compiles if each is a lock, and what its functions do can be compiled."""
    uses = "".join(
        f"# 1 {_text(str(lock))}\n"
        f"template void own::require_lock<lockyard_own::lock_{number}>();\n"
        f"template void own::use_as_lock(lockyard_own::lock_{number}&);\n"
        for number, lock in enumerate(named)
    )
    return (
        f'{HEADER}#include "{LOCKS}"\n#include <own/requirements.hpp>\n'
        f"namespace lockyard::harness {{\n{uses}}}\n"
    )


def study(
    name: str, source: Path, named: Sequence[OwnLock], described: Mapping[str, Mapping[str, str]]
) -> str:
    """The study once more, for these locks. The harness has its function already."""
    entries = "".join(
        f"  visit(entry_of<lockyard_own::lock_{number}>({_text(lock.type_name)}, "
        f"{_text(lock.header)}));\n"
        for number, lock in enumerate(named)
    )
    sources = {lock.type_name: described[lock.type_name] for lock in named}
    adopted = "".join(
        f"    {{.traits = own::entry_of<lockyard_own::lock_{number}>({_text(lock.type_name)}, "
        f"{_text(lock.header)}).traits,\n"
        f"     .size_bytes = sizeof(lockyard_own::lock_{number}),\n"
        "     .source = {"
        + ", ".join(f".{key} = {_text(value)}" for key, value in sources[lock.type_name].items())
        + "}},\n"
        for number, lock in enumerate(named)
    )
    return (
        f"{HEADER}#define LOCKYARD_OWN_LOCKS\n#define {name}_study own_{name}_study\n"
        f'#include "{LOCKS}"\n#include <own/adopted.hpp>\n'
        "namespace lockyard::harness::own {\n"
        "template <class Visitor>\nvoid for_each_lock(Visitor&& visit) {\n"
        f"{entries}}}\n}}\n"
        f'#include "{source}"\n'
        "namespace lockyard::harness {\n"
        f"static const adoption adopted_locks_of_{name}{{std::vector<own_lock>{{\n{adopted}}}}};\n"
        f"static const adoption adopted_{name}{{own_{name}_study()}};\n}}\n"
    )


def _text(value: str) -> str:
    """As a string of C++."""
    return json.dumps(value, ensure_ascii=False)
