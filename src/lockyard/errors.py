# SPDX-License-Identifier: Apache-2.0
"""Everything that ends the command early. Only cli.main prints errors and sets the exit status."""

from enum import IntEnum


class ExitStatus(IntEnum):
    DONE = 0
    BAD_USAGE = 2
    MISSING_CAPABILITY = 3
    CHECK_FAILED = 4
    INCONCLUSIVE = 5
    NOT_EXECUTABLE = 126  # this and the next as in env(1) and timeout(1)
    NOT_FOUND = 127
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141  # like a program that SIGPIPE ends


class LockyardError(Exception):
    """An error of the command. The message names cause, consequence and remedy."""

    status: int = ExitStatus.MISSING_CAPABILITY


class UsageError(LockyardError):
    """The request is impossible."""

    status = ExitStatus.BAD_USAGE


class MissingCapabilityError(LockyardError):
    """This machine or installation lacks something."""


class OutputClosedError(LockyardError):
    """The reader of standard output has gone, so no message can be read."""

    status = ExitStatus.OUTPUT_CLOSED
