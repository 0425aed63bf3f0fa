"""`lease set`, `lease extend`, `lease swap` and `lease delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold_client.cli import typed
from leasehold_client.cli.asking import ask_for
from leasehold_client.cli.base import Talking, TalkingShow, fields
from leasehold_client.cli.lease_list import add_lease, lease_fields
from leasehold_client.cli.offers import offers_for_end
from leasehold_client.cli.times import DURATIONS, MOMENTS
from leasehold_client.errors import ClientError

if TYPE_CHECKING:
    import argparse
    from datetime import datetime, timedelta

    from leasehold_client.lease import Lease


class SetLease(Talking):
    """Update a lease: its name, its dates and its reservations, all or nothing."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_lease(parser, "ID or name of lease to update")
        parser.add_argument("--name", help="New name for the lease")
        parser.add_argument(
            "--reservation",
            dest="reservations",
            action="append",
            default=[],
            type=typed.change,
            metavar="<id=…,key=value,…>",
            help="Reservation values to update; may be repeated",
        )
        utc, duration = typed.utc_of(self.clock), typed.duration
        end, start = parser.add_mutually_exclusive_group(), parser.add_mutually_exclusive_group()
        end.add_argument("--prolong-for", type=duration, metavar="<duration>", help=f"end so much later, {DURATIONS}")
        end.add_argument("--reduce-by", type=duration, metavar="<duration>", help="end so much earlier")
        end.add_argument("--end-date", type=utc, metavar="<time>", help="new end, YYYY-MM-DD HH:MM in UTC")
        start.add_argument("--defer-by", type=duration, metavar="<duration>", help="start so much later")
        start.add_argument("--advance-by", type=duration, metavar="<duration>", help="start so much earlier")
        start.add_argument("--start-date", type=utc, metavar="<time>", help="new start, YYYY-MM-DD HH:MM in UTC")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        lease = self.client.leases.find(parsed_args.lease)
        end = _moved(parsed_args.end_date, parsed_args.prolong_for, parsed_args.reduce_by)
        start = _moved(parsed_args.start_date, parsed_args.defer_by, parsed_args.advance_by)
        changes: dict[str, Any] = {"name": parsed_args.name, "start": start, "reservations": parsed_args.reservations}
        if end is None and not any(changes.values()):
            raise ClientError("Say what to change: --name, --reservation, or a date such as --prolong-for 2h.")
        change_end(self, lease, end, **changes)
        self.app.stdout.write(f"Updated lease: {parsed_args.lease}\n")


class ExtendLease(TalkingShow):
    """Let a lease last longer. Where that is refused, say how long it can last, and on a terminal offer it."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_lease(parser, "ID or name of lease to extend")
        end = parser.add_mutually_exclusive_group(required=True)
        end.add_argument(
            "--for", dest="more", type=typed.duration, metavar="<duration>", help=f"end so much later, {DURATIONS}"
        )
        moment = typed.moment_of(self.clock)
        end.add_argument("--until", type=moment, metavar="<time>", help=f"new end in your zone, {MOMENTS}")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        lease = self.client.leases.find(parsed_args.lease)
        until, more = parsed_args.until, parsed_args.more
        if until is not None and until <= lease.end:
            raise ClientError("That is no later than the lease ends already. To end it earlier: lease set --reduce-by.")
        return fields(lease_fields(self, change_end(self, lease, more or until)))


class SwapHost(TalkingShow):
    """Swap a host of a lease for another one that matches."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_lease(parser, "ID or name of lease")
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--server", metavar="<id>", help="the host with this server on it")
        which.add_argument("--host", metavar="<host>", help="this host, by ID or hostname, for who may list hosts")
        parser.add_argument(
            "--on-it",
            action="append",
            default=[],
            metavar="<id>",
            help="a server that is on the host and stays there; name all of them",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        lease = self.client.leases.find(parsed_args.lease)
        swapped = self.client.leases.swap(
            lease.id, server=parsed_args.server, host=parsed_args.host, servers=parsed_args.on_it
        )
        return fields(lease_fields(self, swapped))


class DeleteLease(Talking):
    """Delete a lease; one that runs is ended first."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_lease(parser, "ID or name of lease to delete")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.client.leases.delete(self.client.leases.find(parsed_args.lease).id)
        self.app.stdout.write(f"Deleted lease: {parsed_args.lease}\n")


def change_end(command: Talking, lease: Lease, end: datetime | timedelta | None, **changes: Any) -> Lease:
    """Change the lease; where a later end is refused, an earlier one may be offered."""
    if end is None or any(changes.values()):
        # What else is changed would not be in a command that extends, so then nothing is offered.
        return command.client.leases.change(lease.id, end=end, **changes)
    return ask_for(
        command,
        end,
        lambda wish: command.client.leases.change(lease.id, end=wish),
        lambda error, _: offers_for_end(error, lease, command.clock.zone),
    )


def _moved(
    absolute: datetime | None, later: timedelta | None, earlier: timedelta | None
) -> datetime | timedelta | None:
    """Return the change of a date that three options say; None if no option does."""
    if earlier is not None:
        return -earlier
    return absolute if later is None else later
