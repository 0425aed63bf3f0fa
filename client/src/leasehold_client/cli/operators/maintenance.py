"""`maintenance list`, `maintenance show`, `maintenance create` and `maintenance delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import TalkingShow, attributes, fields
from leasehold_client.cli.command.things import DeleteThing, ListThings, ShowThing, ThingKind, thing_fields
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_dates, window

if TYPE_CHECKING:
    import argparse

    from leasehold_client.maintenance import Maintenance

ON_CONFLICT = ("refuse", "move", "warn", "force")
_KIND: ThingKind[Maintenance] = ThingKind(
    "maintenance",
    "/maintenances",
    lambda client, _: client.maintenances,
    {
        **attributes("start_date", "end_date", "name", "id", "status"),
        "hosts": lambda _, window: len(window.hosts),
        "moved": lambda _, window: len(window.moved),
        "warned": lambda _, window: len(window.warned),
    },
)


class ListMaintenances(ListThings):
    """Print a list of maintenance windows."""

    kind = _KIND


class ShowMaintenance(ShowThing):
    """Show a maintenance window: its hosts, and which leases were moved or warned."""

    kind = _KIND


class DeleteMaintenance(DeleteThing):
    """Delete a maintenance window; leases that were moved stay where they are."""

    kind = _KIND


class CreateMaintenance(TalkingShow):
    """Promise hosts to nobody for a time."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", type=typed.name, metavar="MAINTENANCE", help="Name for the window")
        parser.add_argument(
            "--host", action="append", required=True, metavar="<host>", help="ID or name of a host; may be repeated"
        )
        add_dates(parser, self.clock)
        parser.add_argument(
            "--on-conflict",
            choices=ON_CONFLICT,
            help="if leases have the hosts: refuse the window (default), move those that have not started, or also warn"
            " the owners of those that have, or also take the hosts from those that find no others",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        start, end = window(parsed_args, self.clock.now())
        ids = [self.client.hosts.find(word).id for word in parsed_args.host]
        made = self.client.maintenances.create(parsed_args.name, ids, start, end, parsed_args.on_conflict)
        return fields(thing_fields(self, made))
