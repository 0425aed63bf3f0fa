"""Leases whose creator and project are deleted from Keystone: they start, run and end as usual.

The service never acts in the creator's name, so nothing can fail when the account is gone.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import requests
from keystoneauth1.exceptions import Unauthorized

from tests.openstack.leasehold import FREE_POOL, running_leasehold
from tests.openstack.person import HOST, LEASE_WITHIN, Person, nothing_left
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud
    from tests.openstack.leasehold import RunningLeasehold

ISO = {"OpenStack-API-Version": "reservation 1.1"}


class Passing:
    """A user with a project, both of which a test can delete."""

    def __init__(self, cloud: RunningCloud, admin: Person) -> None:
        """Create the project and the user."""
        self._identity = admin.sdk.identity
        self.name = f"passing-{uuid4().hex[:8]}"
        self.project = self._identity.create_project(name=self.name, domain_id="default").id
        self.user = self._identity.create_user(
            name=self.name, password=cloud.password, domain_id="default", default_project_id=self.project
        ).id
        for role in ("member", "reader"):
            found = self._identity.find_role(role, ignore_missing=False)
            self._identity.assign_project_role_to_user(self.project, self.user, found)
        self.person = Person(cloud, self.name)

    def leave(self) -> None:
        """Delete the user."""
        self._identity.delete_user(self.user, ignore_missing=True)

    def close(self) -> None:
        """Delete the project as well."""
        self._identity.delete_project(self.project, ignore_missing=True)


@pytest.fixture(scope="module")
def leasehold(cloud: RunningCloud) -> Iterator[RunningLeasehold]:
    with running_leasehold(cloud, "creator_gone") as running:
        yield running


@pytest.fixture
def admin(cloud: RunningCloud, leasehold: RunningLeasehold) -> Iterator[Person]:
    """Yield the administrator of a cloud with two hosts in the free pool, and check that it is unchanged at the end."""
    person = Person(cloud, "admin")
    with nothing_left(person), ExitStack() as undo:
        for name in cloud.computes[:2]:
            undo.callback(person.blazar.host.delete, person.blazar.host.create(name=name)["id"])
        yield person


@contextmanager
def account(cloud: RunningCloud, admin: Person) -> Iterator[Passing]:
    passing = Passing(cloud, admin)
    try:
        yield passing
    finally:
        passing.leave()
        passing.close()


def ask(leasehold: RunningLeasehold, person: Person, method: str, lease_id: str = "", body: Any = None) -> Any:
    """Send a request with dates to the second, which Blazar's client cannot write."""
    headers = {"X-Auth-Token": person.sdk.session.get_token(), **ISO}
    path = f"/leases/{lease_id}" if lease_id else "/leases"
    return requests.request(method, f"{leasehold.url}{path}", json=body, headers=headers, timeout=60)


def promise(leasehold: RunningLeasehold, person: Person, start: datetime | None, end: datetime) -> dict[str, Any]:
    """Create a lease of a host until `end`, and return the lease in the answer."""
    begin = "now" if start is None else start.isoformat()
    body = {"name": "of one who leaves", "start_date": begin, "end_date": end.isoformat(), "reservations": [HOST]}
    answer = ask(leasehold, person, "POST", body=body)
    assert answer.status_code == 201, answer.text
    lease: dict[str, Any] = answer.json()["lease"]
    return lease


def soon(**after: float) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(**after)


def leased_hosts(admin: Person, lease: dict[str, Any]) -> list[str]:
    """Return the hosts in the lease's aggregate, none when there is no such aggregate."""
    (part,) = lease["reservations"]
    aggregate = admin.sdk.compute.find_aggregate(part["id"])
    return [] if aggregate is None else list(aggregate.hosts or [])


def free_hosts(admin: Person) -> set[str]:
    return set(admin.sdk.compute.find_aggregate(FREE_POOL, ignore_missing=False).hosts or [])


def test_leases_outlive_their_creator_and_their_project(
    cloud: RunningCloud, leasehold: RunningLeasehold, admin: Person
) -> None:
    """One is active, one pending when the account is deleted: the latter starts and ends, and both can be deleted."""
    with account(cloud, admin) as passing:
        person = passing.person
        active = promise(leasehold, person, None, soon(hours=1))
        admin.lease_with_status(active["id"], "ACTIVE")
        held = leased_hosts(admin, active)
        assert len(held) == 1
        pending = promise(leasehold, person, soon(seconds=20), soon(hours=1))
        passing.leave()
        passing.close()
        with pytest.raises(Unauthorized):
            Person(cloud, passing.name).sdk.session.get_token()
        # The pending lease starts without its creator: two hosts are in use, and none is free.
        started = admin.lease_with_status(pending["id"], "ACTIVE")
        assert (started["user_id"], started["project_id"]) == (passing.user, passing.project)
        assert not free_hosts(admin) & {*held, *leased_hosts(admin, pending)}
        # One lease ends at its end date; the other is deleted while it is active.
        changed = ask(leasehold, admin, "PUT", pending["id"], {"end_date": soon(seconds=5).isoformat()})
        assert changed.status_code == 200, changed.text
        ended = admin.lease_with_status(pending["id"], "TERMINATED")
        assert [part["status"] for part in ended["reservations"]] == ["deleted"]
        deleted = [ask(leasehold, admin, "DELETE", lease["id"]) for lease in (active, pending)]
        assert [answer.status_code for answer in deleted] == [204, 204], [answer.text for answer in deleted]
        wait_for(lambda: is_free(admin, active, pending, held), within=LEASE_WITHIN)


def is_free(admin: Person, active: dict[str, Any], pending: dict[str, Any], held: list[str]) -> bool:
    """Return whether the leases' aggregates are empty or gone, and their hosts back in the free pool."""
    empty = not leased_hosts(admin, active) and not leased_hosts(admin, pending)
    return empty and set(held) <= free_hosts(admin) and len(free_hosts(admin)) == 2
