"""`offer list`, `offer show`, `offer create`, `offer accept` and `offer delete`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold_client.calls.wire import said
from leasehold_client.cli.command.base import Talking, TalkingShow, attributes, fields
from leasehold_client.cli.command.things import DeleteThing, ListOwn, ShowThing, ThingKind
from leasehold_client.cli.leases.asking import ask_for
from leasehold_client.cli.leases.counter_offer import offers_for_lease
from leasehold_client.cli.leases.lease_list import lease_fields
from leasehold_client.cli.leases.searching import add_earliest, check_search, in_first_window
from leasehold_client.cli.output.shown import what
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import (
    add_contents,
    add_dates,
    add_purpose,
    asked_start,
    contents,
    length,
    window,
)
from leasehold_client.cli.reading.times import DURATIONS
from leasehold_client.lease import LeaseRequest

if TYPE_CHECKING:
    import argparse

    from leasehold_client.offer import Offer

_KIND: ThingKind[Offer] = ThingKind(
    "offer",
    "/offers",
    lambda client, _: client.offers,
    {
        "expires_at": lambda command, offer: command.moment_and_distance(offer.expires),
        **attributes("name", "id"),
        "what": lambda _, offer: what(offer.lease),
        "start_date": lambda command, offer: command.moment(offer.lease.start),
        "end_date": lambda command, offer: command.moment(offer.lease.end),
    },
)


class ListOffers(ListOwn):
    """Print a list of the offers that are open."""

    kind = _KIND


class ShowOffer(ShowThing):
    """Show an offer, and until when it is held."""

    kind = _KIND

    def shown(self, found: Offer) -> dict[str, object]:
        """Return what is shown of it: until when it is held, and its lease."""
        return offer_fields(self, found)


class DeleteOffer(DeleteThing):
    """Give an offer up; others may have its resources at once."""

    kind = _KIND


class CreateOffer(TalkingShow):
    """Have a lease held for some minutes, until offer accept makes it a lease or it lapses."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", type=typed.name, metavar="OFFER", help="Name for the lease")
        add_dates(parser, self.clock)
        add_contents(parser)
        add_purpose(parser)
        add_earliest(parser, self.clock)
        parser.add_argument("--hold", type=typed.duration, metavar="<duration>", help=f"held for so long, {DURATIONS}")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        check_search(parsed_args)
        now = self.clock.now()
        request = LeaseRequest(
            name=parsed_args.name,
            start=asked_start(parsed_args, now),
            end=window(parsed_args, now)[1],
            reservations=contents(parsed_args, self.client.floating_ips),
            more=said(purpose=parsed_args.purpose),
            lasts=length(parsed_args),
        )
        offered = partial(offers_for_lease, zone=self.clock.zone)
        if parsed_args.earliest:
            request = ask_for(self, request, partial(in_first_window, self, parsed_args), offered)
        made = ask_for(self, request, lambda wish: self.client.offers.create(wish, parsed_args.hold), offered)
        return fields(offer_fields(self, made))


class AcceptOffer(TalkingShow):
    """Make an offer a lease, with the dates and the resources that it has held."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _KIND.add_one(parser, "to accept")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        calls = self.client.offers
        return fields(lease_fields(self, calls.accept(calls.find(parsed_args.thing).id)))


def offer_fields(command: Talking, offer: Offer) -> dict[str, object]:
    """Return what is shown of an offer."""
    held = {"state": offer.state, "expires_at": command.moment_and_distance(offer.expires)}
    return held | lease_fields(command, offer.lease)
