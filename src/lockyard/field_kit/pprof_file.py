# SPDX-License-Identifier: Apache-2.0
"""A profile as a file for pprof: gzipped protocol buffers, as Go's profiles of mutexes."""

from __future__ import annotations

import gzip
from functools import cache
from typing import TYPE_CHECKING, Any

from lockyard.field_kit.profile_files import stack_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockyard.field_kit.contention import Contention, WaitGroup

# The messages of perftools.profiles (profile.proto), with the fields that are written here. A field
# is its number and its type: int64, or another message; "*" marks those that may repeat.
_MESSAGES = {
    "ValueType": {"type": "1 int64", "unit": "2 int64"},
    "Label": {"key": "1 int64", "str": "2 int64", "num": "3 int64", "num_unit": "4 int64"},
    "Line": {"function_id": "1 uint64", "line": "2 int64"},
    "Function": {"id": "1 uint64", "name": "2 int64", "system_name": "3 int64"},
    "Location": {"id": "1 uint64", "line": "4 *Line"},
    "Sample": {"location_id": "1 *uint64", "value": "2 *int64", "label": "3 *Label"},
    "Profile": {
        "sample_type": "1 *ValueType", "sample": "2 *Sample", "location": "4 *Location",
        "function": "5 *Function", "string_table": "6 *string", "time_nanos": "9 int64",
        "duration_nanos": "10 int64", "period_type": "11 ValueType", "period": "12 int64",
        "comment": "13 *int64", "default_sample_type": "14 int64",
    },
}  # fmt: skip


def message() -> Any:
    """Returns an empty message Profile."""
    return _profile_class()()


@cache
def _profile_class() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="lockyard/profile.proto", package="perftools.profiles", syntax="proto3"
    )
    field_types = descriptor_pb2.FieldDescriptorProto
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, told in fields.items():
            number, kind = told.split()
            made = message.field.add(name=field, number=int(number))
            made.label = (
                field_types.LABEL_REPEATED if kind[0] == "*" else field_types.LABEL_OPTIONAL
            )
            kind = kind.lstrip("*")
            if kind in _MESSAGES:
                made.type = field_types.TYPE_MESSAGE
                made.type_name = f".perftools.profiles.{kind}"
            else:
                made.type = getattr(field_types, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.profiles.Profile"))


def content(processes: Iterable[Contention]) -> bytes:
    return gzip.compress(_Builder(list(processes)).profile.SerializeToString(), mtime=0)


class _Builder:
    def __init__(self, processes: list[Contention]) -> None:
        self.profile = message()
        self._strings: dict[str, int] = {}
        self._locations: dict[str, int] = {}
        self._text("")
        for kind, unit in (("contentions", "count"), ("delay", "nanoseconds")):
            self.profile.sample_type.add(type=self._text(kind), unit=self._text(unit))
        self.profile.default_sample_type = self._text("delay")
        if processes:
            first = processes[0].process
            self.profile.time_nanos = first.started_realtime_ns
            self.profile.duration_nanos = round(first.elapsed_ns)
        for found in processes:
            self.profile.comment.append(self._text(found.process.program))
            for groups in found.groups.values():
                for group in groups:
                    self._add(group)

    def _add(self, group: WaitGroup) -> None:
        sample = self.profile.sample.add(value=[group.waits, round(group.wait_ns)])
        sample.location_id.extend(self._location(each) for each in reversed(stack_of(group)))
        for key in ("lock", "kind", "cause", "system_call", "holder_place"):
            if text := getattr(group, key):
                sample.label.add(key=self._text(key), str=self._text(text))
        sample.label.add(key=self._text("pid"), num=group.pid)

    def _location(self, function: str) -> int:
        if function not in self._locations:
            number = self._locations[function] = len(self._locations) + 1
            name = self._text(function)
            self.profile.function.add(id=number, name=name, system_name=name)
            self.profile.location.add(id=number).line.add(function_id=number)
        return self._locations[function]

    def _text(self, text: str) -> int:
        if text not in self._strings:
            self._strings[text] = len(self._strings)
            self.profile.string_table.append(text)
        return self._strings[text]
