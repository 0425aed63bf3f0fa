"""How times, durations and leases are shown. Pure: clock and zone are arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold_client.calls.named import is_id
from leasehold_client.lease import ENDED, HOST, Reservation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime, timedelta, tzinfo

    from leasehold_client.lease import Lease

NO_END = "no end"
"""What is shown of a lease that goes on until it is deleted or gets an end."""
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def show_moment(moment: datetime, zone: tzinfo) -> str:
    """Return such as `2031-05-01 14:00 CEST`; the seconds only where there are any."""
    local = moment.astimezone(zone)
    clock = "%H:%M:%S" if local.second else "%H:%M"
    return f"{local:%Y-%m-%d {clock} %Z}"


def show_span(span: timedelta) -> str:
    """Return a duration in its two largest units, rounded down, such as `2 d 4 h`."""
    left = int(abs(span).total_seconds())
    parts: list[str] = []
    for place, (size, unit) in enumerate(_UNITS):
        if left >= size:
            count, rest = divmod(left, size)
            parts.append(f"{count} {unit}")
            if place + 1 < len(_UNITS):
                smaller, name = _UNITS[place + 1]
                parts += [f"{rest // smaller} {name}"] if rest >= smaller else []
            break
    return " ".join(parts) or "0 s"


def show_relative(moment: datetime, now: datetime) -> str:
    """Return such as `in 2 h 5 min`, or `3 d ago`."""
    if moment == now:
        return "now"
    return f"in {show_span(moment - now)}" if moment > now else f"{show_span(now - moment)} ago"


def show_both(moment: datetime, now: datetime, zone: tzinfo) -> str:
    """Return a time and how far away it is."""
    return f"{show_moment(moment, zone)} ({show_relative(moment, now)})"


def how_long(lease: Lease, now: datetime) -> str:
    """Return how long the lease lasts still, or when it starts; empty for one that is over."""
    if lease.open_ended and lease.status not in ENDED and lease.start <= now:
        return NO_END
    if lease.status in ENDED or lease.end <= now:
        return ""
    return f"{show_span(lease.end - now)} left" if lease.start <= now else f"starts in {show_span(lease.start - now)}"


def what(lease: Lease) -> str:
    """Return what a lease is of, such as `2 hosts, 1 floating IP`."""
    return ", ".join(map(what_of, lease.reservations))


def others_taken(lease: Lease) -> list[str]:
    """Return a sentence for each reservation that got others than those that the operators prefer."""
    return [
        f"Not enough was free with the default properties {part.without_defaults} for {what_of(part)}; "
        "others were taken."
        for part in lease.reservations
        if part.without_defaults is not None
    ]


def what_of(part: Reservation) -> str:
    """Return what a reservation is of."""
    values = part.values
    if part.resource_type == HOST:
        return _hosts(values)
    if part.resource_type == "virtual:instance":
        size = f"{values.get('vcpus')} vCPUs, {values.get('memory_mb')} MiB"
        return f"{_count(values.get('amount'), 'instance')} of {size}"
    if part.resource_type == "flavor:instance":
        return f"{_count(values.get('amount'), 'instance')} of a flavor"
    if part.resource_type == "virtual:floatingip":
        return _count(values.get("amount"), "floating IP")
    return part.resource_type


def what_would_be(parts: Iterable[Mapping[str, Any]], amounts: Iterable[int]) -> str:
    """Return what reservations that are asked for would be of, if they got these amounts."""
    got = (
        {**part, "min": amount, "max": amount, "amount": amount} for part, amount in zip(parts, amounts, strict=True)
    )
    return ", ".join(what_of(Reservation("", each["resource_type"], "", each)) for each in got)


def boots(lease: Lease) -> list[str]:
    """Return for each active reservation a command that boots a server in it; what is in capitals is to be chosen."""
    return [command for part in lease.reservations if part.status == "active" and (command := _boot(lease, part))]


def _boot(lease: Lease, part: Reservation) -> str:
    """Return the command of OpenStack, or of the sandbox, whose projects have names as ids; empty without hosts."""
    real, group = is_id(lease.project_id), part.values.get("server_group_id")
    if part.resource_type == HOST:
        flavor, hint = "FLAVOR", f" --{'hint reservation=' if real else 'reservation '}{part.id}"
    elif part.resource_type in ("virtual:instance", "flavor:instance"):
        flavor, hint = part.values["flavor_id"], f" --hint group={group}" if real and group else ""
    else:
        return ""
    begin = "openstack server create" if real else f"leasehold-manage sandbox boot --project {lease.project_id}"
    return f"{begin} --flavor {flavor}{hint}{' --image IMAGE --network NETWORK' if real else ''} NAME"


def _hosts(values: Mapping[str, Any]) -> str:
    least, most = values.get("min"), values.get("max")
    return _count(most, "host") if least == most else f"{least} to {_count(most, 'host')}"


def _count(amount: object, noun: str) -> str:
    return f"{amount} {noun}" if str(amount) == "1" else f"{amount} {noun}s"
