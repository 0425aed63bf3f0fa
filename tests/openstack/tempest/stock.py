"""Prepares the reservation service for a run: without resources, or with every host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.openstack.cloud import CloudError
from tests.openstack.cloud.contents import FREE_POOL
from tests.processes import wait_for

if TYPE_CHECKING:
    from openstack.connection import Connection

_KINDS = (("leases", "leases"), ("os-hosts", "hosts"), ("floatingips", "floatingips"))


def empty(connection: Connection) -> None:
    """Delete all leases, hosts and floating IPs; raises CloudError with those that remain."""
    left: list[str] = []
    for path, key in _KINDS:
        for item in _call(connection, "GET", f"/{path}").json()[key]:
            answer = _call(connection, "DELETE", f"/{path}/{item['id']}")
            if not answer.ok:
                left.append(f"DELETE /{path}/{item['id']}: {answer.status_code} {answer.text[:300]}")
    if left:
        raise CloudError("The reservation service could not be emptied:\n" + "\n".join(left))
    _wait_for_the_free_pool(connection)


def _wait_for_the_free_pool(connection: Connection, within: float = 60.0) -> None:
    """Wait until no host is in the free pool: a service may release hosts after it has answered."""

    def hosts() -> list[str]:
        pools = [item for item in connection.compute.aggregates() if item.name == FREE_POOL]
        return [host for pool in pools for host in pool.hosts or []]

    try:
        wait_for(lambda: not hosts(), within)
    except AssertionError as error:
        raise CloudError(f"The free pool still holds {', '.join(hosts())}, and no host is enrolled.") from error


def enrol_hosts(connection: Connection) -> None:
    """Enrol every hypervisor as a host."""
    present = {host["hypervisor_hostname"] for host in _call(connection, "GET", "/os-hosts").json()["hosts"]}
    for name in sorted({str(item.name) for item in connection.compute.hypervisors()} - present):
        answer = _call(connection, "POST", "/os-hosts", json={"name": name})
        if not answer.ok:
            raise CloudError(f"The host {name} cannot be enrolled: {answer.status_code} {answer.text[:300]}")


def _call(connection: Connection, method: str, path: str, **more: Any) -> Any:
    endpoint = {"service_type": "reservation"}
    return connection.session.request(path, method, endpoint_filter=endpoint, raise_exc=False, **more)
