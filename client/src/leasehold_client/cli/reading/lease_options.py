"""Options of commands that ask for leases: from when, until when, and of what."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.conditions import EXAMPLES, join_conditions
from leasehold_client.cli.reading.pairs import DEFAULTS
from leasehold_client.cli.reading.times import DURATIONS, MOMENTS
from leasehold_client.errors import ClientError
from leasehold_client.lease import FLOATING_IP, HOST

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from datetime import datetime

    from leasehold_client.cli.reading.zone import Clock
    from leasehold_client.floating_ip import FloatingIps


DAY, WEEK = timedelta(days=1), timedelta(days=7)
TYPES = ("scheduled", "immediate", "retry", "waitlist", "best_effort")
REMOVES_PURPOSE = "what it is for, in words; '' for nothing"
HEAL_POLICIES = ("replace", "replace-before-start", "ask", "never", "default")


class Adds(Protocol):
    """A parser, or a group of one."""

    @property
    def add_argument(self) -> Callable[..., argparse.Action]:
        """Add an argument or option."""
        ...


def add_repeated(
    parser: Adds,
    option: str,
    dest: str,
    kind: Callable[[str], Any],
    metavar: str,
    text: str,
) -> None:
    """Add an option whose values make a list, empty without the option."""
    parser.add_argument(
        option,
        dest=dest,
        action="append",
        default=[],
        type=kind,
        metavar=metavar,
        help=f"{text}; may be repeated",
    )


def add_dates(parser: argparse.ArgumentParser, clock: Clock) -> Adds:
    """Add `start`, `end` and `lasts`, in the user's form and in Blazar's; return the group of those of the end."""
    moment, utc = typed.moment_of(clock), typed.utc_of(clock)
    start, end = parser.add_mutually_exclusive_group(), parser.add_mutually_exclusive_group()
    start.add_argument("--from", dest="start", type=moment, metavar="<time>", help=f"start in your zone, {MOMENTS}")
    start.add_argument(
        "--start-date",
        dest="start",
        type=utc,
        metavar="<time>",
        help="start, YYYY-MM-DD HH:MM in UTC (default: now)",
    )
    end.add_argument("--until", dest="end", type=typed.end_of(clock), metavar="<time>", help="end in your zone")
    end.add_argument("--for", dest="lasts", type=typed.duration, metavar="<duration>", help=f"how long, {DURATIONS}")
    end.add_argument(
        "--end-date",
        dest="end",
        type=utc,
        metavar="<time>",
        help="end, YYYY-MM-DD HH:MM in UTC (default: in 24 hours)",
    )
    return end


def add_span(parser: argparse.ArgumentParser, clock: Clock, start: str = MOMENTS) -> None:
    """Add `start`, `end` and `lasts` of a time that is asked about; `start` is the help of the first."""
    moment = typed.moment_of(clock)
    parser.add_argument("--from", dest="start", type=moment, metavar="<time>", help=f"{start} (default: now)")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--until", dest="end", type=typed.end_of(clock), metavar="<time>", help="end")
    text = f"how long, {DURATIONS} (default 7d)"
    end.add_argument("--for", dest="lasts", type=typed.duration, metavar="<duration>", help=text)


def span_to_come(options: argparse.Namespace, now: datetime) -> tuple[datetime, datetime]:
    """Return what of the time of `add_span` is to come; raises ClientError where it is over."""
    start = max(options.start or now, now)
    end = options.end or start + (options.lasts or WEEK)
    if end <= start:
        raise ClientError("The time ends before it begins, or is over. Write a later --until.")
    return start, end


def window(options: argparse.Namespace, now: datetime) -> tuple[datetime, datetime]:
    """Return from when until when; without dates from now on for a day."""
    start: datetime = options.start or now.replace(microsecond=0)
    return start, options.end or start + (options.lasts or DAY)


def length(options: argparse.Namespace) -> timedelta | None:
    """Return how long is asked for; None where an end is."""
    return None if options.end is not None else options.lasts or DAY


def asked_start(options: argparse.Namespace, now: datetime) -> datetime | None:
    """Return the start that is asked for, None for now; the service refuses one that has passed."""
    start: datetime | None = options.start
    # The service takes the minute before for now as well: a date of Blazar's options has no seconds.
    recent = now.replace(second=0, microsecond=0) - timedelta(minutes=1)
    return None if start is None or recent <= start <= now else start


def add_contents(parser: argparse.ArgumentParser) -> None:
    """Add the options of what to lease, which `contents` reads."""
    parser.add_argument("--hosts", type=int, metavar="<number>", help="so many whole hosts")
    add_properties(parser, "with --hosts: which, by a condition")
    for option, meaning in (("--together", "the same value on all of them"), ("--apart", "another value on each")):
        parser.add_argument(
            option, metavar="<property>", help=f"with --hosts: a property, such as rack, that has {meaning}"
        )
    parser.add_argument("--floating-ips", type=int, metavar="<number>", help="so many public addresses")
    network = "with --floating-ips: of this network, by ID (default: the only one that has any)"
    parser.add_argument("--network", metavar="<id>", help=network)
    pairs = "<key=value,…>"
    example = "a reservation, such as resource_type=virtual:floatingip,network_id=ID,amount=2"
    add_repeated(parser, "--reservation", "reservations", typed.reservation, pairs, example)
    hosts = "a reservation of hosts, such as min=1,max=2"
    add_repeated(parser, "--physical-reservation", "reservations", typed.hosts, pairs, hosts)


def add_purpose(parser: Adds, text: str = "what it is for, in words") -> None:
    """Add the option that says what is leased for."""
    parser.add_argument("--purpose", metavar="<text>", help=text)


def add_properties(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the option of conditions on properties, which `properties` reads."""
    add_repeated(
        parser,
        "--properties",
        "conditions",
        typed.condition,
        "<condition>",
        f"{text} such as {EXAMPLES}, or an expression in JSON; all of several hold; property list says by what",
    )


def properties(options: argparse.Namespace) -> str:
    """Return the expression of the API that `--properties` asks for, empty for none."""
    return join_conditions(options.conditions)


def contents(options: argparse.Namespace, addresses: FloatingIps) -> list[dict[str, Any]]:
    """Return the reservations that are asked for; raises ClientError if there are none."""
    reservations = chosen_contents(options, addresses)
    if not reservations:
        raise ClientError("Say what to lease: --hosts 2, --floating-ips 1, or --reservation resource_type=…,….")
    return reservations


def chosen_contents(options: argparse.Namespace, addresses: FloatingIps) -> list[dict[str, Any]]:
    """Return the reservations that are asked for, or none; raises ClientError for properties of no hosts."""
    return [*_hosts(options), *_floating_ips(options, addresses), *options.reservations]


def _floating_ips(options: argparse.Namespace, addresses: FloatingIps) -> list[dict[str, Any]]:
    """Return the reservation of `--floating-ips`."""
    if options.floating_ips is None:
        if options.network is not None:
            raise ClientError("--network says of which network; say with --floating-ips how many.")
        return []
    network = options.network or _only_network(addresses)
    kind = FLOATING_IP
    return [{"resource_type": kind, **DEFAULTS[kind], "network_id": network, "amount": options.floating_ips}]


def _only_network(addresses: FloatingIps) -> str:
    """Return the network of all addresses that can be leased; raises ClientError if there is not exactly one."""
    networks = Counter(each.network_id for each in addresses.list())
    if len(networks) == 1:
        return next(iter(networks))
    if not networks:
        raise ClientError(
            "There is no floating IP that you may lease. An administrator enrols some: floatingip create."
        )
    named = ", ".join(f"{network} ({amount} enrolled)" for network, amount in sorted(networks.items()))
    raise ClientError(f"Floating IPs are in {len(networks)} networks. Say which with --network: {named}.")


def _hosts(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the reservation of `--hosts`."""
    if options.hosts is None:
        said = {"properties": options.conditions, "together": options.together, "apart": options.apart}
        for name, value in said.items():
            if value:
                raise ClientError(f"--{name} says which hosts; say with --hosts how many.")
        return []
    amount = {"min": options.hosts, "max": options.hosts}
    expressions = {"hypervisor_properties": "", "resource_properties": properties(options)}
    layout = {name: getattr(options, name) for name in ("together", "apart") if getattr(options, name) is not None}
    return [{"resource_type": HOST, **amount, **expressions, **layout}]
