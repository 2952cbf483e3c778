# SPDX-License-Identifier: Apache-2.0
"""The journal of changed settings: what it takes back after a kill, a restart or a torn line."""

from __future__ import annotations

import contextlib
import fcntl
import json
from typing import IO, TYPE_CHECKING

import pytest
from fake_settings import DEBUG, KERNEL, PAGES

from lockyard.machine.change import Change
from lockyard.machine.journal import FOLDER, Journal, recover

if TYPE_CHECKING:
    from lockyard.machine.procfs import KernelFiles


def test_the_undo_is_written_before_the_change(
    kept: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed at the write has noted how to take it back."""
    noted: list[list[Change]] = []

    def killed(_tree: KernelFiles, _path: str, _value: str) -> None:
        noted.append(kept.changes())
        raise KeyboardInterrupt

    monkeypatch.setattr("lockyard.machine.journal.write", killed)
    with pytest.raises(KeyboardInterrupt):
        kept.apply(Change(PAGES, "madvise", "never", "huge_pages"))
    assert noted == [[Change(PAGES, "madvise", "never", "huge_pages")]]


def test_undoes_in_reverse_and_leaves_what_others_changed_since(
    tree: KernelFiles, kept: Journal
) -> None:
    slice_, cost = f"{DEBUG}/base_slice_ns", f"{DEBUG}/migration_cost_ns"
    kept.apply(Change(slice_, "1400000", "2"))
    kept.apply(Change(slice_, "2", "3"))
    kept.apply(Change(cost, "500000", "7"))
    tree.at(cost).write_text("8")
    assert kept.undo() == []
    assert (tree.read(slice_), tree.read(cost)) == ("1400000", "8")
    kept.close()
    assert not list(tree.at(FOLDER).iterdir())


def test_what_cannot_be_undone_yet_stays_in_the_journal(
    tree: KernelFiles, kept: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.apply(Change(PAGES, "madvise", "never"))
    kept.apply(Change(f"{KERNEL}/perf_event_paranoid", "4", "2"))
    tree.at(PAGES).write_text("never")

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as while_refused:
        while_refused.setattr("lockyard.machine.journal.write", refused)
        assert len(kept.undo()) == 2
    assert [change.path for change in kept.changes()] == [PAGES, f"{KERNEL}/perf_event_paranoid"]
    assert kept.undo() == []
    assert tree.read(PAGES) == "madvise"


def test_the_journal_of_a_killed_process_is_undone_by_the_next(
    tree: KernelFiles, kept: Journal
) -> None:
    kept.apply(Change(f"{KERNEL}/perf_event_paranoid", "4", "2"))
    assert recover(tree) == []
    assert tree.read(f"{KERNEL}/perf_event_paranoid") == "2"  # its process still lives
    kept._file.close()  # noqa: SLF001 - as the kernel closes the file of a killed process
    assert recover(tree) == []
    assert tree.read(f"{KERNEL}/perf_event_paranoid") == "4"
    assert not list(tree.at(FOLDER).iterdir())


def test_a_restart_or_a_torn_line_leaves_nothing_to_undo(tree: KernelFiles) -> None:
    path = tree.at(f"{FOLDER}/2.jsonl")
    path.parent.mkdir(parents=True)
    change = json.dumps(vars(Change(PAGES, "always", "madvise")))
    path.write_text('{"boot": "earlier"}\n' + change + "\n")
    for boot, changes in (("earlier", 0), ("this", 1)):
        path.write_text(json.dumps({"boot": boot}) + f"\n{change}\n{change[:20]}")
        with contextlib.closing(Journal(tree, "2.jsonl")) as kept:
            assert len(kept.changes()) == changes
            kept.undo()


@pytest.mark.parametrize(
    "content",
    [
        '{"boot": "earlier"}\n{"path": "/nowhere", "before": "1", "after": "2"}\n',  # a restart
        '{"boot": nu',  # torn before the first change
        '{"boot": "this"}\n{"path": "/no',  # torn at the first change
    ],
)
def test_a_change_is_noted_behind_whatever_an_earlier_process_left(
    tree: KernelFiles, content: str
) -> None:
    path = tree.at(f"{FOLDER}/2.jsonl")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    change = Change(PAGES, "madvise", "never")
    with contextlib.closing(Journal(tree, "2.jsonl")) as kept:
        kept.apply(change)
    with contextlib.closing(Journal(tree, "2.jsonl")) as kept:
        assert kept.changes() == [change]
        kept.undo()
    assert not path.exists()


def test_a_process_that_is_killed_while_it_notes_an_undo_loses_no_change(
    kept: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.apply(Change(f"{KERNEL}/perf_event_paranoid", "4", "2"))
    kept.apply(Change(PAGES, "madvise", "never"))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as at_the_note:
        at_the_note.setattr(kept, "_append", killed)
        with pytest.raises(KeyboardInterrupt):
            kept.undo(keep_first=1)
    assert kept.changes()[0] == Change(f"{KERNEL}/perf_event_paranoid", "4", "2")


def test_a_journal_that_its_last_user_removes_meanwhile_is_made_anew(
    tree: KernelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tree.at(f"{FOLDER}/2.jsonl")
    lock = fcntl.flock

    def removed_before(file: IO[bytes], how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        path.unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", removed_before)
    with contextlib.closing(Journal(tree, "2.jsonl")) as kept:
        kept.apply(Change(PAGES, "madvise", "never"))
        assert path.read_bytes()
