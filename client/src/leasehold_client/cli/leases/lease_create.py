"""`lease create`."""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold_client.again import again
from leasehold_client.calls.wire import write_time
from leasehold_client.cli.command.base import TalkingShow, fields
from leasehold_client.cli.leases.asking import ask_for
from leasehold_client.cli.leases.counter_offer import offers_for_lease
from leasehold_client.cli.leases.lease_list import lease_fields, tried_fields
from leasehold_client.cli.leases.searching import add_earliest, check_search, in_first_window
from leasehold_client.cli.leases.waiting import begin_wait
from leasehold_client.cli.output.shown import others_taken
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import (
    TYPES,
    add_contents,
    add_dates,
    add_purpose,
    add_repeated,
    asked_start,
    chosen_contents,
    contents,
    length,
    window,
)
from leasehold_client.errors import ClientError
from leasehold_client.lease import LeaseRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold_client.floating_ip import FloatingIps


class CreateLease(TalkingShow):
    """Create a lease. Where it is refused, say what would work, and on a terminal offer it."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", type=typed.name, metavar="LEASE", help="Name for the lease")
        add_dates(parser, self.clock).add_argument(
            "--open-ended", action="store_true", help="no end: it goes on until it is deleted or gets an end"
        )
        parser.add_argument(
            "--before-end-date",
            type=typed.utc_of(self.clock),
            metavar="<time>",
            help="when something is done before the end, YYYY-MM-DD HH:MM in UTC",
        )
        add_contents(parser)
        add_purpose(parser)
        parser.add_argument(
            "--template",
            metavar="<template>",
            help="name or ID of a template (template list), for what the other options do not say, the length too",
        )
        like = "ID or name of a lease of which the same is asked for, unless the other options say something else"
        parser.add_argument("--like", metavar="<lease>", help=like)
        behalf = "for this project, by ID, whose members then have it: for administrators"
        parser.add_argument("--project", dest="project_id", metavar="<project>", help=behalf)
        event = "an event that the project is told of at its date, in UTC"
        add_repeated(parser, "--event", "events", typed.event, "<event_type=…,event_date=…>", event)
        _add_ways(parser, typed.moment_of(self.clock))
        add_earliest(parser, self.clock)
        parser.add_argument("--dry-run", action="store_true", help="say whether it would be granted, and lease nothing")
        parser.add_argument("--wait", action="store_true", help="return when the lease is active, and say how it goes")
        parser.add_argument(
            "--wait-timeout",
            type=typed.duration,
            metavar="<duration>",
            help="with --wait: the longest wait, such as 10m",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        check_search(parsed_args)
        options = parsed_args if parsed_args.like is None else self._like(parsed_args)
        request = lease_request(options, self.clock.now(), self.client.floating_ips)
        offered = partial(offers_for_lease, zone=self.clock.zone)
        if parsed_args.earliest:
            if parsed_args.open_ended:
                raise ClientError("--earliest looks for a length of time. Say one with --for, and not --open-ended.")
            request = ask_for(self, request, partial(in_first_window, self, options), offered)
        if parsed_args.dry_run:
            tried = ask_for(self, request, self.client.leases.try_to_create, offered)
            for sentence in tried.warnings:
                self.tell(sentence)
            return fields(tried_fields(self, tried))
        wait = begin_wait(self, parsed_args.wait_timeout) if parsed_args.wait else None
        lease = ask_for(self, request, self.client.leases.create, offered)
        for sentence in (*others_taken(lease), *lease.warnings):
            self.tell(sentence)
        return fields(lease_fields(self, lease if wait is None else wait.for_start(lease)))

    def _like(self, options: argparse.Namespace) -> argparse.Namespace:
        """Return the options with what they do not say themselves as it is in a lease; raises ClientError."""
        if options.template is not None:
            raise ClientError("--like and --template both say what to lease. Leave one of them out.")
        lease = self.client.leases.find(options.like)
        said = {**vars(options), "purpose": lease.purpose if options.purpose is None else options.purpose}
        if not chosen_contents(options, self.client.floating_ips):
            # Where the lease goes on, a deleted one was dropped; when it is over, all of them are deleted.
            wanted = [part for part in lease.reservations if part.status != "deleted"] or lease.reservations
            said["reservations"] = [again(part) for part in wanted]
        if not (_says_length(options) or options.open_ended):
            said |= {"open_ended": True} if lease.open_ended else {"lasts": lease.end - lease.start}
        return argparse.Namespace(**said)


def _add_ways(parser: argparse.ArgumentParser, moment: Callable[[str], datetime]) -> None:
    parser.add_argument("--type", choices=TYPES, help="what happens if the lease cannot be granted at once")
    parser.add_argument(
        "--retries", type=int, metavar="<number>", help="with --type retry: how often it is tried again"
    )
    parser.add_argument(
        "--retry-seconds", type=int, metavar="<seconds>", help="with --type retry: the pause between tries"
    )
    within = "how much later it may start, such as 15min: as soon as what it asks for is there, with the same length"
    parser.add_argument("--ready-within", type=typed.duration, metavar="<duration>", help=within)
    parser.add_argument(
        "--deadline", type=moment, metavar="<time>", help="with --type waitlist: until when it is tried"
    )


def _says_length(options: argparse.Namespace) -> bool:
    return options.end is not None or options.lasts is not None


def lease_request(options: argparse.Namespace, now: datetime, addresses: FloatingIps) -> LeaseRequest:
    """Return what the options ask for; without dates from now on for a day, or for as long as the template says."""
    as_kept = options.template is not None and not _says_length(options)
    asked = contents if options.template is None else chosen_contents
    more = {
        key: getattr(options, key) for key in ("type", "retries", "retry_seconds", "deadline", "project_id", "purpose")
    }
    more["ready_within_seconds"] = options.ready_within
    if options.open_ended and as_kept:
        # Otherwise it would end when the template says.
        more["open_ended"] = True
    return LeaseRequest(
        name=options.name,
        start=asked_start(options, now),
        end=None if as_kept or options.open_ended else window(options, now)[1],
        reservations=asked(options, addresses),
        before_end=options.before_end_date,
        events=options.events,
        more={key: _plain(value) for key, value in more.items() if value is not None},
        template=options.template,
        lasts=length(options),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return int(value.total_seconds())
    return write_time(value) if isinstance(value, datetime) else value
