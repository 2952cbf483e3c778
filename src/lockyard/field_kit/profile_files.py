# SPDX-License-Identifier: Apache-2.0
"""A profile as files: JSON Lines, and folded stacks for flame graphs."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from lockyard.errors import MissingCapabilityError
from lockyard.field_kit.recorded import Names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lockyard.field_kit.contention import Contention, Row

SCHEMA = 1


def write(path: Path, lines: Iterable[str]) -> None:
    """Writes the file next to its place, then moves it there."""
    beside = path.with_name(f".{path.name}.partial")
    try:
        with beside.open("w") as file:
            file.writelines(f"{line}\n" for line in lines)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise MissingCapabilityError(
            f"{path} cannot be written ({error.strerror}), so the profile is only what was "
            "printed; name a file in a folder with space and permission"
        ) from error


def json_lines(processes: Iterable[Contention]) -> Iterator[str]:
    for found in processes:
        for document in documents(found):
            yield json.dumps(document)


def documents(found: Contention) -> Iterator[dict[str, Any]]:
    """Yields a record of the process, then one for each lock and for each pair of places."""
    records, names = found.records, Names(found.records)
    yield {
        "schema": SCHEMA, "record": "profile", "pid": records.pid, "program": records.program,
        "elapsed_ns": records.elapsed_ns, "threads": records.threads, "lost": records.lost,
    }  # fmt: skip
    for row in (*found.rows, *found.idle):
        yield _lock(records.pid, row)
        for pair in row.pairs:
            yield {
                "schema": SCHEMA, "record": "profile-wait", "pid": records.pid, "lock": row.name,
                "kind": row.kind, "address": pair.address, "cause": pair.cause,
                "detail": pair.detail, "waits": pair.waits, "wait_ns": pair.wait_ns,
                "longest_ns": pair.longest_ns,
                "waiter": [names.function(each) for each in pair.waiter],
                "holder": [names.function(each) for each in pair.holder],
                "held_since": names.function(pair.holder_site) if pair.holder_site else "",
            }  # fmt: skip


def _lock(pid: int, row: Row) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "record": "profile-lock", "pid": pid, "lock": row.name,
        "kind": row.kind, "objects": row.objects, "acquisitions": row.acquisitions,
        "waits": row.waits, "wait_ns": row.wait_ns, "p50_ns": row.quantile_ns(0.5),
        "p99_ns": row.quantile_ns(0.99), "longest_ns": row.longest_ns,
        "others_first": row.others_first, "failed_tries": row.failed_tries,
        "sampled_holds": row.holds, "sampled_hold_ns": row.hold_ns,
        "longest_hold_ns": row.longest_hold_ns, "longest_hold_at": row.longest_hold_at,
        "causes": [
            {"cause": cause, "detail": detail, "holder": holder, "waits": waits.count,
             "wait_ns": waits.ns}
            for (cause, detail, holder), waits in row.causes.items()
        ],
    }  # fmt: skip


def folded(processes: Iterable[Contention]) -> Iterator[str]:
    """Yields a line for each stack of waiters, outermost function first, then the lock and the
    holder's place, with the microseconds waited."""
    for found in processes:
        names = Names(found.records)
        sums = defaultdict[str, float](float)
        for row in (*found.rows, *found.idle):
            for pair in row.pairs:
                frames = [names.function(each) for each in reversed(pair.waiter)]
                behind = [f"behind {names.place(pair.holder)}"] if pair.holder else []
                stack = [*frames, f"[{row.kind} {row.name}]", *behind]
                sums[";".join(each.replace(";", ":") for each in stack)] += pair.wait_ns
        for stack_text, ns in sums.items():
            yield f"{stack_text} {max(1, round(ns / 1e3))}"
