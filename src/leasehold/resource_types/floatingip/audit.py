"""Check that only the project that leases an enrolled address has it; find those with a reservation's tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.finding import REPAIR, Finding, FindingKind, Mend
from leasehold.model.resource import FLOATING_IP
from leasehold.resource_types.driver import MARK
from leasehold.resource_types.floatingip.health import ports_at
from leasehold.resource_types.floatingip.late_addresses import place_of
from leasehold.resource_types.look import RESERVATION_ID, CloudObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.cloud.ports import FloatingIp
    from leasehold.resource_types.look import Look

TAG = "blazar"
_NO_START = "or take the address out of service: until then no lease of it can start."
_BY_HAND = f"Remove it there, {_NO_START}"
_FREE_IT = f"Give that port another address, {_NO_START}"


def audit_addresses(look: Look) -> Iterator[Finding]:
    """Yield the enrolled addresses that a project has without a lease of them; reads the cloud first.

    Those whose tags name a reservation that is over or unknown are leftovers, and not reported here.
    """
    networks = {each.attributes["floating_network_id"] for each in look.records.enrolled(FLOATING_IP)}
    there = {
        (network, each.address): each
        for network in sorted(networks)
        for each in look.cloud.networks.list_network(network)
    }
    enrolled = {
        each.number: (each, there[place_of(each)])
        for each in look.records.enrolled(FLOATING_IP)
        if place_of(each) in there
    }
    known = look.records.holders(enrolled.keys())
    marks = {number: reservation_of(found) for number, (_, found) in enrolled.items()}
    live = look.records.current(set(filter(None, marks.values())))
    for number, (each, found) in sorted(enrolled.items()):
        if found.project_id in known[number].present or not (marks[number] is None or marks[number] in live):
            continue
        what = f"The enrolled address {found.address} is in project {found.project_id}, which has no lease of it."
        late = found.project_id in known[number].former
        remedy, mend = (REPAIR, Mend.DRIVER) if late else (_BY_HAND, None)
        yield Finding(FindingKind.LEFTOVER, each.id, what, remedy, mend, FLOATING_IP)


def audit_ports(look: Look) -> Iterator[Finding]:
    """Yield the enrolled addresses that something has which is no floating IP."""
    enrolled = {place_of(each): each for each in look.records.enrolled(FLOATING_IP)}
    for port in ports_at(look.cloud, enrolled.values()):
        owner = f" ({port.owner})" if port.owner else ""
        what = f"Port {port.id}{owner} of network {port.network_id} has the enrolled address {port.address}."
        subject = enrolled[port.network_id, port.address].id
        yield Finding(FindingKind.PLACE, subject, what, _FREE_IT, resource_type=FLOATING_IP)


def tagged_addresses(look: Look) -> Iterator[CloudObject]:
    """Yield the floating IPs whose tags name a reservation."""
    for address in look.cloud.networks.list_floating_ips(TAG):
        ident = reservation_of(address)
        if ident is not None:
            yield CloudObject("floating IP", address.id, ident, address.address)


def reservation_of(address: FloatingIp) -> str | None:
    """Return the reservation that the tags of a floating IP name; None if they name none or several."""
    marks = [tag.removeprefix(MARK) for tag in address.tags if tag.startswith(MARK)]
    return marks[0] if TAG in address.tags and len(marks) == 1 and RESERVATION_ID.fullmatch(marks[0]) else None
