"""Check that an enrolled address exists only in the project that leases it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.audit import holders, owners
from leasehold.db.resource import list_resources
from leasehold.leasing.audit.finding import REPAIR, Finding, Kind, Mend
from leasehold.leasing.audit.leftovers import leases_addresses, reservation_of
from leasehold.model.resource import FLOATING_IP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.leasing.service import Service

_BY_HAND = "Remove it there, or take the address out of service: until then no lease of it can start."


def audit_addresses(service: Service) -> Iterator[Finding]:
    """Yield the enrolled addresses that a project has without a lease of them; reads the cloud first.

    `audit_leftovers` reports those whose tags name a reservation that is over or unknown.
    """
    if not leases_addresses(service):
        return
    with service.db.reading() as connection:
        networks = {each.attributes["floating_network_id"] for each in list_resources(connection, FLOATING_IP)}
    there = {
        (network, each.address): each
        for network in sorted(networks)
        for each in service.cloud.networks.list_network(network)
    }
    with service.db.reading() as connection:
        enrolled = {}
        for each in list_resources(connection, FLOATING_IP):
            found = there.get((each.attributes["floating_network_id"], each.attributes["floating_ip_address"]))
            if found is not None:
                enrolled[each.number] = each, found
        known = holders(connection, enrolled.keys(), service.now())
        marks = {number: reservation_of(found) for number, (_, found) in enrolled.items()}
        live = {
            ident for ident, owner in owners(connection, set(filter(None, marks.values()))).items() if not owner.over
        }
    for number, (each, found) in sorted(enrolled.items()):
        if found.project_id in known[number].present or not (marks[number] is None or marks[number] in live):
            continue
        what = f"The enrolled address {found.address} is in project {found.project_id}, which has no lease of it."
        late = found.project_id in known[number].former
        yield Finding(Kind.LEFTOVER, each.id, what, REPAIR if late else _BY_HAND, Mend.ADDRESS if late else None)
