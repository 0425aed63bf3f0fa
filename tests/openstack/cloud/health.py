"""Waits until the cloud is usable; an error quotes the log of the service that fails."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from openstack.exceptions import SDKException

from tests.openstack.cloud.errors import CloudError
from tests.openstack.cloud.home import COMPUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openstack.connection import Connection

    from tests.openstack.cloud.processes import Processes
    from tests.openstack.cloud.services import Service

_POLL_EVERY = 0.2
_WITHIN = 180.0


def wait_until_ready(services: Iterable[Service], processes: Processes) -> None:
    """Wait for each service; raises CloudError when one ends or takes too long."""
    deadline = time.monotonic() + _WITHIN
    for service in services:
        while True:
            alive = processes.pid(service.name) is not None
            if alive and service.ready():
                break
            if not alive:
                raise CloudError(processes.ended(service.name))
            if time.monotonic() > deadline:
                log = processes.log_end(service.name)
                raise CloudError(f"{service.name} is not ready in time; its log ends with:\n{log}")
            time.sleep(_POLL_EVERY)


def wait_until_nova_works(
    connection: Connection, since: datetime, processes: Processes, names: Iterable[str] = COMPUTES
) -> None:
    """Wait until all parts of Nova have reported after `since`, and Nova can schedule to these computes."""
    names = frozenset(names)

    def missing() -> str:
        return _missing_from_nova(connection, since, names)

    _wait_until_nothing(missing, processes)


def _missing_from_nova(connection: Connection, since: datetime, names: frozenset[str]) -> str:
    """Return what is still missing first, "" when nothing is."""
    alive = [service for service in connection.compute.services() if _reported(service.updated_at) >= since]
    for binary in ("nova-conductor", "nova-scheduler"):
        if not any(service.binary == binary for service in alive):
            return f"{binary} has not reported"
    steps = (
        ("computes that have reported", {service.host for service in alive if service.state == "up"}),
        ("hypervisors", {item.name for item in connection.compute.hypervisors()}),
        ("resource providers", {item.name for item in connection.placement.resource_providers()}),
    )
    for what, present in steps:
        if not names <= present:
            return f"of the {what} these are missing: {', '.join(sorted(names - present))}"
    return ""


def _reported(text: str | None) -> datetime:
    """Parse a time as Nova writes it: UTC, without an offset."""
    if text is None:
        return datetime.min.replace(tzinfo=UTC)
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _wait_until_nothing(missing: Callable[[], str], processes: Processes) -> None:
    deadline = time.monotonic() + _WITHIN
    while True:
        try:
            still = missing()
        except SDKException as error:
            # The services start in any order and need one another.
            still = str(error)
        if not still:
            return
        ended = [name for name in processes.known() if processes.pid(name) is None]
        if ended:
            what = "\n".join(map(processes.ended, ended))
        elif time.monotonic() > deadline:
            what = f"The log of nova-scheduler ends with:\n{processes.log_end('nova-scheduler')}"
        else:
            time.sleep(_POLL_EVERY)
            continue
        raise CloudError(f"Nova does not work: {still}. {what}")
