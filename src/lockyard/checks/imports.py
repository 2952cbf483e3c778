# SPDX-License-Identifier: Apache-2.0
"""Names the functions of other libraries that a module calls and that the checker does not see.

assembly.py refuses those that are known to be a meeting of threads or a source of chance. Any other
function runs as it is, and is named, unless it is known to concern its caller only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from lockyard.cxx_names import demangled

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

# Names of the checker, and names of the compiler's and the dynamic linker's own machinery.
OURS = (
    r"__tsan_\w+|__ubsan_\w+|__VERIFIER_\w+|lockyard_(?:pthread_create|at_thread_exit|lock_all|cycles|full_barrier|"
    r"atomic_(?:notify|watch|yield|has_changed|wait(?:_seen)?(?:_limited)?))"
)
# What the glue defines in each module (virtual/plain/module.hpp); programs may have functions of
# their own for the names of SV-COMP.
OF_GLUE = r"__wrap_pthread_create|__VERIFIER_\w+"
MACHINERY = (
    r"_Unwind_\w+|_ITM_\w+|__cxa_\w+|__g(?:xx|cc)_personality\w*|__gmon_start__|__stack_chk_fail|"
    r"__dso_handle|__once_proxy|__pthread_cleanup_routine"
)
# Functions of C that use no memory that other threads may write. The checker has those that read
# texts or bytes under names of its own (virtual/plain/wrapped.txt), so others like them are named.
PLAIN_C = (
    r"strerror|strsignal|isw?\w{4,6}|tow?(?:upper|lower)|l?l?div|f?putw?c|putw?char|fflush|"
    r"getenv|atexit|__errno_location|__ctype_\w+|std(?:out|err|in)|f?scanf"
)
# The C++ library apart from threads, waits, clocks and chance: exceptions, strings, streams, nodes
# of containers, tables of types, destructors. A future's wait is here a spin on the future's word.
# Other objects of the library have a state that threads may share: streams, apart from those that
# exist anyway, and their buffers, and pools of memory; their constructors are named. Conversions of
# numbers use texts of the code's own.
STREAMS = (
    r"_ZN\w*?\d+basic_(?:[io]?(?:string|f)stream|(?:string|file|sync)buf|osyncstream|[io]?spanstream)"
    r"I\w+C[12]\w*"
)
CXX = (
    r"_ZT[ISV]\w+|_ZNK?St(?!6thread|11this_thread|18condition_variable|6chrono|"
    r"13random_device|3pmr25monotonic|3pmr28unsynchronized|\d+(?:runtime|logic)_erroraS)\w+|"
    r"_ZNK?S[abdos]\w+|"
    r"_ZSt(?!7getline|rs|8to_chars|10from_chars)\w+|_ZNSt18condition_variable[CD]\w+|"
    r"_ZNSt6thread6_StateD\w+|_ZNK?10__cxxabiv1\w+"
)
KNOWN = re.compile(f"(?!(?:{STREAMS})$)(?:{OURS}|{MACHINERY}|{PLAIN_C}|{CXX})")


def unseen(module: Path, known: Container[str]) -> tuple[str, ...]:
    """Returns the names of the functions, in their order in the module. The checker has models of
    the functions in `known`, or needs none."""
    names = [name for name, is_defined in _symbols(module) if not is_defined]
    unknown = [
        name
        for name in names
        if not KNOWN.fullmatch(name) and name.removeprefix("__wrap_") not in known
    ]
    # Both forms of a constructor have one name in the source.
    return tuple(dict.fromkeys(map(demangled, unknown)))


def taken(module: Path, modelled: Container[str]) -> str:
    """Returns the name of a function that the module defines although the checker does; its calls
    would not reach the checker. Empty if there is none."""
    for name, is_defined in _symbols(module):
        of_model = name.startswith("__wrap_") and name.removeprefix("__wrap_") in modelled
        is_ours = (of_model or re.fullmatch(OURS, name)) and not re.fullmatch(OF_GLUE, name)
        if is_defined and is_ours:
            return name
    return ""


def _symbols(module: Path) -> list[tuple[str, bool]]:
    """Returns the names that the dynamic linker sees, and whether the module defines them."""
    try:
        with module.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".dynsym")
            symbols = list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []
    except (OSError, ELFError):
        return []
    return [(each.name, each["st_shndx"] != "SHN_UNDEF") for each in symbols if each.name]
