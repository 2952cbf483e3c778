# SPDX-License-Identifier: Apache-2.0
"""A campaign as one JSON document. schema/campaign.schema.json is generated from these types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from lockyard.documents import Count, Text

if TYPE_CHECKING:
    from lockyard.campaign.engine import Outcome
    from lockyard.campaign.plan import Campaign

CommandLine = Annotated[list[str], Meta(min_length=1, description="A command and its arguments.")]


class CampaignDocument(Struct, frozen=True, tag_field="record", tag="campaign"):
    """The outcome of a campaign. A reader tolerates keys that are not described here."""

    schema: Literal[1]
    results: Annotated[Text, Meta(description="The folder of the results.")]
    tasks: Count
    done: Annotated[Count, Meta(description="Results of this run.")]
    kept: Annotated[Count, Meta(description="Results of earlier runs.")]
    started_again: Annotated[list[str], Meta(description="Lost workers and their tasks.")]
    without_result: Annotated[list[str], Meta(description="Tasks, and why they have none.")]
    interrupted: bool


class PlannedCampaign(Struct, frozen=True, tag_field="record", tag="campaign_plan"):
    """The tasks of a campaign, as --dry-run prints them."""

    schema: Literal[1]
    tasks: list[CommandLine]


def document(campaign: Campaign, outcome: Outcome) -> CampaignDocument:
    return CampaignDocument(
        schema=1,
        results=str(campaign.out),
        tasks=len(campaign.tasks),
        done=outcome.done,
        kept=outcome.kept,
        started_again=outcome.lost,
        without_result=outcome.failed,
        interrupted=outcome.interrupted,
    )


def planned(campaign: Campaign) -> PlannedCampaign:
    return PlannedCampaign(1, [[each.command, *each.arguments] for each in campaign.tasks])
