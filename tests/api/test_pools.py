"""Feature E3 by the API: hosts that serve everybody, drawn into the reservation pool and given back, from 1.2 on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from leasehold.db.engine import reading
from leasehold.db.resources.resource import find_resource
from leasehold.db.tables import resources
from leasehold.db.task import claim_tasks
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.manager.task_runner import run_task
from leasehold.model.resource import HOST
from tests.factory import hosts

if TYPE_CHECKING:
    from falcon import testing

    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

DATES = {"start_date": "2031-05-02 10:00", "end_date": "2031-05-02 12:00"}
KEYS = {"pool", "pool_reason", "held_for"}
LISTS = ["/v1/os-hosts", "/v1/resources/physical:host"]
VALUES: list[Any] = [None, "", "drawing", "giving_back", "Shared", 1, True, [], {}]


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(version="1.2")


@pytest.fixture
def crowded(service: Service) -> str:
    """Return the name of a host that has servers."""
    server = service.cloud.servers.boot("theirs", "alt", "m1.small")  # type: ignore[attr-defined]  # the sandbox's
    return str(server.service_host)


def one(answer: testing.Result) -> dict[str, Any]:
    """Return the only member of an answer about one host."""
    assert answer.status_code in (200, 201), answer.text
    ((_, found),) = answer.json.items()
    return dict(found)


def work(service: Service) -> None:
    """Run what is due as a manager does."""
    lasts = timedelta(minutes=1)
    for claim in service.db.transact(lambda connection: claim_tasks(connection, "tests", service.now(), lasts, 9)):
        run_task(service, claim)


@pytest.mark.parametrize("path", LISTS)
def test_a_host_is_enrolled_shared_drawn_and_given_back(
    service: Service, operator: Client, admin: Client, crowded: str, clock: Clock, path: str
) -> None:
    refused = operator.ask("POST", path, {"name": crowded})
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.resource.in_use")
    made = one(operator.ask("POST", path, {"name": crowded, "pool": "shared"}))
    assert made.items() >= {"pool": "shared", "pool_reason": None, "reservable": False}.items()
    host = f"{path}/{made['id']}"
    assert lease(operator).json["code"] == "leasehold.resources.not_enough"
    for _ in range(2):
        asked = one(operator.ask("PUT", host, {"pool": "reservation"}))
        assert asked.items() >= {"pool": "drawing", "reservable": False}.items()
    settle(service, clock)
    assert one(operator.ask("GET", host)).items() >= {"pool": "reservation", "reservable": True}.items()
    made_lease = lease(operator)
    assert made_lease.status_code == 201
    kept = operator.ask("PUT", host, {"pool": "shared"})
    ident = made_lease.json["lease"]["id"]
    assert (kept.status_code, kept.json["field"]) == (409, "pool")
    assert kept.json["details"] == {"leases": [ident], "from": "2031-05-02T10:00:00+00:00"}
    assert operator.ask("DELETE", f"/v1/leases/{ident}").status_code == 204
    settle(service, clock)
    assert one(operator.ask("PUT", host, {"pool": "shared"}))["pool"] == "giving_back"
    settle(service, clock)
    assert one(operator.ask("GET", host)).items() >= {"pool": "shared", "reservable": False}.items()
    told = {"resource.enrolled", "resource.drawn", "resource.given_back"}
    sequence_events(service)
    events = operator.ask("GET", "/v1/events?all_projects=true").json["events"]
    assert told <= {each["type"] for each in events}
    v1 = admin.ask("GET", f"/v1/os-hosts/{made['id']}").json["host"]
    assert v1["reservable"] is False
    assert not KEYS & v1.keys()


def settle(service: Service, clock: Clock) -> None:
    """Run what is due in the next seconds."""
    for _ in range(5):
        work(service)
        clock.now += timedelta(seconds=2)


def lease(client: Client) -> testing.Result:
    body = {"name": "l", **DATES, "reservations": [hosts()], "events": []}
    return client.ask("POST", "/v1/leases", body)


def test_before_1_2_pool_is_a_property_like_any_other(admin: Client, operator: Client, service: Service) -> None:
    made = one(admin.ask("POST", "/v1/os-hosts", {"name": "cmp-01", "pool": "shared", "pool_reason": "mine"}))
    assert (made["pool"], made["pool_reason"], made["reservable"]) == ("shared", "mine", True)
    path = f"/v1/os-hosts/{made['id']}"
    assert one(admin.ask("PUT", path, {"pool": "theirs"}))["pool"] == "theirs"
    # A field of the answer wins over a property of the same name.
    assert one(operator.ask("GET", path))["pool"] == "reservation"
    with reading(service.db.engine) as connection:
        assert connection.execute(select(resources.c.membership)).scalars().all() == ["reservation"]


@pytest.mark.parametrize("value", VALUES)
def test_only_the_two_pools_can_be_asked_for(operator: Client, host: str, value: object) -> None:
    for path in LISTS:
        for method, where, body in (("POST", path, {"name": "cmp-02"}), ("PUT", f"{path}/{host}", {})):
            answer = operator.ask(method, where, {**body, "pool": value})
            assert (answer.status_code, answer.json["field"]) == (400, "pool"), answer.text


def test_why_a_draw_failed_cannot_be_set(operator: Client, host: str) -> None:
    for method, path, body in (("POST", "/v1/os-hosts", {"name": "cmp-02"}), ("PUT", f"/v1/os-hosts/{host}", {})):
        answer = operator.ask(method, path, {**body, "pool_reason": "because"})
        assert (answer.status_code, answer.json["field"]) == (400, "pool_reason"), answer.text


def test_addresses_are_in_one_pool(operator: Client) -> None:
    body = {"floating_network_id": "x", "floating_ip_address": "203.0.113.200", "pool": "shared"}
    answer = operator.ask("POST", "/v1/resources/virtual:floatingip", body)
    assert (answer.status_code, answer.json["field"]) == (400, "pool")


def test_properties_flag_and_pool_change_together_or_not_at_all(service: Service, operator: Client, host: str) -> None:
    assert lease(operator).status_code == 201
    path = f"/v1/os-hosts/{host}"
    answer = operator.ask("PUT", path, {"rack": "z9", "disabled": True, "pool": "shared"})
    assert answer.status_code == 409
    shown = one(operator.ask("GET", path))
    assert shown.items() >= {"rack": "a1", "disabled": False, "pool": "reservation", "reservable": True}.items()
    with service.db.reading() as connection:
        found = find_resource(connection, HOST, host)
    assert found is not None
    assert found.pooled


@pytest.mark.parametrize("path", LISTS)
def test_users_do_not_move_hosts(client: Client, host: str, path: str) -> None:
    answer = client.but(version="1.2").ask("PUT", f"{path}/{host}", {"pool": "shared"})
    assert answer.status_code == 403
