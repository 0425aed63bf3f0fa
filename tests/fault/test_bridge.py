"""leasehold-bridge on RabbitMQ: what is killed or restarted loses nothing, and Nova and Neutron are heard."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
import requests
from sqlalchemy import update

from leasehold.bridge.transport import open_bus
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.tables import subnets
from leasehold.db.engine import open_engine, writing
from leasehold.model.resource import FLOATING_IP
from tests.processes import merged, prepare_database, running, wait_for
from tests.servers.rabbitmq import RabbitMQ
from tests.unit.bridge.memory import configured, options, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from leasehold.bridge.transport import Bus
    from tests.processes import Program

pytestmark = [pytest.mark.slow, pytest.mark.servers]

HEADERS = {"OpenStack-API-Version": "reservation 1.2", "X-Roles": "admin,member,reader"}
WITHIN = 120
DATES = {"start_date": "2040-05-02 10:00", "end_date": "2040-05-02 11:00"}
SERVICE = {"nova_object.data": {"host": "cmp-01", "binary": "nova-compute", "forced_down": True}}


@pytest.fixture(scope="module")
def broker() -> Iterator[RabbitMQ]:
    with RabbitMQ() as found:
        yield found


def ask(api: Program, method: str, path: str, body: Any = None) -> Any:
    answer = requests.request(method, f"{api.url}{path}", json=body, headers=HEADERS, timeout=WITHIN)
    assert answer.ok, answer.text
    return answer.json() if answer.content else None


def change(api: Program, lease: str, rounds: range) -> None:
    for number in rounds:
        ask(api, "PUT", f"/leases/{lease}", {"end_date": f"2040-05-02 {12 + number % 2}:{10 + number}"})


@pytest.mark.timeout(600)
def test_what_happens_reaches_the_bus_through_kills_and_a_restart_of_the_broker(
    broker: RabbitMQ, tmp_path: Path
) -> None:
    database = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(database)
    # A claim of a bridge that was killed expires soon.
    own = merged(options(broker.url, topics="of-leases"), {"delivery": {"answer_seconds": 0.5}})
    bus = open_bus(configured(tmp_path, broker.url, topics="of-leases").raw)
    with ExitStack() as stack:
        api = stack.enter_context(running("leasehold-api", database_url=database))
        stack.enter_context(running("leasehold-manager", database_url=database))
        bridges = [stack.enter_context(running("leasehold-bridge", database_url=database, options=own))]
        wait_for(lambda: is_followed(database), within=WITHIN)
        lease = ask(api, "POST", "/leases", {"name": "n", **DATES, "reservations": []})["lease"]["id"]
        change(api, lease, range(5))
        bridges[-1].kill()
        change(api, lease, range(5, 10))
        bridges += [stack.enter_context(running("leasehold-bridge", database_url=database, options=own))]
        with reading(bus, "of-leases") as reader:
            arrived = reader.take(1)
        arrived += reader.rest()
        broker.kill()
        change(api, lease, range(10, 15))
        broker.start()
        ask(api, "DELETE", f"/leases/{lease}")
        with reading(bus, "of-leases") as reader:
            while arrived[-1]["event_type"] != "lease.delete":
                arrived += reader.take(1)
        wanted = [each["id"] for each in ask(api, "GET", "/events?limit=1000")["events"] if is_blazars(each["type"])]
        first: dict[str, Any] = {}
        for each in arrived:
            assert first.setdefault(each["message_id"], each)["payload"] == each["payload"]
        assert list(first) == wanted
        assert len(wanted) == 17


def is_blazars(kind: str) -> bool:
    return kind in ("lease.create", "lease.update", "lease.delete")


def is_followed(database: str) -> bool:
    """Say whether a bridge has begun to send what happens from then on."""
    engine = open_engine(database)
    try:
        with engine.connect() as connection:
            return bool(connection.exec_driver_sql("SELECT 1 FROM subscriptions WHERE channel = 'bus'").first())
    finally:
        engine.dispose()


def test_a_notification_of_nova_heals_within_seconds_with_polling_off(broker: RabbitMQ, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(database)
    silent = {"physical:host": {"enable_polling_monitor": False, "failure_grace": 0}}
    own = {"physical:host": {**silent["physical:host"], "enable_notification_monitor": True}}
    bus = open_bus(configured(tmp_path, broker.url).raw)
    engine = open_engine(database)
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        api = stack.enter_context(running("leasehold-api", database_url=database))
        stack.enter_context(running("leasehold-manager", database_url=database, options=silent))
        for name in ("cmp-01", "cmp-02"):
            ask(api, "POST", "/os-hosts", {"name": name})
        bridge = merged(options(broker.url, driver="noop"), own)
        stack.enter_context(running("leasehold-bridge", database_url=database, options=bridge))
        reservation = {"resource_type": "physical:host", "min": 1, "max": 1}
        made = {"name": "n", "start_date": "now", "end_date": DATES["end_date"]}
        more = {"hypervisor_properties": "", "resource_properties": ""}
        lease = ask(api, "POST", "/leases", {**made, "reservations": [{**reservation, **more}]})["lease"]["id"]
        wait_for(lambda: ask(api, "GET", f"/leases/{lease}")["lease"]["status"] == "ACTIVE", within=WITHIN)
        (held,) = holders(api, lease)
        sandbox(engine).hypervisors.fail(held)
        tell(bus)
        wait_for(lambda: holders(api, lease) - {held}, within=WITHIN)
        assert ask(api, "GET", f"/leases/{lease}")["lease"]["degraded"]
        sandbox(engine).hypervisors.recover(held)
        tell(bus)
        wait_for(lambda: all(host["reservable"] for host in ask(api, "GET", "/os-hosts")["hosts"]), within=WITHIN)


def tell(bus: Bus) -> None:
    """Send what Nova sends when a compute service was changed."""
    send(bus, "versioned_notifications.info", "service.update", SERVICE)


def send(bus: Bus, topic: str, kind: str, payload: Mapping[str, Any]) -> None:
    message = {"event_type": kind, "priority": "INFO", "publisher_id": "tests", "payload": payload}
    bus.send(topic, {}, {**message, "message_id": "1", "timestamp": ""}, 2.0)


def test_notifications_of_neutron_heal_within_seconds_and_leave_the_hosts_alone(
    broker: RabbitMQ, tmp_path: Path
) -> None:
    """An address that the cloud assigns itself now, and one that somebody has taken, with polling off."""
    database = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(database)
    silent: dict[str, dict[str, object]] = {
        "manager": {"unpolled_types": FLOATING_IP},
        "physical:host": {"enable_polling_monitor": False, "failure_grace": 0},
    }
    own: dict[str, dict[str, object]] = {**silent, "notifications": {"pushed_types": "virtual.floatingip.plugin"}}
    bus = open_bus(configured(tmp_path, broker.url).raw)
    engine = open_engine(database)
    addresses = [f"203.0.113.{last}" for last in (200, 201, 202)]
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        api = stack.enter_context(running("leasehold-api", database_url=database))
        stack.enter_context(running("leasehold-manager", database_url=database, options=silent))
        for each in addresses:
            enrolment = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": each}
            ask(api, "POST", "/floatingips", enrolment)
        ask(api, "POST", "/os-hosts", {"name": "cmp-01"})
        bridge = merged(options(broker.url, driver="noop"), own)
        stack.enter_context(running("leasehold-bridge", database_url=database, options=bridge))
        asked = {"resource_type": FLOATING_IP, "network_id": seed.NETWORK_ID, "amount": 1}
        made = {"name": "n", "start_date": "now", "end_date": DATES["end_date"], "reservations": [asked]}
        lease = ask(api, "POST", "/leases", made)["lease"]["id"]
        wait_for(lambda: ask(api, "GET", f"/leases/{lease}")["lease"]["status"] == "ACTIVE", within=WITHIN)
        cloud = sandbox(engine)
        cloud.hypervisors.fail("cmp-01")
        cloud.networks.create_floating_ip(seed.NETWORK_ID, seed.SUBNET_ID, addresses[1], "alt", frozenset())
        send(bus, "notifications.info", "floatingip.create.end", {"floatingip": {}})
        wait_for(lambda: reservable(api)[addresses[1]] is False, within=WITHIN)
        with writing(engine) as connection:
            connection.execute(update(subnets).values(allocation_pools=[[addresses[0]] * 2]))
        send(bus, "notifications.info", "subnet.update.end", {"subnet": {}})
        wait_for(lambda: cloud.networks.floating_ip(seed.NETWORK_ID, addresses[2]) is not None, within=WITHIN)
        assert ask(api, "GET", f"/leases/{lease}")["lease"]["degraded"]
        assert reservable(api) == {addresses[0]: False, addresses[1]: False, addresses[2]: True}
        assert [host["reservable"] for host in ask(api, "GET", "/os-hosts")["hosts"]] == [True]


def reservable(api: Program) -> dict[str, bool]:
    shown = ask(api, "GET", "/floatingips")["floatingips"]
    return {each["floating_ip_address"]: each["reservable"] for each in shown}


def holders(api: Program, lease: str) -> set[str]:
    """Return the names of the hosts that the lease has, those among them that it has lost and not left yet."""
    names = {host["id"]: str(host["hypervisor_hostname"]) for host in ask(api, "GET", "/os-hosts")["hosts"]}
    shown = ask(api, "GET", "/os-hosts/allocations")["allocations"]
    return {names[each["resource_id"]] for each in shown if lease in {r["lease_id"] for r in each["reservations"]}}
