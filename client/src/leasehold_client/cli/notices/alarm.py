"""`alarm list`, `alarm show`, `alarm create` and `alarm delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import TalkingShow, attributes, fields, written
from leasehold_client.cli.command.things import DeleteThing, ListOwn, ShowThing, ThingKind, thing_fields
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_properties, properties
from leasehold_client.cli.reading.times import DURATIONS
from leasehold_client.lease import HOST

if TYPE_CHECKING:
    import argparse

    from leasehold_client.alarm import Alarm

_KIND: ThingKind[Alarm] = ThingKind(
    "alarm",
    "/alarms",
    lambda client, _: client.alarms,
    attributes("name", "id", "state", "below", "available"),
)


_EVENTS = ("capacity.low", "capacity.restored")
_SENT = "To have it sent: subscription create, with --event-type in place of --type."


class ListAlarms(ListOwn):
    """Print a list of capacity alarms, and how each stands."""

    kind = _KIND


class ShowAlarm(ShowThing):
    """Show a capacity alarm, and what its last check has found."""

    kind = _KIND


class DeleteAlarm(DeleteThing):
    """Delete a capacity alarm; it tells nothing more."""

    kind = _KIND


class CreateAlarm(TalkingShow):
    """Have the project told when less could be leased than this, and when there is enough again."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", type=typed.name, metavar="ALARM", help="Name for the alarm")
        parser.add_argument("--below", type=int, required=True, metavar="<number>", help="low while there are fewer")
        parser.add_argument(
            "--for",
            dest="lasts",
            type=typed.duration,
            metavar="<duration>",
            help=f"that could be leased from now on for so long, {DURATIONS} (default: 1h)",
        )
        add_properties(parser, "only of hosts for which this holds")
        parser.add_argument(
            "--reservation",
            type=typed.reservation,
            default=f"resource_type={HOST}",
            metavar="<key=value,…>",
            help="of what this reservation asks for (default: hosts); how many it asks for does not matter",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        reservation = dict(parsed_args.reservation)
        if parsed_args.conditions:
            reservation["resource_properties"] = properties(parsed_args)
        made = self.client.alarms.create(reservation, parsed_args.below, parsed_args.lasts, parsed_args.name)
        types = [word for each in _EVENTS for word in ("--type", each)]
        here = written(self, ["lease", "events", "--follow", "--new", *types])
        self.tell(f"To see here when it is low and when there is enough again: {here}\n{_SENT}")
        return fields(thing_fields(self, made))
