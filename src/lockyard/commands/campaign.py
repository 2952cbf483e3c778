# SPDX-License-Identifier: Apache-2.0
"""Run many measurements, simulations or checks, on this machine or on a cluster. Tasks that are
already done are not repeated."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lockyard import options as parse
from lockyard.campaign import plan
from lockyard.campaign.document import document, planned
from lockyard.campaign.engine import Engine
from lockyard.campaign.pools import LocalPool, cluster
from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import command_of, option, options_class
from lockyard.documents import print_document
from lockyard.errors import ExitStatus
from lockyard.measure.session import say

if TYPE_CHECKING:
    from lockyard.campaign.plan import Campaign


@options_class
class CampaignOptions:
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.toml", help="The campaign.", show_default=False, click_type=FILE
        ),
    ]
    cluster: Annotated[
        str,
        option(
            "tcp://HOST:PORT",
            "The scheduler of a Dask distributed cluster; needs lockyard[cluster].",
            shown="this machine alone",
        ),
    ] = ""
    patience: Annotated[
        Any,
        option(
            "TIME",
            "How long to wait for a missing worker, such as one that was lost.",
            parse.duration_s,
            shown="60s",
        ),
    ] = 60.0
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the tasks without running them.")
    ] = False
    as_json: Json = False


@command_of(
    CampaignOptions,
    "lockyard campaign night.toml",
    "lockyard campaign night.toml --dry-run",
    "lockyard campaign night.toml --cluster tcp://10.0.0.1:8786",
)
def command(options: CampaignOptions) -> int:
    campaign = plan.read(options.file)
    if options.dry_run:
        _print_tasks(campaign, options.as_json)
        return ExitStatus.DONE
    say(f"{len(campaign.tasks)} tasks, results in {campaign.out}")
    with cluster(options.cluster) if options.cluster else nullcontext(LocalPool()) as pool:
        outcome = Engine(campaign, pool, options.patience, say).run()
    if options.as_json:
        print_document(document(campaign, outcome))
    else:
        from lockyard.campaign.text import print_campaign

        print_campaign(campaign, outcome)
    return outcome.status


def _print_tasks(campaign: Campaign, as_json: bool) -> None:
    if as_json:
        print_document(planned(campaign))
        return
    for task in campaign.tasks:
        print(task)  # noqa: T201
