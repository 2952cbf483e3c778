# SPDX-License-Identifier: Apache-2.0
"""Names of C++ functions, as a programmer writes them."""

from __future__ import annotations

import ctypes


def demangled(name: str) -> str:
    """Returns the C++ name, by the C++ runtime's own function, where there is one."""
    if not name.startswith("_Z"):
        return name
    try:
        runtime = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return name
    demangle = runtime["__cxa_demangle"]
    demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    found = demangle(name.encode(), None, None, ctypes.byref(status))
    if not found:
        return name
    text = ctypes.string_at(found).decode(errors="replace")
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    free(found)
    return text
