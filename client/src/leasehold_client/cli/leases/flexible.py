"""`flexible list`, `flexible show`, `flexible create`, `flexible set` and `flexible fix`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold_client.calls.wire import read_time
from leasehold_client.cli.command.base import Talking, TalkingShow, attributes, fields
from leasehold_client.cli.command.things import ListOwn, OfKind, ShowThing, ThingKind, thing_fields
from leasehold_client.cli.leases.lease_list import lease_fields
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.output.shown import show_moment, what
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import HEAL_POLICIES, add_contents, add_purpose, add_repeated, contents
from leasehold_client.cli.reading.times import DURATIONS, MOMENTS
from leasehold_client.errors import ClientError
from leasehold_client.flexible import FlexibleTerms

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from datetime import tzinfo

    from leasehold_client.flexible import FlexibleLease

STRATEGIES = ("soonest", "sleep")

_KIND: ThingKind[FlexibleLease] = ThingKind(
    "flexible lease",
    "/flexible-leases",
    lambda client, _: client.flexible_leases,
    {
        **attributes("name", "id", "state"),
        "what": lambda _, found: what(found.lease),
        "start_date": lambda command, found: command.moment(found.lease.start),
        "end_date": lambda command, found: command.moment(found.lease.end),
        "frozen_at": lambda command, found: command.moment_and_distance(found.frozen),
    },
    by="start_date",
)


class ListFlexible(ListOwn):
    """Print a list of the leases that may be moved within their windows."""

    kind = _KIND


class ShowFlexible(ShowThing):
    """Show a flexible lease: its window, and where in it the lease is now."""

    kind = _KIND

    def shown(self, found: FlexibleLease) -> dict[str, object]:
        """Return what is shown of it: its terms, and its lease."""
        return flexible_fields(self, found)


class CreateFlexible(TalkingShow):
    """Lease something for so long within a window; the service may move it there until it is frozen."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", type=typed.name, metavar="LEASE", help="Name for the lease")
        _add_terms(self, parser, required=True)
        cut = (
            "if it fits nowhere as a whole: several leases that last at least so long, 30min or 2h, as few as possible"
        )
        parser.add_argument("--pieces-of", type=typed.duration, metavar="<duration>", help=cut)
        add_contents(parser)
        add_purpose(parser)
        parser.add_argument("--heal-policy", choices=HEAL_POLICIES, help="what happens if something that it has fails")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        if parsed_args.hours and parsed_args.time_zone is None:
            self.tell("The name of your time zone is not known, so the hours are those of UTC. Or say --time-zone.")
        if parsed_args.pieces_of is not None and parsed_args.pieces_of > parsed_args.lasts:
            raise ClientError("--pieces-of must not be longer than --for: a piece is a part of it.")
        reservations = contents(parsed_args, self.client.floating_ips)
        terms = replace(_terms(parsed_args), piece=parsed_args.pieces_of)
        name, policy, purpose = parsed_args.name, parsed_args.heal_policy, parsed_args.purpose
        made = self.client.flexible_leases.create(name, terms, reservations, policy, purpose)
        return fields(flexible_fields(self, made))


class SetFlexible(OfKind, TalkingShow):
    """Change where a flexible lease may be; it stays where it is if that is still allowed."""

    kind = _KIND

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _KIND.add_one(parser, "to update")
        _add_terms(self, parser, required=False)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        terms, calls = _terms(parsed_args), self.client.flexible_leases
        if not terms.body():
            raise ClientError("Say what to change, such as --latest friday or --for 10h.")
        return fields(flexible_fields(self, calls.change(calls.find(parsed_args.thing).id, terms)))


class FixFlexible(OfKind):
    """Fix a flexible lease where it is: from now on it is a lease like any other, and is moved no more."""

    kind = _KIND

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _KIND.add_one(parser, "to fix")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        calls = self.client.flexible_leases
        calls.delete(calls.find(parsed_args.thing).id)
        self.app.stdout.write(f"Fixed flexible lease: {parsed_args.thing}\n")


def flexible_fields(command: Talking, found: FlexibleLease) -> dict[str, object]:
    """Return what is shown of a flexible lease: its lease, and its terms."""
    earliest, latest = (command.moment_and_distance(read_time(found.values[key])) for key in ("earliest", "latest"))
    pieces = Shown(
        found.values["pieces"], "\n".join(_piece(each, command.clock.zone) for each in found.values["pieces"])
    )
    terms = thing_fields(command, found, earliest=earliest, latest=latest, pieces=pieces)
    return lease_fields(command, found.lease) | {key: value for key, value in terms.items() if key != "lease"}


def _piece(each: Mapping[str, str], zone: tzinfo) -> str:
    start, end = (show_moment(read_time(each[key]), zone) for key in ("start_date", "end_date"))
    return f"{start} until {end}  {each['id']}  {each['status']}"


def _add_terms(command: Talking, parser: argparse.ArgumentParser, *, required: bool) -> None:
    clock = command.clock
    parser.add_argument(
        "--earliest", dest="start", type=typed.moment_of(clock), metavar="<time>", help=f"no sooner than, {MOMENTS}"
    )
    parser.add_argument(
        "--latest",
        type=typed.end_of(clock),
        metavar="<time>",
        required=required,
        help="over at this time at the latest",
    )
    parser.add_argument(
        "--for", dest="lasts", type=typed.duration, metavar="<duration>", required=required, help=f"for {DURATIONS}"
    )
    add_repeated(parser, "--hours", "hours", str, "<hours>", "nights, weekends, or hours: 'mon-fri 22:00-06:00'")
    zone = clock.name if required else None
    parser.add_argument("--time-zone", metavar="<zone>", default=zone, help="of the hours, such as Europe/Berlin")
    text = "the first place, or the one that leaves hosts the longest time to sleep"
    parser.add_argument("--strategy", choices=STRATEGIES, help=text)
    parser.add_argument(
        "--frozen", type=typed.duration, metavar="<duration>", help="so long before its start it is moved no more"
    )


def _terms(options: argparse.Namespace) -> FlexibleTerms:
    return FlexibleTerms(
        earliest=options.start,
        latest=options.latest,
        lasts=options.lasts,
        frozen=options.frozen,
        strategy=options.strategy,
        hours=options.hours,
        time_zone=options.time_zone,
    )
