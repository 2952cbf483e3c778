# SPDX-License-Identifier: Apache-2.0
"""Everything that ends the command early. Only cli.main prints errors and sets the exit status."""

from enum import IntEnum


class ExitStatus(IntEnum):
    DONE = 0
    BAD_USAGE = 2
    MISSING_CAPABILITY = 3
    CHECK_FAILED = 4
    INCONCLUSIVE = 5
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141  # as a program that SIGPIPE ends


class LockyardError(Exception):
    """The message says cause, consequence and remedy."""

    status = ExitStatus.MISSING_CAPABILITY


class UsageError(LockyardError):
    """What was asked for cannot be."""

    status = ExitStatus.BAD_USAGE


class MissingCapabilityError(LockyardError):
    """This machine or installation lacks something."""


class OutputClosedError(LockyardError):
    """Whoever read standard output has gone; nobody is left to tell."""

    status = ExitStatus.OUTPUT_CLOSED
