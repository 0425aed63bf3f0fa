"""`filler list`, `filler show`, `filler create` and `filler delete`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from leasehold_client.calls.wire import read_time
from leasehold_client.cli.command.base import Talking, TalkingShow, attributes, fields, written
from leasehold_client.cli.command.things import DeleteThing, ListOwn, ShowThing, ThingKind, thing_fields
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.output.shown import show_moment, what_of
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_properties, properties
from leasehold_client.cli.reading.times import DURATIONS, MOMENTS
from leasehold_client.lease import HOST, Reservation

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from leasehold_client.filler import Filler

_EVENTS = ("filler.guarantee", "filler.leaves", "filler.ended")


def _hosts(_: Talking, found: Filler) -> str:
    """Return how many hosts are in which state."""
    states = Counter(str(each["state"]) for each in found.hosts)
    return ", ".join(f"{number} {state}" for state, number in states.items())


def _until(command: Talking, found: Filler) -> object:
    return "" if found.guaranteed_until is None else command.moment(read_time(found.guaranteed_until))


_KIND: ThingKind[Filler] = ThingKind(
    "filler",
    "/fillers",
    lambda client, _: client.fillers,
    {**attributes("name", "id", "state"), "hosts": _hosts, "guaranteed_until": _until},
)


def _shown(command: Talking, found: Filler) -> dict[str, object]:
    """Return what is shown of a filler: what it is of in words, and a line for each of its hosts."""
    hosts = Shown(found.hosts, "\n".join(_line(command, each) for each in found.hosts))
    asked = found.values["reservation"]
    what = Shown(asked, what_of(Reservation("", HOST, "", asked)))
    until = {} if found.guaranteed_until is None else {"guaranteed_until": _until(command, found)}
    return thing_fields(command, found, reservation=what, hosts=hosts, **until)


def _line(command: Talking, host: Mapping[str, str | None]) -> str:
    """Return such as `619ff393-… active, until 2031-05-01 14:00 UTC at least`; why it leaves, if it does."""
    said = f"{host['id']}  {host['state']}"
    for key, words in (("leaves_at", "its servers end at {}"), ("guaranteed_until", "until {} at least")):
        moment = host[key]
        if moment is not None and host["ended_at"] is None:
            said += f", {words.format(show_moment(read_time(moment), command.clock.zone))}"
            break
    return said if host["reason"] is None else f"{said}: {host['reason']}"


class ListFillers(ListOwn):
    """Print a list of fillers, with those that ended within 30 days."""

    kind = _KIND


class ShowFiller(ShowThing):
    """Show a filler, with its hosts, and until when they are guaranteed."""

    kind = _KIND

    def shown(self, found: Filler) -> dict[str, object]:
        """Return what is shown of it."""
        return _shown(self, found)


class DeleteFiller(DeleteThing):
    """End a filler: its servers end now, with the action that was asked for."""

    kind = _KIND


class CreateFiller(TalkingShow):
    """Use idle hosts until something that is promised needs them."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", type=typed.name, metavar="FILLER", help="Name for the filler")
        parser.add_argument("--hosts", type=int, default=1, metavar="<number>", help="at least so many (default: 1)")
        parser.add_argument("--most", type=int, metavar="<number>", help="at most so many (default: as --hosts)")
        parser.add_argument(
            "--at-least",
            type=typed.duration,
            metavar="<duration>",
            help=f"only hosts on which nothing is promised for so long, {DURATIONS}",
        )
        parser.add_argument(
            "--until", dest="end", type=typed.end_of(self.clock), metavar="<time>", help=f"end at the latest, {MOMENTS}"
        )
        parser.add_argument(
            "--before-end", metavar="<action>", help="what is done with its servers before they end: shelve, snapshot"
        )
        add_properties(parser, "only hosts for which this holds")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        most = parsed_args.hosts if parsed_args.most is None else parsed_args.most
        reservation = {"resource_type": HOST, "min": parsed_args.hosts, "max": most, "hypervisor_properties": ""}
        reservation["resource_properties"] = properties(parsed_args) if parsed_args.conditions else ""
        if parsed_args.before_end is not None:
            reservation["before_end"] = parsed_args.before_end
        made = self.client.fillers.create(reservation, parsed_args.at_least, parsed_args.end, parsed_args.name)
        types = [word for each in _EVENTS for word in ("--type", each)]
        here = written(self, ["lease", "events", "--follow", "--new", *types])
        self.tell(
            f"To see here when a host is needed: {here}\nServers get on its hosts with --hint reservation={made.id}"
        )
        return fields(_shown(self, made))
