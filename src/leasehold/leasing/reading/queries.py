"""The read side: each question is one short read transaction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Unpack

from leasehold.db import allocation as allocation_rows
from leasehold.db.leases import lease as lease_rows
from leasehold.db.leases import listed
from leasehold.db.resources import property as property_rows
from leasehold.db.resources import resource as resource_rows
from leasehold.leasing.deciding.queue import ALONE, Reading
from leasehold.model.errors import NotFoundError
from leasehold.model.paging import OLDEST_FIRST, WHOLE, PageRequest, unknown_marker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection

    from leasehold.db.leases.listed import ListPart, Texts
    from leasehold.db.resources.property import PropertyValues
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import EventFields, Lease
    from leasehold.model.resource import Resource

_NO_MORE: tuple[None, tuple[Allocation, ...]] = (None, ())


@dataclass(slots=True, eq=False)
class _Wanted(Reading):
    """Who wants a lease."""

    lease_id: str


def get_lease(service: Service, lease_id: str) -> Lease:
    """Return a lease; raises NotFoundError.

    Who comes while others are read reads with those that come meanwhile: a crowd that amends or deletes takes a few
    statements, instead of three for each.
    """
    wanted = _Wanted("leases", "", lease_id)
    service.queues.decide(wanted, partial(_read, service))
    if wanted.outcome is ALONE:
        # Whoever read for all has failed, or takes too long.
        _read(service, [wanted])
    lease: Lease | None = wanted.outcome
    if lease is None:
        raise NotFoundError("lease_id", lease_id)
    return lease


def _read(service: Service, batch: Sequence[_Wanted]) -> None:
    with service.db.reading() as connection:
        found = lease_rows.find_each(connection, sorted({each.lease_id for each in batch}))
    for each in batch:
        each.outcome = found.get(each.lease_id)


def each_lease(
    service: Service, project_id: str | None, *, marker: str | None = None, **part: Unpack[ListPart]
) -> Iterator[Lease]:
    """Yield up to `limit` leases of a project (None: of all projects), as sorted, from the one after `marker` on.

    Only those that are `wanted` and have a reservation of the type, if one is named; the marker need not be one of
    them.

    The rows are streamed in one transaction, which ends after the last. The lease of `marker` may have been deleted
    since it was listed. Raises InvalidInputError for a marker that never was in this list.
    """
    with service.db.reading() as connection:
        yield from listed.each_lease(connection, project_id, **_after(connection, project_id, marker, part))


def each_text(
    service: Service,
    project_id: str | None,
    texts: Texts,
    show: Callable[[Lease, Sequence[EventFields]], bytes],
    *,
    marker: str | None = None,
    **part: Unpack[ListPart],
) -> Iterator[bytes]:
    """Yield what `show` makes of each lease of `each_lease`, or has made of it before (`listed.each_text`)."""
    with service.db.reading() as connection:
        yield from listed.each_text(connection, project_id, texts, show, **_after(connection, project_id, marker, part))


def _after(connection: Connection, project_id: str | None, marker: str | None, part: ListPart) -> ListPart:
    """Return the part of the list that follows a marker; raises InvalidInputError for one that is not in the list."""
    if marker is None:
        return part
    place = listed.place_of(connection, project_id, marker, part.get("sort", OLDEST_FIRST))
    if place is None or place[0] is None:
        raise unknown_marker()
    return {**part, "after": place}


def get_resource(service: Service, resource_type: str, ident: str) -> Resource:
    """Return an enrolled resource; raises NotFoundError."""
    with service.db.reading() as connection:
        return find_enrolled(service, connection, resource_type, ident)


def find_enrolled(service: Service, connection: Connection, resource_type: str, ident: str) -> Resource:
    """Do as `get_resource`, in a transaction."""
    resource = resource_rows.find_resource(connection, resource_type, ident)
    if resource is None:
        raise _not_found(service, resource_type, ident)
    return resource


def _not_found(service: Service, resource_type: str, ident: str) -> NotFoundError:
    found = service.types.find(resource_type)
    return NotFoundError("resource_id" if found is None else found.kind.id_name, ident)


def list_resources(
    service: Service, resource_type: str, part: PageRequest = WHOLE, *, closed_to: str | None = None
) -> Sequence[Resource]:
    """Return a part of the enrolled resources of a type, without those that are `closed_to` a project."""
    with service.db.reading() as connection:
        return resource_rows.list_resources(connection, resource_type, part, closed_to=closed_to)


def each_allocation(
    service: Service,
    resource_type: str,
    *,
    resource_id: str | None = None,
    lease_id: str | None = None,
    reservation_id: str | None = None,
    part: PageRequest = WHOLE,
) -> Iterator[tuple[Resource, Sequence[Allocation]]]:
    """Yield a part of the enrolled resources with their allocations, even without any (contract http-api §6.1).

    Without a lease or a reservation, only allocations that end now or later are included. The rows are streamed.
    """
    with service.db.reading() as connection:
        if resource_id is not None:
            part = PageRequest(1, wanted={"id": [resource_id]})
        chosen = resource_rows.list_resources(connection, resource_type, part)
        if resource_id is not None and not chosen:
            raise _not_found(service, resource_type, resource_id)
        found = allocation_rows.each_allocation(
            connection,
            [resource.pool for resource in chosen[:1]],
            lease_id=lease_id,
            reservation_id=reservation_id,
            since=service.now(),
            # They are in the order of their numbers, so those of a part are next to each other.
            within=None if part == WHOLE or not chosen else (chosen[0].number, chosen[-1].number),
        )
        number, held = next(found, _NO_MORE)
        for resource in chosen:
            while number is not None and number < resource.number:
                number, held = next(found, _NO_MORE)
            yield resource, held if number == resource.number else ()


def list_properties(
    service: Service, resource_type: str, project_id: str | None, *, include_private: bool
) -> Sequence[PropertyValues]:
    """Return the property keys in use, with their values."""
    with service.db.reading() as connection:
        hidden = () if project_id is None else resource_rows.closed_to(connection, resource_type, project_id)
        return property_rows.list_properties(connection, resource_type, include_private=include_private, but=hidden)
