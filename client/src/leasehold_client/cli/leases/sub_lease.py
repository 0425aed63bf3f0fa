"""`lease sublease list`, `lease sublease offer`, `lease sublease create` and `lease sublease delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import (
    Talking,
    TalkingLister,
    TalkingShow,
    add_sorting,
    attributes,
    fields,
    sorted_rows,
)
from leasehold_client.cli.leases.lease_list import add_lease
from leasehold_client.cli.leases.published_offer import add_notice, offer_dates, offer_fields
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_dates
from leasehold_client.cli.reading.times import MOMENTS
from leasehold_client.errors import NotFoundError

if TYPE_CHECKING:
    import argparse

_CELLS = attributes("id", "project_id", "amount", "status", "start_date", "end_date")


def add_reservation(parser: argparse.ArgumentParser, what: str) -> None:
    """Let the command name a reservation of hosts."""
    text = f"{what}: its number or ID, as in lease show (if there are several of hosts)"
    parser.add_argument("--reservation", metavar="<reservation>", help=text)


class ListSubLeases(TalkingLister):
    """Print what a lease has lent, to whom and until when."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of lease")
        add_sorting(parser, _CELLS, "start_date")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        found = self.client.leases.sub_leases(self.client.leases.find(parsed_args.lease).id)
        return sorted_rows(self, found, _CELLS, parsed_args.sort_by)


class OfferSubLease(TalkingShow):
    """Offer hosts of a lease: others claim some, as a lease of their own, and they come back when it ends."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of the lease that lends")
        parser.add_argument("name", type=typed.name, metavar="NAME", help="Name for the published offer")
        parser.add_argument("--hosts", type=int, required=True, metavar="<n>", help="so many hosts")
        parser.add_argument("--for-project", metavar="<project>", help="the only project, by ID, that may claim them")
        add_notice(parser)
        add_reservation(parser, "the reservation to offer of")
        add_dates(parser, self.clock)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        lease, wanted = self.client.leases.find(parsed_args.lease), parsed_args.reservation
        start, end = offer_dates(self, parsed_args)
        made = self.client.published_offers.create_of_lease(
            lease.id,
            parsed_args.name,
            parsed_args.hosts,
            end,
            start,
            reservation_id=None if wanted is None else lease.reservation(wanted).id,
            for_project=parsed_args.for_project,
            notice=parsed_args.notice,
        )
        return fields(offer_fields(self, made))


class CreateSubLease(TalkingShow):
    """Lend hosts of a lease to another project, which is not asked: for administrators, unless they say otherwise."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of the lease that lends")
        parser.add_argument("name", type=typed.name, metavar="NAME", help="Name for the sub-lease")
        parser.add_argument("--project", required=True, metavar="<project>", help="the project that gets them, by ID")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--hosts", type=int, metavar="<n>", help="so many hosts that nothing uses")
        text = "this host, by ID or hostname, for who may list hosts; may be repeated"
        what.add_argument("--host", action="append", metavar="<host>", help=text)
        moment = typed.moment_of(self.clock)
        parser.add_argument("--until", type=moment, metavar="<time>", help=f"the end, in your zone, {MOMENTS}")
        add_reservation(parser, "the reservation to lend of")
        add_notice(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        lease, wanted = self.client.leases.find(parsed_args.lease), parsed_args.reservation
        made = self.client.leases.lend(
            lease.id,
            parsed_args.name,
            parsed_args.project,
            amount=parsed_args.hosts,
            hosts=parsed_args.host or (),
            end=parsed_args.until,
            notice=parsed_args.notice,
            reservation_id=None if wanted is None else lease.reservation(wanted).id,
        )
        return fields({name: cell(self, made) for name, cell in _CELLS.items()})


class DeleteSubLease(Talking):
    """Take back what was lent: the sub-lease is deleted, with its servers, and the lease has its hosts again.

    One that was promised a notice ends when that is over.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of the lease that lends")
        parser.add_argument("sub_lease", metavar="SUB-LEASE", help="ID of the sub-lease, as in lease sublease list")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        lease = self.client.leases.find(parsed_args.lease)
        known = sorted(each.id for each in self.client.leases.sub_leases(lease.id))
        if parsed_args.sub_lease not in known:
            # The name is the other project's, so the lender does not know it.
            has = f"what it has lent has these IDs: {', '.join(known)}" if known else "it has lent nothing"
            raise NotFoundError(f"The lease {lease.name} has no sub-lease with the ID {parsed_args.sub_lease}; {has}.")
        self.client.leases.take_back(lease.id, parsed_args.sub_lease)
        left = [each for each in self.client.leases.sub_leases(lease.id) if each.id == parsed_args.sub_lease]
        ends = [self.moment(each.end).human_readable() for each in left if each.values.get("taken_back_at")]
        said = f"Sub-lease ends at {ends[0]}, when its notice is over" if ends else "Deleted sub-lease"
        self.app.stdout.write(f"{said}: {parsed_args.sub_lease}\n")
