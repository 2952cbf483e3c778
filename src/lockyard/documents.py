# SPDX-License-Identifier: Apache-2.0
"""What the types of lockyard's documents share. A document is a msgspec struct; its JSON schema is
generated from the struct (`lockyard.schema`)."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from msgspec import Meta, Struct, json

from lockyard.errors import OutputClosedError

Count = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Text = Annotated[str, Meta(min_length=1)]


def print_document(document: Struct) -> None:
    """Prints a document as one line of standard output."""
    print_line(json.encode(document))


def print_line(line: bytes) -> None:
    try:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise OutputClosedError("standard output is closed") from None


def builtins(document: Struct) -> Any:
    """Returns the document as it is in JSON, for callers that select parts of it."""
    return json.decode(json.encode(document))
