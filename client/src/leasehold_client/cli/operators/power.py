"""`power list`, `power show`, `power set`, `power unset`, `power wake`, `power margin list` and `power report`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import Talking, TalkingLister, TalkingShow, fields
from leasehold_client.cli.reading import typed

if TYPE_CHECKING:
    import argparse

    from leasehold_client.power import Machine

_COMPUTE = "physical:host"
Table = tuple[tuple[str, ...], list[tuple[object, ...]]]
Fields = tuple[tuple[str, ...], tuple[object, ...]]


def _add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help="ID or name of a host")
    about = f"such as storage:host; default: {_COMPUTE}"
    parser.add_argument("--type", dest="resource_type", default=_COMPUTE, metavar="<type>", help=about)


class _OfHost(Talking):
    """A command about one host."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _add_host(parser)

    def ident(self, options: argparse.Namespace) -> str:
        """Return the id of the host that is named."""
        if options.resource_type == _COMPUTE:
            return self.client.hosts.find(options.host).id
        return self.client.resources.find(options.resource_type, options.host).id


class _ShowsMachine(_OfHost, TalkingShow):
    """A command that prints a machine."""

    def shown(self, found: Machine) -> Fields:
        """Return what is printed."""
        return fields(
            {
                "host": found.hypervisor_hostname,
                "type": found.resource_type,
                "class": found.power_class,
                "address": found.address,
                "kept on": found.kept_on,
                "stage": found.stage,
                "ready": None if found.ready_at is None else self.moment(found.ready_at),
                "failure": found.failure,
            }
        )


class ListMachines(TalkingLister):
    """Print the machines of hosts that can be switched, and where each is between on and off."""

    nothing = "No machine can be switched; say how with: power set HOST --class CLASS --address ADDRESS"

    def take_action(self, _parsed_args: argparse.Namespace) -> Table:
        rows: list[tuple[object, ...]] = [
            (
                each.hypervisor_hostname,
                each.resource_type,
                each.power_class,
                each.address,
                each.stage,
                None if each.ready_at is None else self.moment(each.ready_at),
                each.failure,
            )
            for each in self.client.power.list()
        ]
        return ("host", "type", "class", "address", "stage", "ready", "failure"), rows


class ShowMachine(_ShowsMachine):
    """Print the machine of a host, and where it is between on and off."""

    def take_action(self, parsed_args: argparse.Namespace) -> Fields:
        return self.shown(self.client.power.get(self.ident(parsed_args)))


class SetMachine(_ShowsMachine):
    """Say how the machine of a host is switched, so that it may sleep; also that one which has failed works again."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--class", dest="power_class", required=True, metavar="<class>", help="its class")
        parser.add_argument("--address", required=True, metavar="<address>", help="where it is switched")
        parser.add_argument("--keep-on", action="store_true", help="never switch it off by itself")

    def take_action(self, parsed_args: argparse.Namespace) -> Fields:
        wanted = parsed_args.power_class, parsed_args.address
        return self.shown(self.client.power.set(self.ident(parsed_args), *wanted, kept_on=parsed_args.keep_on))


class UnsetMachine(_OfHost):
    """Forget how the machine of a host is switched: it stays on."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.client.power.unset(self.ident(parsed_args))
        self.tell(f"The host {parsed_args.host} stays on.")


class WakeMachine(_ShowsMachine):
    """Wake a host now."""

    def take_action(self, parsed_args: argparse.Namespace) -> Fields:
        return self.shown(self.client.power.wake(self.ident(parsed_args)))


class ListMargins(TalkingLister):
    """Print how many seconds the machines of each class take to wake up at most: no lease is promised them sooner."""

    nothing = "No class of machines is configured."

    def take_action(self, _parsed_args: argparse.Namespace) -> Table:
        return ("class", "seconds"), list(self.client.power.margins().items())


class ShowReport(TalkingLister):
    """Print what hosts that were off have saved, by day, class and zone, and what went wrong."""

    nothing = "No host has slept."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        past = typed.past_of(self.clock)
        parser.add_argument("--from", dest="start", type=past, metavar="<time>", help="default: 30 days ago")
        parser.add_argument("--until", dest="end", type=past, metavar="<time>", help="default: now")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        end = parsed_args.end or self.clock.now()
        found = self.client.power.report(parsed_args.start or end - timedelta(days=30), end)
        rows: list[tuple[object, ...]] = [
            (
                *(each.day, each.power_class, each.zone, round(each.hours_off, 1)),
                *(None if each.kwh is None else round(each.kwh, 2), each.wakes),
                *(each.failed_wakes, each.called_off, each.late_starts, each.delayed_requests),
            )
            for each in found
        ]
        went = ("wakes", "failed", "called off", "late starts", "delayed")
        return ("day", "class", "zone", "hours off", "kWh", *went), rows
