"""Hosts of the real cloud sleep and wake up: their nova-compute ends, and is started again for a lease (feature F1)."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import conf
from leasehold.cloud.openstack.cloud import openstack_cloud
from leasehold.resource_types.host.enrolment import SLEEPS
from tests.openstack.controllers import Controllers, controllers
from tests.openstack.leasehold import FREE_POOL, QUICK, RunningLeasehold, running_leasehold
from tests.openstack.person import HOST, Person, nothing_left
from tests.openstack.test_preemptible import has_room, outcome_or_gone, paused
from tests.openstack.test_scheduler import allowing_preemptibles, flavor
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.cloud.ports import Cloud, Hypervisor
    from tests.openstack.cloud import RunningCloud

WAKES, WITHIN = 30, 120.0
"""In seconds: how long a machine may take to wake up, and what else happens has so long."""


@pytest.fixture(scope="module")
def switches(cloud: RunningCloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controllers]:
    with controllers(cloud, tmp_path_factory.mktemp("power")) as made:
        yield made


@pytest.fixture(scope="module")
def leasehold(cloud: RunningCloud, switches: Controllers) -> Iterator[RunningLeasehold]:
    """Yield a Leasehold that lets each idle host sleep once, and a scheduler that takes preemptible servers."""
    power = {
        "classes": "box",
        "every_seconds": 1,
        "idle_seconds": 2,
        "least_on_seconds": 600,
        "least_off_seconds": 0,
        "spares": 0,
        "wake_floor_seconds": 1,
        "wake_default_seconds": WAKES,
    }
    box = {"driver": "hook", "command": switches.command, "shut_down_seconds": 30}
    more = {**QUICK, "power": power, "power:box": box}
    with allowing_preemptibles(cloud), running_leasehold(cloud, "sleeping", more) as running:
        yield running


@pytest.fixture
def ports(leasehold: RunningLeasehold) -> Cloud:
    return openstack_cloud(conf.load(["--config-file", str(leasehold.config_file)]).raw)


def service(ports: Cloud, name: str) -> Hypervisor:
    found = ports.hypervisors.find(name)
    assert found is not None
    return found


class Operator(Person):
    """The administrator, who says how machines are switched."""

    def enrol(self, undo: ExitStack, name: str) -> str:
        """Enrol a compute, and return the id of the host."""
        ident = str(self.blazar.host.create(name=name)["id"])
        undo.callback(self._remove, ident)
        return ident

    def _remove(self, ident: str) -> None:
        """Remove a host; after a failure it may have to be woken first."""
        path = f"/power/hosts/{ident}"
        if self.ask("POST", f"{path}/wake").status_code == 202:
            wait_for(lambda: self.stage(ident) == "on", within=WITHIN)
            assert self.ask("DELETE", path).status_code == 204
        self.blazar.host.delete(ident)

    def let_sleep(self, ident: str, name: str) -> None:
        """Say how the machine of a host is switched, so that it may sleep."""
        answer = self.ask("PUT", f"/power/hosts/{ident}", power_class="box", address=name)
        assert answer.status_code == 200, answer.text

    def free(self) -> set[str]:
        """Return the hosts in the free pool."""
        pool = self.sdk.compute.find_aggregate(FREE_POOL)
        return set() if pool is None else set(pool.hosts)

    def stage(self, ident: str) -> Any:
        return self.ask("GET", f"/power/hosts/{ident}").json()["machine"]["stage"]

    def host(self, ident: str) -> Any:
        return self.ask("GET", f"/resources/physical:host/{ident}").json()["resource"]


def test_hosts_sleep_and_wake_up_in_time_for_a_lease(
    cloud: RunningCloud, leasehold: RunningLeasehold, switches: Controllers, ports: Cloud
) -> None:
    """One boot waits for the scheduler while they are closed, and one of the two does not boot at the first try."""
    admin, demo, alt = Operator(cloud, "admin"), Person(cloud, "demo"), Person(cloud, "alt")
    names = cloud.computes[:2]
    switches.dead[names[1]] = 1
    with flavor(admin.sdk, {"blazar:preemptible": "true"}) as preemptible, nothing_left(admin), ExitStack() as undo:
        hosts = {name: admin.enrol(undo, name) for name in names}

        def stages() -> set[str]:
            return {admin.stage(ident) for ident in hosts.values()}

        def health() -> set[str]:
            return {admin.host(ident)["health"] for ident in hosts.values()}

        with paused(cloud, "nova-scheduler") as scheduler:
            too_late = alt.boot(preemptible)
            for name, ident in hosts.items():
                admin.let_sleep(ident, name)
            wait_for(lambda: stages() <= {"stopping", "asleep"}, within=WITHIN)
            assert ports.providers.claimed(names) == set(names)
            assert {service(ports, name).disabled_reason for name in names} == {SLEEPS}
            scheduler.close()
        assert outcome_or_gone(alt, too_late) == "ERROR"
        alt.sdk.compute.delete_server(too_late)
        wait_for(lambda: not any(map(cloud.is_alive, names)), within=WITHIN)
        wait_for(lambda: stages() == {"asleep"}, within=WITHIN)
        assert health() == {"asleep"}
        reports = {name: ports.hypervisors.report(name) for name in names}
        assert not any(each.up for each in reports.values())

        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2.5 * WAKES)
        end = start + timedelta(hours=1)
        asked = {"name": "morning", "start_date": start.isoformat(), "end_date": end.isoformat()}
        made = demo.ask("POST", "/leases", **asked, reservations=[{**HOST, "min": 2, "max": 2}])
        assert made.status_code == 201, made.text
        lease = made.json()["lease"]
        wait_for(lambda: stages() == {"on"}, within=WITHIN)
        assert datetime.now(UTC) < start
        assert health() == {"healthy"}
        assert {name: switches.told[name] for name in names} == {
            names[0]: ["shutdown", "on"],
            names[1]: ["shutdown", "on", "off", "on"],
        }
        for name in names:
            before, now = reports[name].at, ports.hypervisors.report(name)
            assert now.up
            assert before is not None
            assert now.at is not None
            assert now.at > before
            assert service(ports, name).enabled
        assert not ports.providers.claimed(names)
        found = demo.lease_with_status(lease["id"], "ACTIVE", within=WITHIN)
        (reservation,) = found["reservations"]
        assert not reservation["resources_changed"]
        (saved,) = admin.ask("GET", "/power/report").json()["report"]
        assert (saved["wakes"], saved["failed_wakes"], saved["late_starts"]) == (2, 0, 0)
        nano = str(demo.sdk.compute.find_flavor("m1.nano", ignore_missing=False).id)
        assert demo.boots(nano, reservation["id"])
        demo.delete(lease)


def test_a_host_stays_on_to_which_a_server_was_on_its_way(
    cloud: RunningCloud, leasehold: RunningLeasehold, switches: Controllers, ports: Cloud
) -> None:
    """It has passed the scheduler, and its compute is slow: it lands after the host was disabled."""
    admin, alt = Operator(cloud, "admin"), Person(cloud, "alt")
    name = cloud.computes[2]
    with flavor(admin.sdk, {"blazar:preemptible": "true"}) as preemptible, nothing_left(admin), ExitStack() as undo:
        host = admin.enrol(undo, name)
        wait_for(lambda: name in admin.free(), within=WITHIN)
        with paused(cloud, name) as compute:
            late = alt.boot(preemptible)
            undo.callback(wait_for, lambda: not ports.servers.on_host(name), within=WITHIN)
            undo.callback(alt.sdk.compute.delete_server, late)
            wait_for(lambda: has_room(admin, late), within=WITHIN)
            admin.let_sleep(host, name)
            # Nova writes it, and then tells the compute, which does not answer yet.
            wait_for(lambda: service(ports, name).disabled_reason == SLEEPS, within=WITHIN)
            assert not ports.servers.on_host(name)
            compute.close()
        assert alt.outcome(late) == "ACTIVE"
        wait_for(lambda: admin.stage(host) == "on", within=WITHIN)
        assert f"{name} stays on: it has " in leasehold.manager_log()
        assert [each.id for each in ports.servers.on_host(name)] == [late]
        assert service(ports, name).enabled
        assert not ports.providers.claimed({name})
        assert admin.host(host)["health"] == "healthy"
        assert name not in switches.told
        assert cloud.is_alive(name)
