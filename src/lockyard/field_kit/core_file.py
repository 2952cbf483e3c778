# SPDX-License-Identifier: Apache-2.0
"""A core file: the threads and the memory of a process at one moment."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from lockyard.errors import UsageError
from lockyard.field_kit.target import Call, Mapping, Maps, Snapshot, Thread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# struct elf_prstatus of x86-64: the thread's id, and the registers, in 8 bytes each.
_TID_AT, _REGISTERS_AT, _REGISTERS = 32, 112, 27
_R10, _R9, _R8, _RDX, _RSI, _RDI, _ORIG_RAX, _RSP = 7, 8, 9, 12, 13, 14, 15, 19
_NO_CALL = (1 << 64) - 1
_FLAGS = ((4, "r"), (2, "w"), (1, "x"))


class CoreFile:
    """Implements target.Target."""

    has_own_ids = False  # as far as it tells

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("rb")
            self._elf = ELFFile(self._file)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; name a core file") from error
        except ELFError as error:
            raise UsageError(
                f"{path}: not an ELF file ({error}), so it has no threads to look at; name a core "
                "file, as the kernel or gcore writes it"
            ) from error
        if self._elf["e_type"] != "ET_CORE":
            raise UsageError(
                f"{path}: a program or library and no core file, so it has no threads to look at; "
                "name a core file, as the kernel or gcore writes it"
            )
        self.machine = str(self._elf["e_machine"])
        if self.machine != "EM_X86_64":
            raise UsageError(
                f"{path}: a core file of {self.machine}, whose registers are not known here; "
                "examine the running process, or a core file of x86-64"
            )
        self._files: list[Mapping] = []
        self._statuses: list[bytes] = []
        self.pid, self.program = 0, ""
        for note in self._notes():
            self._take(note)
        if not self._statuses:
            raise UsageError(
                f"{path}: it has no notes of threads (perhaps it is cut off), so nothing is known; "
                "write it again, for example with 'gcore PID'"
            )

    def _notes(self) -> Iterator[Any]:
        for segment in self._elf.iter_segments("PT_NOTE"):
            yield from segment.iter_notes()  # type: ignore[attr-defined]

    def _take(self, note: Any) -> None:
        kind, content = note["n_type"], note["n_desc"]
        if kind == "NT_PRSTATUS":
            self._statuses.append(
                content if isinstance(content, bytes) else content.encode("latin1")
            )
        elif kind == "NT_PRPSINFO":
            self.pid = content["pr_pid"]
            self.program = content["pr_fname"].split(b"\0")[0].decode(errors="replace")
        elif kind == "NT_FILE":
            entries = zip(content["Elf_Nt_File_Entry"], content["filename"], strict=True)
            self._files += [
                Mapping(
                    entry["vm_start"],
                    entry["vm_end"],
                    "",
                    entry["page_offset"] * content["page_size"],
                    name.decode(errors="replace"),
                )
                for entry, name in entries
            ]

    def snapshot(self) -> Snapshot:
        found = Snapshot({})
        for status in self._statuses:
            (tid,) = struct.unpack_from("<i", status, _TID_AT)
            registers = struct.unpack_from(f"<{_REGISTERS}Q", status, _REGISTERS_AT)
            call = None
            if registers[_ORIG_RAX] != _NO_CALL:
                arguments = (_RDI, _RSI, _RDX, _R10, _R8, _R9)
                values = tuple(registers[each] for each in arguments)
                call = Call(registers[_ORIG_RAX], values, registers[_RSP])
            found.threads[tid] = Thread(tid, "", call)
        return found

    def names(self, tids: list[int]) -> dict[int, str]:
        return dict.fromkeys(tids, "")  # a core file has none

    def read(self, address: int, size: int) -> bytes | None:
        for segment in self._elf.iter_segments("PT_LOAD"):
            offset = address - segment["p_vaddr"]
            if offset >= 0 and offset + size <= segment["p_filesz"]:
                self._file.seek(segment["p_offset"] + offset)
                return self._file.read(size)
        return None

    def maps(self) -> Maps:
        files = Maps(self._files)
        found = []
        for segment in self._elf.iter_segments("PT_LOAD"):
            begin, size = segment["p_vaddr"], segment["p_memsz"]
            flags = "".join(letter for bit, letter in _FLAGS if segment["p_flags"] & bit)
            file = files.at(begin)
            path = file.path if file else ""
            offset = file.offset + begin - file.begin if file else 0
            found.append(Mapping(begin, begin + size, flags, offset, path))
        return Maps(found)

    def file(self, path: str) -> str:
        return path
