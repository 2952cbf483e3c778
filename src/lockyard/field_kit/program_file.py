# SPDX-License-Identifier: Apache-2.0
"""A program on disk: where it is, and whether a preloaded library reaches it."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from lockyard.errors import ExitStatus, LockyardError, MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_INTERPRETERS = 4  # as Linux
_RUNTIMES_OF_SANITIZERS = ("libasan.so", "libtsan.so", "libhwasan.so")


class NotFoundError(LockyardError):
    status = ExitStatus.NOT_FOUND


class NotExecutableError(LockyardError):
    status = ExitStatus.NOT_EXECUTABLE


def located(program: str, environment: Mapping[str, str]) -> Path:
    """Returns the file that a shell would run. Raises NotFoundError or NotExecutableError."""
    path = environment.get("PATH", os.defpath)
    found = shutil.which(program, path=path)
    if found is not None:
        return Path(found)
    there = Path(program) if "/" in program else None
    if there is not None and there.exists():
        why = "is a folder" if there.is_dir() else "may not be executed by this user"
        raise NotExecutableError(f"{program} {why}, so nothing was run; name an executable file")
    where = "there is no such file" if there is not None else "no folder of PATH has it"
    raise NotFoundError(f"{program}: {where}, so nothing was run; check the name")


def needed_first(program: Path, library: Path, environment: Mapping[str, str]) -> list[str]:
    """Returns the libraries that have to be loaded before a preloaded one: sanitizers' runtimes.
    Raises MissingCapabilityError if the dynamic linker would not load `library` into the program,
    which it does not say."""
    binary = binary_of(program, environment)
    consequence = f"so the locks of {program.name} cannot be reached"
    if why := _dropped_by_kernel(binary):
        raise MissingCapabilityError(
            f"{binary} {why}: the dynamic linker ignores LD_PRELOAD there, {consequence}; run a "
            "copy that has no such right"
        )
    try:
        with binary.open("rb") as file, library.open("rb") as own_file:
            elf, own = ELFFile(file), ELFFile(own_file)
            if why := _unloadable(elf, own):
                raise MissingCapabilityError(f"{binary} {why}, {consequence}")
            dynamic = elf.get_section_by_name(".dynamic")
            tags = dynamic.iter_tags("DT_NEEDED") if isinstance(dynamic, DynamicSection) else ()
            needed = [str(getattr(tag, "needed", "")) for tag in tags]
    except OSError as error:
        raise MissingCapabilityError(
            f"{binary} cannot be read ({error.strerror}), so whether a library reaches it is "
            "unknown; get permission to read it"
        ) from None
    except ELFError:
        raise NotExecutableError(
            f"{binary} is neither a program of this system nor a script with #!, so nothing was "
            "run; name an executable file"
        ) from None
    return [name for name in needed if name.startswith(_RUNTIMES_OF_SANITIZERS)]


def binary_of(program: Path, environment: Mapping[str, str]) -> Path:
    """Returns the program, or the interpreter of a script."""
    for _ in range(MOST_INTERPRETERS):
        try:
            with program.open("rb") as file:
                line = file.readline(256)
        except OSError:
            return program
        words = line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
        if not words:
            return program
        if Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        if not words:
            return program
        program = located(words[0], environment)
    return program


def _dropped_by_kernel(binary: Path) -> str:
    """Returns the right that the file gives beyond the user's, or ""."""
    status = binary.stat()
    if status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid():
        return "is setuid"
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getegid():
        return "is setgid"
    try:
        os.getxattr(binary, "security.capability")
    except OSError:
        return ""
    return "has capabilities" if os.geteuid() != 0 else ""


def _unloadable(elf: ELFFile, own: ELFFile) -> str:
    """Returns why the dynamic linker would not load a library like `own`, or ""."""
    if (elf["e_machine"], elf.elfclass) != (own["e_machine"], own.elfclass):
        return f"is a program for another processor ({elf.get_machine_arch()})"
    if any(elf.get_section_by_name(name) for name in (".go.buildinfo", ".note.go.buildid")):
        return "is a Go program, which waits without the C library"
    interpreters = [
        each.get_interp_name() for each in elf.iter_segments() if isinstance(each, InterpSegment)
    ]
    if not interpreters:
        return "is linked statically: no dynamic linker loads a library into it"
    if "ld-musl" in interpreters[0]:
        return "uses musl, whose locks have another layout than glibc's"
    return ""
