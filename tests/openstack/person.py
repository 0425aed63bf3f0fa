"""Users of the cloud, with their clients: Blazar's, OpenStack's, and the SDK."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from blazarclient.client import Client

from tests.openstack.leftovers import differences, listing
from tests.processes import BIN, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud

V1 = "%Y-%m-%d %H:%M"
SERVICES_BY_UUID = "2.53"
"""The first microversion of Nova in which a compute service is named by its UUID."""
# `blazar` needs OS_AUTH_TYPE; the other client assumes this value.
MACHINE = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": os.environ["HOME"], "OS_AUTH_TYPE": "password"}
BOOT_WITHIN, LEASE_WITHIN, GONE_WITHIN = 90, 60, 120
HOST: dict[str, object] = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}
BY_SIZE: dict[str, object] = {
    "resource_type": "virtual:instance",
    "amount": 2,
    "vcpus": 1,
    "memory_mb": 512,
    "disk_gb": 1,
    "affinity": None,
    "resource_properties": "",
}
BY_FLAVOR: dict[str, object] = {
    "resource_type": "flavor:instance",
    "amount": 2,
    "affinity": None,
    "resource_properties": "",
}


@dataclass(frozen=True)
class Person:
    """A user with an account, and the clients on the user's machine."""

    cloud: RunningCloud
    name: str

    @cached_property
    def sdk(self) -> Any:
        return self.cloud.connection(self.name)

    @property
    def blazar(self) -> Any:
        """Blazar's library."""
        return Client(1, session=self.sdk.session, service_type="reservation")

    def ask(self, method: str, path: str, **body: Any) -> Any:
        """Send a request of microversion 1.3, which Blazar's library does not know, and return the answer."""
        return self.sdk.session.request(
            path,
            method,
            endpoint_filter={"service_type": "reservation"},
            headers={"OpenStack-API-Version": "reservation 1.3"},
            json=body or None,
            raise_exc=False,
        )

    def run(self, program: str, *words: str) -> Any:
        """Run a command line client and return the JSON that it prints."""
        done = subprocess.run(
            [BIN / program, *words, "-f", "json"],
            env={**self.cloud.variables(self.name), **MACHINE},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        # `blazar` prints "Created a new lease:" before the JSON.
        return json.loads(done.stdout[done.stdout.index("{") :])

    def lease(self, reservation: dict[str, object], end: str | None = None) -> dict[str, Any]:
        """Lease this from now on, for an hour unless an end is given, and return the lease when it is active."""
        made = self.promise(reservation, "now", end or minute(hours=1))
        return self.lease_with_status(made["id"], "ACTIVE")

    def promise(self, reservation: dict[str, object], start: str, end: str) -> dict[str, Any]:
        """Create a lease of this for a time, and return the lease in the answer."""
        lease: dict[str, Any] = self.blazar.lease.create(
            name="end to end", start=start, end=end, reservations=[reservation], events=[]
        )
        return lease

    def delete(self, lease: dict[str, Any]) -> None:
        """Delete the lease and wait until it is gone."""
        self.blazar.lease.delete(lease["id"])
        wait_for(lambda: lease["id"] not in {each["id"] for each in self.blazar.lease.list()}, within=LEASE_WITHIN)

    def lease_with_status(self, lease_id: str, status: str, within: float = LEASE_WITHIN) -> dict[str, Any]:
        """Return the lease as soon as it has this status."""
        seen: list[dict[str, Any]] = []

        def has_it() -> bool:
            seen.append(self.blazar.lease.get(lease_id))
            assert seen[-1]["status"] != "ERROR", seen[-1]
            return bool(seen[-1]["status"] == status)

        wait_for(has_it, within=within)
        return seen[-1]

    def end(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Let the lease end this minute, and return it when it has."""
        self.blazar.lease.update(lease["id"], end_date=minute())
        return self.lease_with_status(lease["id"], "TERMINATED")

    def boot(self, flavor_id: str, reservation_id: str | None = None, group_id: str | None = None) -> str:
        """Boot a server, with these hints to the scheduler, and return its id."""
        named = {"reservation": reservation_id, "group": group_id}
        given = {name: value for name, value in named.items() if value is not None}
        server = self.sdk.compute.create_server(
            name="end-to-end",
            flavor_id=flavor_id,
            image_id=self.sdk.image.find_image("cirros", ignore_missing=False).id,
            networks=[{"uuid": self.sdk.network.find_network(f"{self.name}-net", ignore_missing=False).id}],
            **({"scheduler_hints": given} if given else {}),
        )
        return str(server.id)

    def outcome(self, server_id: str) -> str:
        """Return the server's status once it is ACTIVE or ERROR."""
        get = self.sdk.compute.get_server
        wait_for(lambda: get(server_id).status in ("ACTIVE", "ERROR"), within=BOOT_WITHIN)
        server = get(server_id)
        if server.status == "ERROR":
            assert "No valid host was found" in server.fault["message"]
        return str(server.status)

    def boots(self, flavor_id: str, reservation_id: str | None = None) -> bool:
        """Return whether Nova finds a host for a server; deletes the server if not, as its user would."""
        server_id = self.boot(flavor_id, reservation_id)
        active = self.outcome(server_id) == "ACTIVE"
        if not active:
            self.sdk.compute.delete_server(server_id)
        return active

    def set_compute(self, host: str, **changes: Any) -> None:
        """Change a compute service, as an administrator or a tool for high availability does."""
        compute = self.sdk.compute
        listed = compute.get("/os-services?binary=nova-compute", microversion=SERVICES_BY_UUID).json()["services"]
        (ident,) = [each["id"] for each in listed if each["host"] == host]
        answer = compute.put(f"/os-services/{ident}", json=changes, microversion=SERVICES_BY_UUID)
        assert answer.status_code == 200, answer.text

    def servers(self) -> set[str]:
        return {str(server.id) for server in self.sdk.compute.servers()}


def minute(**after: float) -> str:
    """Return the minute that is `after` from now, in v1's format."""
    return (datetime.now(UTC) + timedelta(**after)).strftime(V1)


@contextmanager
def nothing_left(admin: Person) -> Iterator[None]:
    """Check that the block leaves the cloud as it was; Nova and Neutron may take a moment for the last servers."""
    before = listing(admin.sdk)
    yield
    found: list[list[str]] = []

    def is_as_before() -> bool:
        found.append(differences(before, listing(admin.sdk)))
        return not found[-1]

    try:
        wait_for(is_as_before, within=GONE_WITHIN)
    except AssertionError:
        assert found[-1] == []
