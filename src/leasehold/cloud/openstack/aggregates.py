"""Nova's host aggregates. Nova identifies them by number and Leasehold by name, so a verb may have to list them first.

A zone is metadata under `availability_zone`. A host can be in one zone only, and cannot change it while it has servers:
Nova answers 409 or 400 until the host has left the other aggregate or its servers are gone.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from leasehold.cloud.openstack.remembered import Remembered
from leasehold.cloud.ports import Aggregate, CloudPermanentError, CloudTransientError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from requests import Response

    from leasehold.cloud.openstack.rest import ServiceClient

VERSION = "2.1"
PATH = "/os-aggregates"
ZONE = "availability_zone"


class OpenStackAggregates:
    """Implements `ports.Aggregates`."""

    def __init__(self, nova: ServiceClient) -> None:
        self._nova = nova
        self._numbers: Remembered[int] = Remembered()

    def get(self, name: str) -> Aggregate | None:
        """Return the aggregate, or None."""
        return self._find("aggregates.get", name)

    def list(self) -> Sequence[Aggregate]:
        """Return all aggregates, by id."""
        return self._all("aggregates.list")

    def ensure(self, name: str, zone: str | None, metadata: Mapping[str, str | None]) -> Aggregate:
        """Create the aggregate, or update its zone and metadata to these values; other metadata stays.

        Nova removes a key whose new value is None.

        Raises CloudTransientError while a member host prevents the new zone.
        """
        call = "aggregates.ensure"
        found = self._find(call, name) or self._create(call, name, zone)
        lacking = {key: value for key, value in metadata.items() if found.metadata.get(key) != value}
        if found.zone != zone:
            lacking[ZONE] = zone
        if not lacking:
            return found
        later = (HTTPStatus.BAD_REQUEST,) if ZONE in lacking else ()
        answer = self._act(call, found.id, "set_metadata", {"metadata": lacking}, later=later)
        return _read(answer.json()["aggregate"])

    def add_host(self, name: str, service_host: str) -> None:
        """Add the host to the aggregate.

        Raises CloudPermanentError when the aggregate or the host does not exist, and CloudTransientError when the host
        would be in two zones or its servers would change zone.
        """
        call, fine = "aggregates.add_host", (HTTPStatus.CONFLICT,)
        status = self._act_at_once(call, name, "add_host", service_host, fine)
        if status is None:
            aggregate = self._known(call, name)
            if service_host in aggregate.hosts:
                return
            status = self._act(call, aggregate.id, "add_host", {"host": service_host}, fine=fine).status_code
        if status == HTTPStatus.CONFLICT and service_host not in self._known(call, name).hosts:
            text = f"nova {call}: {service_host} cannot join {name} now; it has servers or is in another zone"
            raise CloudTransientError(text)

    def remove_host(self, name: str, service_host: str) -> None:
        """Remove the host from the aggregate; raises CloudTransientError when its servers would change zone."""
        call = "aggregates.remove_host"
        if self._act_at_once(call, name, "remove_host", service_host) is not None:
            return
        aggregate = self._find(call, name)
        if aggregate is not None and service_host in aggregate.hosts:
            self._act(call, aggregate.id, "remove_host", {"host": service_host}, fine=(HTTPStatus.NOT_FOUND,))

    def delete(self, name: str) -> None:
        """Delete the aggregate; raises CloudPermanentError while it has members."""
        call = "aggregates.delete"
        aggregate = self._find(call, name)
        if aggregate is None:
            return
        if aggregate.hosts:
            raise CloudPermanentError(f"nova {call}: aggregate {name} still has hosts: {', '.join(aggregate.hosts)}")
        self._nova.call(call, "DELETE", f"{PATH}/{aggregate.id}", VERSION, fine=(HTTPStatus.NOT_FOUND,))

    def _all(self, call: str) -> Sequence[Aggregate]:
        found = [_read(row) for row in self._nova.get(call, PATH, VERSION)["aggregates"]]
        self._numbers.only({each.name: each.id for each in found})
        return found

    def _find(self, call: str, name: str) -> Aggregate | None:
        return next((each for each in self._all(call) if each.name == name), None)

    def _known(self, call: str, name: str) -> Aggregate:
        found = self._find(call, name)
        if found is None:
            raise CloudPermanentError(f"nova {call}: there is no aggregate {name}")
        return found

    def _create(self, call: str, name: str, zone: str | None) -> Aggregate:
        """Create the aggregate; a 409, because another process has just created it, counts as success."""
        body = {"aggregate": {"name": name, ZONE: zone}}
        answer = self._nova.call(call, "POST", PATH, VERSION, json=body, fine=(HTTPStatus.CONFLICT,))
        if answer.status_code == HTTPStatus.CONFLICT:
            return self._known(call, name)
        number = self._numbers.see(name, answer.json()["aggregate"]["id"])
        return Aggregate(number, name, zone, metadata={}, hosts=frozenset())

    def _act_at_once(
        self, call: str, name: str, action: str, service_host: str, fine: Sequence[int] = ()
    ) -> int | None:
        """Do it to an aggregate whose number is known; return the status, or None if it is not known or is no more."""
        number = self._numbers.get(name)
        if number is None:
            return None
        done = self._act(call, number, action, {"host": service_host}, fine=(*fine, HTTPStatus.NOT_FOUND))
        if done.status_code == HTTPStatus.NOT_FOUND:
            self._numbers.forget(name)
            return None
        return done.status_code

    def _act(
        self,
        call: str,
        number: int,
        action: str,
        arguments: Mapping[str, Any],
        *,
        fine: Sequence[int] = (),
        later: Sequence[int] = (),
    ) -> Response:
        path = f"{PATH}/{number}/action"
        body = {action: dict(arguments)}
        return self._nova.call(call, "POST", path, VERSION, json=body, fine=fine, later=later)


def _read(row: Mapping[str, Any]) -> Aggregate:
    return Aggregate(
        id=row["id"],
        name=row["name"],
        zone=row[ZONE],
        metadata={key: value for key, value in row["metadata"].items() if key != ZONE},
        hosts=frozenset(row["hosts"]),
    )
