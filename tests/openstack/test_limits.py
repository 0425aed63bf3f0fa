"""Limits that an operator keeps in Keystone, and quotas of Nova and Neutron, as the services themselves tell them."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import HOST, MACHINE, Person
from tests.openstack.test_end_to_end import ADDRESS
from tests.openstack.test_keystone import session
from tests.processes import BIN, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from keystoneauth1.session import Session

    from tests.openstack.cloud import RunningCloud

DATES = {"start_date": "2040-01-01 10:00", "end_date": "2040-01-01 12:00"}
CACHED = 2
"""Seconds."""


@pytest.fixture(scope="module")
def system(cloud: RunningCloud) -> Iterator[Session]:
    """Yield the system's administrator, while Leasehold's account is a reader on the system."""
    system = session(cloud, "admin", system_scope="all")
    user = _only(system, cloud, "users", name="leasehold")["id"]
    role = _only(system, cloud, "roles", name="reader")["id"]
    grant = f"{cloud.auth_url}/system/users/{user}/roles/{role}"
    system.put(grant)
    yield system
    system.delete(grant)


def _only(system: Session, cloud: RunningCloud, kind: str, **query: str) -> Any:
    (found,) = system.get(f"{cloud.auth_url}/{kind}", params=query).json()[kind]
    return found


@pytest.fixture(scope="module")
def demo(cloud: RunningCloud, system: Session) -> Iterator[Person]:
    """Yield a member of a project, with a new Leasehold that reads limits and warns beyond a quota."""
    assert system
    account = {
        "auth_type": "password",
        "auth_url": cloud.auth_url,
        "username": "leasehold",
        "password": cloud.password,
        "user_domain_name": "Default",
        "system_scope": "all",
    }
    more: dict[str, dict[str, object]] = {
        "unified_limits": {"enabled": True, "cache_seconds": CACHED, **account},
        "enforcement": {"beyond_quota": "warn"},
    }
    with running_leasehold(cloud, "limits", more):
        yield Person(cloud, "demo")


@contextmanager
def made(system: Session, cloud: RunningCloud, kind: str, **body: Any) -> Iterator[str]:
    """Make a limit for the block; yields its URL."""
    (found,) = system.post(f"{cloud.auth_url}/{kind}", json={kind: [body]}).json()[kind]
    url = f"{cloud.auth_url}/{kind}/{found['id']}"
    try:
        yield url
    finally:
        system.delete(url)


@pytest.fixture
def limit(cloud: RunningCloud, system: Session, demo: Person) -> Iterator[str]:
    """Yield the URL of the project's own limit of two leases, where nobody else may have one."""
    service = _only(system, cloud, "services", type="reservation")["id"]
    of_leases = {"service_id": service, "region_id": "RegionOne", "resource_name": "reservation:leases"}
    own = {**of_leases, "project_id": demo.sdk.session.get_project_id(), "resource_limit": 0}
    with (
        made(system, cloud, "registered_limits", **of_leases, default_limit=0),
        made(system, cloud, "limits", **own) as url,
    ):
        # What was read before is used for a while.
        for person in (demo, Person(cloud, "alt")):
            wait_for(partial(refused, person), within=CACHED + 30)
        system.patch(url, json={"limit": {"resource_limit": 2}})
        wait_for(lambda: lease(demo, dry_run=True).status_code == 200, within=CACHED + 30)
        yield url


def lease(person: Person, *reservations: dict[str, object], **more: Any) -> Any:
    return person.ask("POST", "/leases", name="limited", reservations=list(reservations), **DATES, **more)


def refused(person: Person) -> bool:
    return bool(lease(person, dry_run=True).status_code == 403)


@contextmanager
def leases_gone(person: Person) -> Iterator[None]:
    try:
        yield
    finally:
        for each in person.blazar.lease.list():
            person.delete(each)


def test_what_is_beyond_the_quota_of_nova_or_neutron_is_warned_of(cloud: RunningCloud, demo: Person) -> None:
    """The first test: no quota of the project was read before."""
    admin, project = Person(cloud, "admin"), demo.sdk.session.get_project_id()
    before = admin.sdk.get_compute_quotas(project)["instances"], admin.sdk.get_network_quotas(project)["floatingip"]
    with ExitStack() as undo:
        undo.callback(admin.sdk.set_compute_quotas, project, instances=before[0])
        undo.callback(admin.sdk.set_network_quotas, project, floatingip=before[1])
        admin.sdk.set_compute_quotas(project, instances=1)
        admin.sdk.set_network_quotas(project, floatingip=0)
        for name in cloud.computes[:2]:
            answer = admin.ask("POST", "/os-hosts", name=name)
            assert answer.status_code == 201, answer.text
            undo.callback(admin.blazar.host.delete, answer.json()["host"]["id"])
        network = admin.sdk.network.find_network("public", ignore_missing=False).id
        undo.callback(admin.blazar.floatingip.delete, admin.blazar.floatingip.create(network, ADDRESS)["id"])
        floating = {"resource_type": "virtual:floatingip", "network_id": network, "amount": 1}
        assert "warnings" not in lease(demo, HOST, dry_run=True).json()
        answer = lease(demo, {**HOST, "min": 2, "max": 2}, floating, dry_run=True)
        assert answer.status_code == 200, answer.text
        assert [(each["code"], each["details"]) for each in answer.json()["warnings"]] == [
            (
                "leasehold.enforcement.quota",
                {"what": what, "limit": limit, "asked": limit + 1, "source": service},
            )
            for what, limit, service in (("instances", 1, "Nova"), ("floating_ips", 0, "Neutron"))
        ]
        tried = subprocess.run(
            [BIN / "leasehold", "lease", "create", "two", "--hosts", "2", "--from", "in 1 d", "--dry-run"],
            env={**MACHINE, **cloud.variables("demo")},
            capture_output=True,
            text=True,
            check=True,
        )
        assert "the project's quota in Nova is 1 instances" in tried.stderr


def test_the_limit_of_keystone_holds_and_the_refusal_names_it(
    cloud: RunningCloud, system: Session, demo: Person, limit: str
) -> None:
    with leases_gone(demo):
        assert [lease(demo).status_code for _ in range(2)] == [201, 201]
        answer = lease(demo)
        assert answer.status_code == 403
        assert answer.json()["code"] == "leasehold.enforcement.open_leases"
        assert "may have 2 (reservation:leases in Keystone: 0 left)" in answer.json()["error_message"]
        assert answer.json()["details"] == {
            "limit": 2,
            "open": 2,
            "name": "reservation:leases",
            "source": "Keystone",
            "fits": 0,
        }
        others = lease(Person(cloud, "alt"), dry_run=True)
        assert (others.status_code, others.json()["details"]["limit"]) == (403, 0)
        system.patch(limit, json={"limit": {"resource_limit": 3}})
        wait_for(lambda: lease(demo, dry_run=True).status_code == 200, within=CACHED + 30)
        system.patch(limit, json={"limit": {"resource_limit": -1}})
        wait_for(lambda: all(lease(demo).status_code == 201 for _ in range(2)), within=CACHED + 30)


def test_without_keystone_nothing_is_granted_and_what_asks_for_no_more_is_done(
    cloud: RunningCloud, demo: Person, limit: str
) -> None:
    assert limit
    with leases_gone(demo):
        one = lease(demo).json()["lease"]["id"]
        # A token that our service knows already, and no look at the catalogue.
        url, token = demo.sdk.session.get_endpoint(service_type="reservation"), demo.sdk.session.get_token()
        ask = _asking(url, token)
        cloud.stop_service("keystone")
        try:
            # What was read just before is used for a while: only a dry run keeps the second lease free for the end.
            another = {"name": "x", **DATES}
            wait_for(lambda: ask("POST", "/leases", {**another, "dry_run": True}).status_code == 503, CACHED + 60)
            answer = ask("POST", "/leases", another)
            assert answer.json()["code"] == "leasehold.enforcement.not_known"
            assert ask("PUT", f"/leases/{one}", {"name": "renamed"}).status_code == 200
            assert ask("PUT", f"/leases/{one}", {"end_date": "2040-01-01 11:00"}).status_code == 200
        finally:
            cloud.start_service("keystone")
        wait_for(lambda: ask("POST", "/leases", another).status_code == 201, within=240)


def _asking(url: str, token: str) -> Any:
    def ask(method: str, path: str, body: object) -> requests.Response:
        headers = {"X-Auth-Token": token, "OpenStack-API-Version": "reservation 1.3"}
        return requests.request(method, f"{url}{path}", json=body, headers=headers, timeout=120)

    return ask
