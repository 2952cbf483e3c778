# SPDX-License-Identifier: Apache-2.0
"""lockyard campaign: many measurements, simulations or checks, here or on a cluster."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from lockyard.campaign import plan
from lockyard.campaign.engine import Engine, Outcome
from lockyard.campaign.pools import LocalPool, cluster
from lockyard.errors import ExitStatus
from lockyard.measure.session import say

if TYPE_CHECKING:
    from pathlib import Path

    from lockyard.campaign.plan import Campaign


def run(file: Path, address: str, patience_s: float, dry: bool, as_json: bool) -> ExitStatus:
    campaign = plan.read(file)
    if dry:
        _print_tasks(campaign, as_json)
        return ExitStatus.DONE
    say(f"{len(campaign.tasks)} tasks, results in {campaign.out}")
    with cluster(address) if address else nullcontext(LocalPool()) as pool:
        outcome = Engine(campaign, pool, patience_s, say).run()
    if as_json:
        print(json.dumps(_document(campaign, outcome)))  # noqa: T201
    else:
        from lockyard.campaign.text import print_campaign

        print_campaign(campaign, outcome)
    return outcome.status


def _print_tasks(campaign: Campaign, as_json: bool) -> None:
    if as_json:
        tasks = [[each.command, *each.arguments] for each in campaign.tasks]
        print(json.dumps({"tasks": tasks}))  # noqa: T201
        return
    for task in campaign.tasks:
        print(task)  # noqa: T201


def _document(campaign: Campaign, outcome: Outcome) -> dict[str, Any]:
    return {
        "schema": 1,
        "record": "campaign",
        "results": str(campaign.out),
        "tasks": len(campaign.tasks),
        "done": outcome.done,
        "kept": outcome.kept,
        "started_again": outcome.lost,
        "without_result": outcome.failed,
        "interrupted": outcome.interrupted,
    }
