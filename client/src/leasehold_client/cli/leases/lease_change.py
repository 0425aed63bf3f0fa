"""`lease set`, `lease extend`, `lease swap`, `lease heal`, `lease drop` and `lease delete`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold_client.cli.command.base import Talking, TalkingShow, fields, written
from leasehold_client.cli.leases.asking import ask_for
from leasehold_client.cli.leases.counter_offer import offers_for_end
from leasehold_client.cli.leases.lease_list import add_lease, cost_of, end_of, lease_fields, tried_fields
from leasehold_client.cli.output.shown import what
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import REMOVES_PURPOSE, add_purpose, add_repeated
from leasehold_client.cli.reading.times import DURATIONS, MOMENTS
from leasehold_client.errors import ClientError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from leasehold_client.lease import Lease


class SetLease(Talking):
    """Update a lease: its name, its dates and its reservations, all or nothing."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of lease to update")
        parser.add_argument("--name", type=typed.name, help="New name for the lease")
        add_purpose(parser, REMOVES_PURPOSE)
        changes = "Reservation values to update; its id is that, or its number as in lease show, or its type"
        add_repeated(parser, "--reservation", "reservations", typed.change, "<id=…,key=value,…>", changes)
        moment, utc, duration = typed.moment_of(self.clock), typed.utc_of(self.clock), typed.duration
        end, start = parser.add_mutually_exclusive_group(), parser.add_mutually_exclusive_group()
        end.add_argument("--prolong-for", type=duration, metavar="<duration>", help=f"end so much later, {DURATIONS}")
        end.add_argument("--reduce-by", type=duration, metavar="<duration>", help="end so much earlier")
        new = "in your zone, such as 'tomorrow 14:00'"
        end.add_argument(
            "--until", dest="end_date", type=typed.end_of(self.clock), metavar="<time>", help=f"new end {new}"
        )
        end.add_argument("--end-date", type=utc, metavar="<time>", help="new end, YYYY-MM-DD HH:MM in UTC")
        end.add_argument("--open-ended", action="store_true", help="no end: it goes on until it gets one or is deleted")
        start.add_argument("--defer-by", type=duration, metavar="<duration>", help="start so much later")
        start.add_argument("--advance-by", type=duration, metavar="<duration>", help="start so much earlier")
        start.add_argument("--from", dest="start_date", type=moment, metavar="<time>", help=f"new start {new}")
        start.add_argument("--start-date", type=utc, metavar="<time>", help="new start, YYYY-MM-DD HH:MM in UTC")
        project, its = "<project>", "a project, by ID, whose servers may"
        add_repeated(parser, "--share-with", "shared", str, project, f"{its} use the lease too")
        add_repeated(parser, "--unshare-with", "unshared", str, project, f"{its} not use it any more")
        _add_dry_run(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        lease = self.client.leases.find(parsed_args.lease)
        end = _moved(parsed_args.end_date, parsed_args.prolong_for, parsed_args.reduce_by)
        start = _moved(parsed_args.start_date, parsed_args.defer_by, parsed_args.advance_by)
        asked = {
            "name": parsed_args.name,
            "purpose": parsed_args.purpose,
            "start": start,
            "reservations": [each | {"id": lease.reservation(each["id"]).id} for each in parsed_args.reservations]
            or None,
            "open_ended": parsed_args.open_ended or None,
            "shared_with": _shared(lease, parsed_args.shared, parsed_args.unshared),
        }
        changes = {key: value for key, value in asked.items() if value is not None}
        if end is None and not changes:
            raise ClientError("Say what to change: --name, --reservation, or a date such as --until 'tomorrow 14:00'.")
        changed = change_end(self, lease, end, dry_run=parsed_args.dry_run, **changes)
        if parsed_args.dry_run:
            self.app.stdout.write(f"{_would_be(self, changed)}\n")
        else:
            self.app.stdout.write(f"Updated lease: {parsed_args.lease}\n")


class ExtendLease(TalkingShow):
    """Let a lease last longer. Where that is refused, say how long it can last, and on a terminal offer it."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of lease to extend")
        end = parser.add_mutually_exclusive_group(required=True)
        end.add_argument(
            "--for", dest="more", type=typed.duration, metavar="<duration>", help=f"end so much later, {DURATIONS}"
        )
        moment = typed.moment_of(self.clock)
        end.add_argument("--until", type=moment, metavar="<time>", help=f"new end in your zone, {MOMENTS}")
        _add_dry_run(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        lease = self.client.leases.find(parsed_args.lease)
        until, more = parsed_args.until, parsed_args.more
        if until is not None and until <= lease.end and not lease.open_ended:
            raise ClientError("That is no later than the lease ends already. To end it earlier: lease set --until.")
        changed = change_end(self, lease, more or until, dry_run=parsed_args.dry_run)
        return fields((tried_fields if parsed_args.dry_run else lease_fields)(self, changed))


def _would_be(command: Talking, lease: Lease) -> str:
    """Say what a change would make of a lease that is not changed."""
    start, end, cost = command.moment(lease.start), end_of(command, lease), cost_of(lease)
    price = "" if cost is None else f", for {cost.human_readable()}"
    return (
        f"This would be granted, and nothing is changed: {what(lease)} from {start.human_readable()} "
        f"until {end.human_readable()}{price}."
    )


def _add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say whether it would be granted, and change nothing")


class SwapHost(TalkingShow):
    """Swap a host of a lease for another one that matches."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
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

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        lease = self.client.leases.find(parsed_args.lease)
        swapped = self.client.leases.swap(
            lease.id, server=parsed_args.server, host=parsed_args.host, servers=parsed_args.on_it
        )
        return fields(lease_fields(self, swapped))


class HealLease(TalkingShow):
    """Have what has failed in a lease replaced, and what it misses given to it, as far as others are free."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of lease to heal")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        lease = self.client.leases.find(parsed_args.lease)
        return fields(lease_fields(self, self.client.leases.heal(lease.id)))


class DropReservation(Talking):
    """Drop one reservation of a lease, whose servers are deleted at once, or one resource of it that nothing uses."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of lease")
        parser.add_argument(
            "reservation",
            metavar="RESERVATION",
            nargs="?",
            help="its number or ID, as in lease show, or its type (not needed with --resource)",
        )
        text = "only this host or address, by ID or name, as in lease resources; a smaller max, by lease set, takes any"
        parser.add_argument("--resource", metavar="<resource>", help=text)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        lease, resource = self.client.leases.find(parsed_args.lease), parsed_args.resource
        part = None if parsed_args.reservation is None else lease.reservation(parsed_args.reservation).id
        if resource is not None:
            part, resource = self._held(lease, part, resource)
        if part is None:
            raise ClientError("Say which reservation is dropped, by its number in lease show, or which --resource.")
        self.client.leases.drop(lease.id, part, resource)
        self.app.stdout.write(f"Dropped {f'reservation: {part}' if resource is None else f'resource: {resource}'}\n")

    def _held(self, lease: Lease, part: str | None, word: str) -> tuple[str, str]:
        """Return the reservation and the id of a resource of the lease that has this id or name.

        One that is not there is as it was named if the reservation is known: it may have been dropped before.
        """
        for each in self.client.leases.resources(lease.id):
            if each.id is not None and word in (each.id, each.name) and part in (None, each.reservation_id):
                return each.reservation_id, each.id
        if part is None:
            sentence = f"The lease {lease.name} has no resource {word!r} that you may name."
            raise ClientError(f"{sentence} See lease resources, or give up any of them: {_fewer(self, lease)}")
        return part, word


class DeleteLease(Talking):
    """Delete a lease; one that runs is ended first."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_lease(parser, "ID or name of lease to delete")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.client.leases.delete(self.client.leases.find(parsed_args.lease).id)
        self.app.stdout.write(f"Deleted lease: {parsed_args.lease}\n")


def _fewer(command: Talking, lease: Lease) -> str:
    """Return the command that gives up any host that is without servers."""
    return written(command, ["lease", "set", lease.name, "--reservation", "id=host,min=1,max=1"])


def change_end(
    command: Talking, lease: Lease, end: datetime | timedelta | None, *, dry_run: bool = False, **changes: Any
) -> Lease:
    """Change the lease, and tell what it is warned of; where a later end is refused, an earlier one may be offered.

    A `dry_run` changes nothing.
    """
    leases = command.client.leases
    change = partial(leases.try_to_change if dry_run else leases.change, lease.id)
    if end is None or changes:
        # What else is changed would not be in a command that extends, so then nothing is offered.
        changed = change(end=end, **changes)
    else:
        changed = ask_for(
            command,
            end,
            lambda wish: change(end=wish),
            lambda error, _: offers_for_end(error, lease, command.clock.zone),
        )
    for sentence in changed.warnings:
        command.tell(sentence)
    return changed


def _shared(lease: Lease, more: Sequence[str], less: Sequence[str]) -> list[str] | None:
    """Return all projects that the lease is shared with after a change; None if nothing is to change."""
    return sorted({*lease.shared_with, *more} - set(less)) if more or less else None


def _moved(
    absolute: datetime | None, later: timedelta | None, earlier: timedelta | None
) -> datetime | timedelta | None:
    """Return the change of a date that three options say; None if no option does."""
    if earlier is not None:
        return -earlier
    return absolute if later is None else later
