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
    from pathlib import Path

# Names of the checker, and names of the compiler's and the dynamic linker's own machinery.
OURS = r"__wrap_\w+|__tsan_\w+|__ubsan_\w+|lockyard_\w+|__VERIFIER_\w+"
MACHINERY = (
    r"_Unwind_\w+|_ITM_\w+|__cxa_\w+|__gxx_personality\w*|__gmon_start__|__stack_chk_fail|"
    r"__dso_handle|__once_proxy"
)
# Functions of C that use only what their caller gives them, or that write text.
PLAIN_C = (
    r"(?:mem|str|wcs|wmem)\w+|isw?\w{4,6}|tow?(?:upper|lower)|ato[filq]+|q?sort(?:_r)?|bsearch|l?l?abs|"
    r"l?l?div|\w*printf\w*|f?put[sc]\w*|putchar|fflush|perror|getenv|atexit|__errno_location|"
    r"__ctype_\w+|__(?:mem|str)\w+_chk|std(?:out|err|in)|f?scanf|ffs\w*|"
    r"(?:sin|cos|tan|exp|log|pow|sqrt|fabs|floor|ceil|round|trunc|fmod|fmin|fmax)\w*"
)
# The C++ library apart from threads, waits, clocks and chance: exceptions, strings, streams, nodes
# of containers, tables of types, destructors. A future's wait is here a spin on the future's word.
CXX = (
    r"_ZT[ISV]\w+|_ZNK?St(?!6thread|11this_thread|18condition_variable|6chrono|"
    r"13random_device)\w+|_ZNK?S[abdios]\w+|_ZSt\w+|_ZNSt18condition_variable[CD]\w+|"
    r"_ZNSt6thread6_StateD\w+|_ZNK?10__cxxabiv1\w+"
)
KNOWN = re.compile(f"{OURS}|{MACHINERY}|{PLAIN_C}|{CXX}")


def unseen(module: Path) -> tuple[str, ...]:
    """Returns the names of the functions, in their order in the module."""
    try:
        with module.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".dynsym")
            symbols = list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []
    except (OSError, ELFError):
        return ()
    names = [each.name for each in symbols if each["st_shndx"] == "SHN_UNDEF" and each.name]
    # Both forms of a constructor have one name in the source.
    return tuple(dict.fromkeys(demangled(name) for name in names if not KNOWN.fullmatch(name)))
