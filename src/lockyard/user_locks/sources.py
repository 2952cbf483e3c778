# SPDX-License-Identifier: Apache-2.0
"""Writes the programs around a user's header.

Where a line of a program consists of the user's own words, a line marker names the option that it
came from, so that the compiler's messages name it too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lockyard.user_locks.lock_spec import UserLock

LOCKS = "user_lock.hpp"
HEADER = "// SPDX-License-Identifier: Apache-2.0\n// Written by lockyard.\n"


def locks(named: Sequence[UserLock]) -> str:
    """Writes the header that all others include; it gives each lock a name of ours."""
    first: dict[str, UserLock] = {}
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


def check(named: Sequence[UserLock]) -> str:
    """Writes a program that compiles if every type is a lock and its functions compile."""
    uses = "".join(
        f"# 1 {_text(str(lock))}\n"
        f"template void own::require_lock<lockyard_own::lock_{number}>();\n"
        f"template void own::use_as_lock(lockyard_own::lock_{number}&);\n"
        for number, lock in enumerate(named)
    )
    return (
        f'{HEADER}#include "{LOCKS}"\n#include <user_locks/requirements.hpp>\n'
        f"namespace lockyard::harness {{\n{uses}}}\n"
    )


def study(
    name: str, source: Path, named: Sequence[UserLock], described: Mapping[str, Mapping[str, str]]
) -> str:
    """Writes the study again for these locks, renamed, since the harness already has the study."""
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
        f'#include "{LOCKS}"\n#include <user_locks/adopted.hpp>\n'
        "namespace lockyard::harness::own {\n"
        "template <class Visitor>\nvoid for_each_lock(Visitor&& visit) {\n"
        f"{entries}}}\n}}\n"
        f'#include "{source}"\n'
        "namespace lockyard::harness {\n"
        f"static const adoption adopted_locks_of_{name}{{std::vector<user_lock>{{\n{adopted}}}}};\n"
        f"static const adoption adopted_{name}{{own_{name}_study()}};\n}}\n"
    )


def _text(value: str) -> str:
    """Quotes a value as a C++ string."""
    return json.dumps(value, ensure_ascii=False)
