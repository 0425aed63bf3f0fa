"""`capacity list`, `show`, `increase`, `decrease`, `reserve`, `set`, `arrived` and `delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import Talking, TalkingLister, TalkingShow, fields
from leasehold_client.cli.command.things import thing_fields
from leasehold_client.cli.operators.maintenance import ON_CONFLICT
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import add_properties, add_repeated, properties
from leasehold_client.cli.reading.pairs import each_once

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from leasehold_client.planned_capacity import CapacityChange

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]
Fields = tuple[tuple[str, ...], tuple[object, ...]]


def _add_change(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("change", metavar="CHANGE", help="ID or name of a change of capacity")


class _Shows(TalkingShow):
    """A command that prints a change."""

    def shown(self, found: CapacityChange) -> Fields:
        """Return what is printed."""
        return fields(thing_fields(self, found))

    def ident(self, options: argparse.Namespace) -> str:
        """Return the id of the change that is named."""
        return self.client.planned_capacity.find(options.change).id

    def add_window(self, parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
        """Add from when on and until when it holds."""
        parser.add_argument("name", type=typed.name, metavar="NAME", help="Name for the change")
        moment = typed.moment_of(self.clock)
        parser.add_argument("--from", dest="start", type=moment, required=needed, metavar="<time>", help="from when on")
        parser.add_argument("--until", dest="end", type=moment, metavar="<time>", help="until when (default: for ever)")


class ListChanges(TalkingLister):
    """Print the changes of capacity by their date, and how far each is."""

    nothing = "No change of capacity is planned."

    def take_action(self, _parsed_args: argparse.Namespace) -> Table:
        rows: list[tuple[object, ...]] = [
            (
                *(self.moment(each.start), None if each.end is None else self.moment(each.end), each.kind, each.name),
                *(each.state, len(each.hosts) or len(each.held), len(each.promised), each.id),
            )
            for each in self.client.planned_capacity.list()
        ]
        return ("from", "until", "kind", "name", "state", "hosts", "promised", "id"), rows


class ShowChange(_Shows):
    """Print a change of capacity: its hosts, and the leases that are promised on those that are not there yet."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_change(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Fields:
        return self.shown(self.client.planned_capacity.get(self.ident(parsed_args)))


class Increase(_Shows):
    """Plan hosts that the cloud will have from a date on."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        self.add_window(parser)
        parser.add_argument(
            "--host", action="append", required=True, metavar="<name>", help="name that a host will have; repeatable"
        )
        for option, text in (("--vcpus", "VCPU"), ("--memory", "memory in MB")):
            parser.add_argument(option, type=int, required=True, metavar="<n>", help=f"{text} of each host")
        parser.add_argument("--disk", type=int, default=0, metavar="<n>", help="disk of each host in GB")
        parser.add_argument("--zone", default="", metavar="<zone>", help="availability zone of the hosts")
        parser.add_argument("--promise", action="store_true", help="promise leases on them before they are there")
        add_repeated(parser, "--trait", "traits", str, "<trait>", "a trait of the hosts")
        add_repeated(parser, "--property", "properties", typed.key_value, "<key=value>", "a property of the hosts")

    def take_action(self, parsed_args: argparse.Namespace) -> Fields:
        asked = parsed_args
        size = {"vcpus": asked.vcpus, "memory_mb": asked.memory, "local_gb": asked.disk}
        more = {"availability_zone": asked.zone, "traits": asked.traits, "properties": each_once(asked.properties)}
        made = self.client.planned_capacity.increase(
            asked.name, asked.host, asked.start, end_date=asked.end, promise=asked.promise, **size, **more
        )
        return self.shown(made)


class Decrease(_Shows):
    """Take hosts away from a date on."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        self.add_window(parser)
        parser.add_argument(
            "--host", action="append", required=True, metavar="<host>", help="ID or name of a host; may be repeated"
        )
        parser.add_argument("--on-conflict", choices=ON_CONFLICT, help="what becomes of leases that have them then")

    def take_action(self, parsed_args: argparse.Namespace) -> Fields:
        ids = [self.client.hosts.find(word).id for word in parsed_args.host]
        more = {"end_date": parsed_args.end, "on_conflict": parsed_args.on_conflict}
        return self.shown(self.client.planned_capacity.decrease(parsed_args.name, ids, parsed_args.start, **more))


class Reserve(_Shows):
    """Hold hosts back from a date on; delete the change to release them."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        self.add_window(parser, needed=False)
        _add_size(parser, needed=True)
        add_properties(parser, "only hosts with this property,")

    def take_action(self, parsed_args: argparse.Namespace) -> Fields:
        start: datetime = parsed_args.start or self.clock.now()
        made = self.client.planned_capacity.reserve(
            parsed_args.name,
            start,
            end_date=parsed_args.end,
            amount=parsed_args.amount,
            percent=parsed_args.percent,
            resource_properties=properties(parsed_args),
        )
        return self.shown(made)


def _add_size(parser: argparse.ArgumentParser, *, needed: bool) -> None:
    size = parser.add_mutually_exclusive_group(required=needed)
    size.add_argument("--amount", type=int, metavar="<n>", help="how many hosts are held back")
    size.add_argument("--percent", type=int, metavar="<n>", help="how many of a hundred hosts that match")


class ChangeChange(_Shows):
    """Put hosts off that are not there yet, promise leases on them or not, or change the size of a reserve."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_change(parser)
        moment = typed.moment_of(self.clock)
        parser.add_argument("--from", dest="start", type=moment, metavar="<time>", help="when the hosts come")
        promise = parser.add_mutually_exclusive_group()
        promise.add_argument("--promise", action="store_true", default=None, help="promise leases on them")
        promise.add_argument("--no-promise", dest="promise", action="store_false", help="promise no more leases")
        _add_size(parser, needed=False)

    def take_action(self, parsed_args: argparse.Namespace) -> Fields:
        asked = parsed_args
        changes = {"promise": asked.promise, "amount": asked.amount, "percent": asked.percent}
        changed = self.client.planned_capacity.change(self.ident(asked), start_date=asked.start, **changes)
        return self.shown(changed)


class Arrived(_Shows):
    """Say that planned hosts are there, so that they are enrolled."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_change(parser)
        text = "a planned name with the name that the host has now (default: all, by their planned names)"
        add_repeated(parser, "--host", "hosts", typed.key_value, "<planned=name>", text)

    def take_action(self, parsed_args: argparse.Namespace) -> Fields:
        names = each_once(parsed_args.hosts)
        return self.shown(self.client.planned_capacity.arrived(self.ident(parsed_args), names))


class DeleteChange(Talking):
    """Delete a change of capacity, or release a reserve."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_change(parser)
        parser.add_argument("--force", action="store_true", help="although leases are promised on the planned hosts")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        ident = self.client.planned_capacity.find(parsed_args.change).id
        self.client.planned_capacity.withdraw(ident, "force" if parsed_args.force else "refuse")
        self.app.stdout.write(f"Deleted change of capacity: {parsed_args.change}\n")
