# SPDX-License-Identifier: Apache-2.0
"""Tells the object for which a thread sleeps in the kernel, by the arguments of its futex call and
by the memory around the word, where glibc keeps the object.

A word alone fits several kinds of object, so that each rule needs a second field to agree. Layouts:
sysdeps/nptl/bits/struct_mutex.h, struct_rwlock.h, thread-shared-types.h and nptl/internaltypes.h in
glibc's sources.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from lockyard.field_kit.target import Call, Target

Kind = Literal[
    "mutex", "PI mutex", "robust mutex", "rwlock for reading", "rwlock for writing",
    "condition variable", "semaphore", "barrier", "join", "stdio lock", "lock without owner",
    "futex",
]  # fmt: skip

FUTEX_CALL = {"EM_X86_64": 202, "EM_AARCH64": 98}
_WAIT, _LOCK_PI, _WAIT_BITSET, _WAIT_REQUEUE_PI, _LOCK_PI2 = 0, 6, 9, 11, 13
_PRIVATE, _CLOCK_REALTIME = 128, 256
_TID_MASK, _HAS_WAITERS = 0x3FFF_FFFF, 0x8000_0000
_ROBUST, _INHERITS, _SHARED, _ELISION = 16, 32, 128, 256 | 512
_PLAIN_KINDS = 3 | _SHARED | _ELISION
# Where struct pthread of x86-64 has the thread's id; the pointers at 0 and 16 point to itself.
_TID_IN_THREAD = 720
_MOST_RELOCKS = 1 << 20
_LARGEST_TID = 1 << 22


@dataclass(frozen=True)
class Wait:
    kind: Kind
    address: int  # the object's, not the word's
    owner: int | None = None  # thread id; None: the object has none, or it is unknown
    detail: str = ""
    has_timeout: bool = False
    is_shared: bool = False  # the owner may be in another process


@dataclass(frozen=True)
class _Futex:
    address: int
    expected: int
    is_private: bool
    has_timeout: bool


class Memory:
    """Reads the words around a futex, most of them at once."""

    BEFORE, AFTER = 48, 64

    def __init__(self, read: Callable[[int, int], bytes | None], address: int) -> None:
        self._read, self._address = read, address
        self._around = read(address - self.BEFORE, self.BEFORE + self.AFTER)

    def word(self, offset: int) -> int | None:
        return self._value("<I", offset)

    def pointer(self, offset: int) -> int | None:
        return self._value("<Q", offset)

    def words(self, offset: int, count: int) -> tuple[int, ...] | None:
        found = [self.word(offset + 4 * i) for i in range(count)]
        known = tuple(each for each in found if each is not None)
        return known if len(known) == count else None

    def _value(self, form: str, offset: int) -> int | None:
        size = struct.calcsize(form)
        if self._around is not None and -self.BEFORE <= offset <= self.AFTER - size:
            return int(struct.unpack_from(form, self._around, offset + self.BEFORE)[0])
        alone = self._read(self._address + offset, size)
        return None if alone is None else int(struct.unpack(form, alone)[0])


def wait_of(
    target: Target, call: Call | None, tids: Collection[int], knows_layout: bool
) -> Wait | None:
    """Returns what the thread waits for; None if it is in no futex call that waits. Without a known
    layout only what the kernel itself defines is told: futexes, and owners of PI mutexes."""
    if call is None or call.number != FUTEX_CALL.get(target.machine):
        return None
    address, operation, expected, timeout = call.arguments[:4]
    futex = _Futex(
        address, expected & 0xFFFF_FFFF, bool(operation & _PRIVATE), has_timeout=timeout != 0
    )
    memory = Memory(target.read, address)
    kind = operation & ~(_PRIVATE | _CLOCK_REALTIME) & 0xFFFF_FFFF
    if kind in (_LOCK_PI, _LOCK_PI2):
        word = memory.word(0)
        owner = None if word is None else word & _TID_MASK
        return _made(futex, "PI mutex", 0, owner or None)
    if kind not in (_WAIT, _WAIT_BITSET, _WAIT_REQUEUE_PI):
        return None
    if knows_layout:
        for rule in (_join, _stdio, _mutex, _rwlock, _condition, _barrier, _semaphore, _unowned):
            if found := rule(futex, memory, tids, target):
                return found
    return _made(futex, "futex", 0, detail=f"until its word is no longer {futex.expected}")


def _made(  # noqa: PLR0913 - what a Wait has
    futex: _Futex,
    kind: Kind,
    back: int,
    owner: int | None = None,
    detail: str = "",
    is_shared: bool = False,
) -> Wait:
    return Wait(kind, futex.address - back, owner, detail, futex.has_timeout, is_shared)


def _join(futex: _Futex, memory: Memory, tids: Collection[int], _target: Target) -> Wait | None:
    """The kernel clears the id of a thread that ends, and wakes by a futex that is not private."""
    if futex.is_private or futex.expected not in tids or memory.word(0) != futex.expected:
        return None
    return _made(futex, "join", 0, futex.expected)


def _mutex(futex: _Futex, memory: Memory, tids: Collection[int], _target: Target) -> Wait | None:
    """pthread_mutex_t: lock 0, count 4, owner 8, users 12, kind 16."""
    words = memory.words(0, 5)
    if words is None:
        return None
    lock, count, owner, users, kind = words
    is_shared = bool(kind & _SHARED)
    if kind & _ROBUST and kind & ~(_PLAIN_KINDS | _ROBUST | _INHERITS) == 0:
        if futex.expected & _HAS_WAITERS and lock & _TID_MASK:
            return _made(futex, "robust mutex", 0, lock & _TID_MASK, is_shared=is_shared)
        return None
    if (
        futex.expected != 2
        or kind & ~_PLAIN_KINDS
        or count > _MOST_RELOCKS
        or users > _MOST_RELOCKS
    ):
        return None
    if owner in tids or (0 < owner <= _LARGEST_TID and users and lock == 2):
        return _made(futex, "mutex", 0, owner, is_shared=is_shared)
    return None


def _rwlock(futex: _Futex, memory: Memory, tids: Collection[int], _target: Target) -> Wait | None:
    """pthread_rwlock_t: readers 0, writers 4, the two futexes 8 and 12, current writer 24. A writer
    waits at 12 for other writers, and at 8 for readers (2); a reader waits at 8 for a writer
    (3)."""
    if futex.expected not in (1, 2, 3):
        return None
    for back in (8, 12):
        words = memory.words(-back, 7)
        if words is None:
            continue
        counted, writers, *_, writer = words
        readers = counted >> 3
        kind: Kind = "rwlock for writing"
        if back == 8 and futex.expected & 1:
            kind = "rwlock for reading"
        if writer in tids and counted & 3 and writers <= len(tids):
            return _made(futex, kind, back, writer)
        if writer == 0 and 0 < readers <= len(tids) and writers <= len(tids):
            plural = "s" if readers > 1 else ""
            return _made(
                futex, kind, back, detail=f"held by {readers} reader{plural}, not recorded"
            )
    return None


def _condition(futex: _Futex, memory: Memory, tids: Collection[int], _: Target) -> Wait | None:
    """pthread_cond_t: references of the two groups 16 and 20 (2 for each waiter), waiters 36 (8 for
    each), signals 40 and 44, where threads wait while there is none."""
    if futex.expected != 0:
        return None
    for group, back in enumerate((40, 44)):
        references, waiters = memory.word(16 + 4 * group - back), memory.word(36 - back)
        if references is None or waiters is None:
            continue
        if 0 < references >> 1 <= len(tids) and 0 < waiters >> 3 <= len(tids):
            return _made(futex, "condition variable", back, is_shared=bool(waiters & 1))
    return None


def _barrier(futex: _Futex, memory: Memory, tids: Collection[int], _target: Target) -> Wait | None:
    """pthread_barrier_t: threads that came 0, round 4, threads in a round 8, shared 12, left 16."""
    words = memory.words(-4, 5)
    if words is None:
        return None
    came, begun, count, shared, left = words
    here = came - begun
    if begun != futex.expected or shared not in (0, 128) or left > came or not 0 < here < count:
        return None
    if count > (1 << 16) or begun % count or here > len(tids):
        return None
    return _made(futex, "barrier", 4, detail=f"{here} of {count} threads have arrived")


def _semaphore(futex: _Futex, memory: Memory, tids: Collection[int], _: Target) -> Wait | None:
    """sem_t: value 0, waiters 4, private 8."""
    words = memory.words(0, 3)
    if words is None or futex.expected != 0:
        return None
    value, waiters, private = words
    if value != 0 or not 0 < waiters <= len(tids) or private not in (0, 128):
        return None
    return _made(futex, "semaphore", 0, is_shared=private == 128)


def _stdio(futex: _Futex, memory: Memory, tids: Collection[int], target: Target) -> Wait | None:
    """The lock of a FILE has the address of its owner's struct pthread at 8."""
    if futex.expected != 2 or target.machine != "EM_X86_64":
        return None
    owner = memory.pointer(8)
    if not owner:
        return None
    thread = Memory(target.read, owner)
    tid = thread.word(_TID_IN_THREAD)
    if thread.pointer(0) == thread.pointer(16) == owner and tid in tids:
        return _made(futex, "stdio lock", 0, tid)
    return None


def _unowned(futex: _Futex, _memory: Memory, _tids: Collection[int], _: Target) -> Wait | None:
    """A lock inside glibc: 2 means held and waited for."""
    if futex.expected != 2:
        return None
    return _made(futex, "lock without owner", 0, detail="a lock inside glibc, or just released")
