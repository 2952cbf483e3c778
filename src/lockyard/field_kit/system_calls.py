# SPDX-License-Identifier: Apache-2.0
"""The names of system calls in which threads are found blocked."""

from __future__ import annotations

_X86_64 = {
    0: "read", 1: "write", 7: "poll", 17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev",
    23: "select", 26: "msync", 34: "pause", 35: "nanosleep", 42: "connect", 43: "accept",
    44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4", 65: "semop",
    69: "msgsnd", 70: "msgrcv", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync",
    128: "rt_sigtimedwait", 130: "rt_sigsuspend", 202: "futex", 208: "io_getevents",
    220: "semtimedop", 230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid", 257: "openat",
    270: "pselect6", 271: "ppoll", 277: "sync_file_range", 281: "epoll_pwait", 288: "accept4",
    290: "eventfd2", 295: "preadv", 296: "pwritev", 299: "recvmmsg", 307: "sendmmsg",
    324: "membarrier", 426: "io_uring_enter", 441: "epoll_pwait2", 449: "futex_waitv",
}  # fmt: skip
_AARCH64 = {
    22: "epoll_pwait", 25: "fcntl", 32: "flock", 56: "openat", 63: "read", 64: "write",
    65: "readv", 66: "writev", 67: "pread64", 68: "pwrite64", 72: "pselect6", 73: "ppoll",
    82: "fsync", 83: "fdatasync", 95: "waitid", 98: "futex", 101: "nanosleep",
    115: "clock_nanosleep", 133: "rt_sigsuspend", 137: "rt_sigtimedwait", 192: "semtimedop",
    193: "semop", 202: "accept", 203: "connect", 206: "sendto", 207: "recvfrom", 211: "sendmsg",
    212: "recvmsg", 227: "msync", 242: "accept4", 243: "recvmmsg", 260: "wait4",
    283: "membarrier", 426: "io_uring_enter", 441: "epoll_pwait2", 449: "futex_waitv",
}  # fmt: skip
_TABLES = {"EM_X86_64": _X86_64, "EM_AARCH64": _AARCH64}


def name_of(number: int, machine: str) -> str:
    return _TABLES.get(machine, {}).get(number, f"system call {number}")
