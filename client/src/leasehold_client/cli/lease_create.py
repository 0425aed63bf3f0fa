"""`lease create`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold_client.cli import typed
from leasehold_client.cli.asking import ask_for
from leasehold_client.cli.base import TalkingShow, fields
from leasehold_client.cli.lease_list import lease_fields
from leasehold_client.cli.offers import offers_for_lease
from leasehold_client.cli.shown import show_moment, what
from leasehold_client.cli.times import DURATIONS, MOMENTS
from leasehold_client.cli.waiting import begin_wait
from leasehold_client.errors import ClientError
from leasehold_client.lease import HOST, LeaseRequest
from leasehold_client.wire import write_time

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from leasehold_client.lease import Lease

DAY = timedelta(days=1)
_TYPES = ("scheduled", "immediate", "retry", "waitlist", "best_effort")


class CreateLease(TalkingShow):
    """Create a lease. Where it is refused, say what would work, and on a terminal offer it."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="LEASE", help="Name for the lease")
        self._add_dates(parser)
        _add_contents(parser)
        _add_ways(parser, typed.moment_of(self.clock))
        parser.add_argument(
            "--earliest", action="store_true", help="start as soon as it is free, from the start on that is asked for"
        )
        parser.add_argument("--dry-run", action="store_true", help="say whether it would be granted, and lease nothing")
        parser.add_argument("--wait", action="store_true", help="return when the lease is active, and say how it goes")
        parser.add_argument(
            "--wait-timeout",
            type=typed.duration,
            metavar="<duration>",
            help="with --wait: the longest wait, such as 10m",
        )
        return parser

    def _add_dates(self, parser: argparse.ArgumentParser) -> None:
        moment, utc = typed.moment_of(self.clock), typed.utc_of(self.clock)
        start, end = parser.add_mutually_exclusive_group(), parser.add_mutually_exclusive_group()
        start.add_argument("--from", dest="start", type=moment, metavar="<time>", help=f"start in your zone, {MOMENTS}")
        start.add_argument(
            "--start-date",
            dest="start",
            type=utc,
            metavar="<time>",
            help="start, YYYY-MM-DD HH:MM in UTC (default: now)",
        )
        end.add_argument("--until", dest="end", type=moment, metavar="<time>", help="end in your zone")
        end.add_argument(
            "--for", dest="lasts", type=typed.duration, metavar="<duration>", help=f"how long, {DURATIONS}"
        )
        end.add_argument(
            "--end-date",
            dest="end",
            type=utc,
            metavar="<time>",
            help="end, YYYY-MM-DD HH:MM in UTC (default: in 24 hours)",
        )
        parser.add_argument(
            "--before-end-date",
            type=utc,
            metavar="<time>",
            help="when something is done before the end, YYYY-MM-DD HH:MM in UTC",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        request = lease_request(parsed_args, self.clock.now())
        offered = partial(offers_for_lease, zone=self.clock.zone)
        if parsed_args.earliest:
            request = ask_for(self, request, self._earliest, offered)
            self.tell(f"The first window that is free: {self._window(request)}")
        if parsed_args.dry_run:
            tried = ask_for(self, request, self.client.leases.try_to_create, offered)
            return fields(self._granted(tried))
        wait = begin_wait(self, parsed_args.wait_timeout) if parsed_args.wait else None
        lease = ask_for(self, request, self.client.leases.create, offered)
        return fields(lease_fields(self, lease if wait is None else wait.for_start(lease)))

    def _granted(self, lease: Lease) -> dict[str, object]:
        """Return what a dry run says; its ids mean nothing."""
        start, end = map(self.moment_and_distance, (lease.start, lease.end))
        return {"name": lease.name, "would_be_granted": True, "what": what(lease), "start_date": start, "end_date": end}

    def _earliest(self, request: LeaseRequest) -> LeaseRequest:
        """Return the request in the first window in which it would be granted."""
        window = self.client.availability.search(request, self._length(request))[0]
        return replace(request, start=window.start, end=window.end)

    def _start(self, request: LeaseRequest) -> datetime:
        # The service begins leases that start now at the beginning of the minute.
        return request.start or self.clock.now().replace(second=0, microsecond=0)

    def _length(self, request: LeaseRequest) -> timedelta:
        return request.end - self._start(request)

    def _window(self, request: LeaseRequest) -> str:
        return f"{show_moment(self._start(request), self.clock.zone)} until {show_moment(request.end, self.clock.zone)}"


def _add_contents(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hosts", type=int, metavar="<number>", help="so many whole hosts")
    parser.add_argument(
        "--properties", metavar="<expression>", help="""with --hosts: which, such as '[">=", "$vcpus", "16"]'"""
    )
    parser.add_argument(
        "--reservation",
        dest="reservations",
        action="append",
        default=[],
        type=typed.reservation,
        metavar="<key=value,…>",
        help="a reservation, such as resource_type=virtual:floatingip,network_id=ID,amount=2; may be repeated",
    )
    parser.add_argument(
        "--physical-reservation",
        dest="reservations",
        action="append",
        type=typed.hosts,
        metavar="<key=value,…>",
        help="a reservation of hosts, such as min=1,max=2; may be repeated",
    )
    parser.add_argument(
        "--event",
        dest="events",
        action="append",
        default=[],
        type=typed.event,
        metavar="<event_type=…,event_date=…>",
        help="an event to show with the lease; its date is not used; may be repeated",
    )


def _add_ways(parser: argparse.ArgumentParser, moment: Callable[[str], datetime]) -> None:
    parser.add_argument("--type", choices=_TYPES, help="what happens if the lease cannot be granted at once")
    parser.add_argument(
        "--retries", type=int, metavar="<number>", help="with --type retry: how often it is tried again"
    )
    parser.add_argument(
        "--retry-seconds", type=int, metavar="<seconds>", help="with --type retry: the pause between tries"
    )
    parser.add_argument(
        "--deadline", type=moment, metavar="<time>", help="with --type waitlist: until when it is tried"
    )


def lease_request(options: argparse.Namespace, now: datetime) -> LeaseRequest:
    """Return what the options ask for; without dates from now on for a day."""
    # The service begins leases that start now at the beginning of the minute.
    start = options.start or now.replace(second=0, microsecond=0)
    more = {key: getattr(options, key) for key in ("type", "retries", "retry_seconds", "deadline")}
    reservations = [*_hosts(options), *options.reservations]
    if not reservations:
        raise ClientError("Say what to lease: --hosts 2, or --reservation resource_type=…,….")
    return LeaseRequest(
        name=options.name,
        start=None if options.start is None or options.start <= now else options.start,
        end=options.end or start + (options.lasts or DAY),
        reservations=reservations,
        before_end=options.before_end_date,
        events=options.events,
        more={key: _plain(value) for key, value in more.items() if value is not None},
    )


def _plain(value: Any) -> Any:
    return write_time(value) if isinstance(value, datetime) else value


def _hosts(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the reservation of `--hosts`."""
    if options.hosts is None:
        if options.properties is not None:
            raise ClientError("--properties says which hosts; say with --hosts how many.")
        return []
    amount = {"min": options.hosts, "max": options.hosts}
    expressions = {"hypervisor_properties": "", "resource_properties": options.properties or ""}
    return [{"resource_type": HOST, **amount, **expressions}]
