# SPDX-License-Identifier: Apache-2.0
"""A failed execution as a text that can be replayed: `client:size:choices`.

A bound on preemptions determines which choices exist, so it is part of the size: `3x1tb2`, or
`2x2bany` for no bound.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lockyard.checks.clients import ANSWER_S, ClientSize
from lockyard.checks.result import ANY_BOUND, Check, Result, Settings
from lockyard.errors import UsageError

if TYPE_CHECKING:
    from lockyard.checker import Checker
    from lockyard.checks.clients import Client


def replay_text(check: Check, choices: str) -> str:
    given = check.settings.bound
    bound = "" if given is None else "bany" if given == ANY_BOUND else f"b{given}"
    return f"{check.client.name}:{check.size}{bound}:{choices}"


def replayed(checker: Checker, client: Client, text: str) -> Result:
    check, choices = _parsed(client, text)
    job = {**check.to_job(), "ask": "replay", "replay": choices}
    result = Result.of(check, checker.ask(job, ANSWER_S))
    if result.verdict == "not deterministic":
        raise UsageError(
            f"--replay {text}: {result.what}; the text comes from another version of "
            f"{client.name} or of the checker, or was cut short; check the lock again"
        )
    return result


def _parsed(client: Client, text: str) -> tuple[Check, str]:
    name, _, rest = text.rpartition(":")[0].rpartition(":")
    choices = text.rpartition(":")[2]
    match = re.fullmatch(r"([0-9a-z]*?)(?:b([0-9]{1,4}|any))?", rest)
    size = ClientSize.parse(match[1]) if match else None
    if not name or match is None or size is None or not choices:
        raise UsageError(
            f"--replay {text}: not of the form LOCK:SIZE:CHOICES, as in {client.name}:3x1t:0012; "
            "give the text that a failed check printed"
        )
    if name != client.name:
        raise UsageError(
            f"--replay {text}: an execution of {name}, not of {client.name}; name {name} instead"
        )
    bound = ANY_BOUND if match[2] == "any" else int(match[2]) if match[2] else None
    return Check(client, size, Settings(bound=bound)), choices
