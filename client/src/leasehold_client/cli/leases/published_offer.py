"""`published offer list`, `show`, `create`, `delete` and `claim`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import TalkingShow, attributes, fields
from leasehold_client.cli.command.things import DeleteThing, ListOwn, ShowThing, ThingKind, thing_fields
from leasehold_client.cli.leases.lease_list import lease_fields
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_dates, add_purpose, asked_start, window
from leasehold_client.cli.reading.times import DURATIONS
from leasehold_client.cli.resources.resource import add_type
from leasehold_client.errors import ClientError

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from leasehold_client.cli.command.base import Talking
    from leasehold_client.published_offer import PublishedOffer

_KIND: ThingKind[PublishedOffer] = ThingKind(
    "published offer",
    "/published-offers",
    lambda client, _: client.published_offers,
    attributes("name", "id", "status", "resource_type", "left", "start_date", "end_date"),
)


class ListPublished(ListOwn):
    """Print a list of the published offers of the project, and of those of others that it may claim."""

    kind = _KIND


class ShowPublished(ShowThing):
    """Show a published offer, and what of it is free."""

    kind = _KIND

    def shown(self, found: PublishedOffer) -> dict[str, object]:
        whole = self.client.published_offers.get(found.id)
        return offer_fields(self, whole)


class DeletePublished(DeleteThing):
    """Delete a published offer, and the leases that were made of it: at once, or after the notice that it promises."""

    kind = _KIND


class CreatePublished(TalkingShow):
    """Publish a resource that the project owns, so that others may claim it for a part of the time."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", type=typed.name, metavar="PUBLISHED_OFFER", help="Name for the published offer")
        add_type(parser)
        parser.add_argument("resource", metavar="RESOURCE", help="ID or name of the resource; see owned resource list")
        add_dates(parser, self.clock)
        parser.add_argument("--for-project", metavar="<project>", help="the only project, by ID, that may claim it")
        add_notice(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        start, end = offer_dates(self, parsed_args)
        if end is None:
            raise ClientError("Say until when it is offered: --until or --for.")
        kind, name = parsed_args.resource_type, parsed_args.resource
        owned = [each for each in self.client.owned_resources.list() if each.resource_type == kind]
        ident = next((each.id for each in owned if name in (each.id, each.name)), name)
        made = self.client.published_offers.create(
            parsed_args.name, kind, ident, end, start, parsed_args.for_project, parsed_args.notice
        )
        return fields(offer_fields(self, made))


class ClaimPublished(TalkingShow):
    """Lease a part of a published offer; without dates up to the end of what is free of it from now on."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _KIND.add_one(parser, "to claim")
        named = "Name for the lease (default: that of the offer)"
        parser.add_argument("--name", type=typed.name, metavar="<name>", help=named)
        text = "so many hosts, of an offer of hosts of a lease (default: 1); they are claimed from now on"
        parser.add_argument("--hosts", type=int, metavar="<n>", help=text)
        add_dates(parser, self.clock)
        add_purpose(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        calls = self.client.published_offers
        offer = calls.find(parsed_args.thing)
        start, end = offer_dates(self, parsed_args, offer.start)
        name, hosts = parsed_args.name or offer.name, parsed_args.hosts
        lease = calls.claim(offer.id, name, start, end, hosts, parsed_args.purpose)
        return fields(lease_fields(self, lease))


def add_notice(parser: argparse.ArgumentParser) -> None:
    """Let the command promise a notice to who has what is lent."""
    text = f"if you take it back, who has it is told so long ahead, {DURATIONS} (default: not at all)"
    parser.add_argument("--notice", type=typed.duration, metavar="<duration>", help=text)


def offer_dates(
    command: Talking, options: argparse.Namespace, first: datetime | None = None
) -> tuple[datetime | None, datetime | None]:
    """Return the start and the end that the options ask for, each if they do; `first` is the earliest start."""
    now = command.clock.now()
    start = asked_start(options, now)
    if options.end is None and options.lasts is None:
        return start, None
    if start is None and first is not None and first > now:
        options.start = first
    return start, window(options, now)[1]


def offer_fields(command: Talking, offer: PublishedOffer) -> dict[str, object]:
    """Return what is shown of one offer, with what is free of it."""
    said = [
        f"{command.moment(start).human_readable()} to {command.moment(end).human_readable()}"
        for start, end in offer.free
    ]
    free = Shown(offer.values.get("free", []), "\n".join(said))
    return thing_fields(command, offer, free=free)
