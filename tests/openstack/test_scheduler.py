"""The filter in the cloud's own scheduler: each row of its table, with real aggregates, flavors, hints, projects.

The five computes stand for five situations. A fixture boots all servers at once; each test checks one of them.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openstack.connection import Connection

    from tests.openstack.cloud import RunningCloud

FREE, OURS, THEIRS, SLOTS, ORDINARY = "compute1", "compute2", "compute3", "compute4", "compute5"
"""A free host, one leased by demo, one leased by alt and open to admin, one with slots for demo, one not enrolled."""

FREEPOOL = "freepool"
GROUP = "blazar:physical:host"
# The first microversion in which an administrator can name a host that Nova still filters.
NAMED_HOST = "2.74"
DONE = ("ACTIVE", "ERROR")
WITHIN = 90


@dataclass(frozen=True)
class Case:
    """A boot request and its result. The project's user sends it, or with a `host` an administrator in the project."""

    row: int
    what: str
    passes: bool
    project: str = "demo"
    host: str | None = None
    hint: tuple[str, ...] = ()
    flavor: str = "m1.nano"

    def __str__(self) -> str:
        return f"{self.row}: {self.what}"


CASES = (
    Case(1, "opened to the project", True, project="admin", host=THEIRS, hint=(THEIRS,)),
    Case(2, "the project's own", True, host=OURS, hint=(OURS,)),
    Case(2, "the project's own, found by the scheduler", True, hint=(OURS,)),
    Case(2, "one of two", True, hint=(THEIRS, OURS)),
    Case(3, "another project's", False, host=THEIRS, hint=(THEIRS,)),
    Case(3, "another project's, on whatever host", False, project="alt", hint=(OURS,)),
    Case(3, "the free pool has no owner", False, host=FREE, hint=(FREE,)),
    Case(4, "a free host", False, host=FREE, hint=(OURS,)),
    Case(4, "a host of another reservation", False, host=THEIRS, hint=(OURS,)),
    Case(4, "a host that is not enrolled", False, host=ORDINARY, hint=(OURS,)),
    Case(5, "a host of the flavor's reservation", True, host=SLOTS, flavor=SLOTS),
    Case(5, "found by the scheduler", True, flavor=SLOTS),
    Case(5, "with its own hint", True, flavor=SLOTS, hint=(SLOTS,)),
    Case(5, "a free host", False, host=FREE, flavor=SLOTS),
    Case(5, "a host that is not enrolled", False, host=ORDINARY, flavor=SLOTS),
    Case(5, "a leased host", False, host=OURS, flavor=SLOTS),
    Case(5, "another project", False, project="alt", host=SLOTS, flavor=SLOTS),
    Case(8, "a free host without a hint", False, host=FREE),
    Case(8, "the project's own without a hint", False, host=OURS),
    Case(8, "a host with room for others", False, host=SLOTS),
    Case(8, "preemptible while that is off", False, host=FREE, flavor="preemptible"),
    Case(9, "a host that is not enrolled", True, host=ORDINARY),
    Case(9, "found by the scheduler", True),
)
PREEMPTIBLE_CASES = (
    Case(6, "a free host", True, host=FREE, flavor="preemptible"),
    Case(7, "a leased host", False, host=OURS, flavor="preemptible"),
    Case(7, "a host that is not enrolled", False, host=ORDINARY, flavor="preemptible"),
    Case(8, "an ordinary server stays out", False, host=FREE),
)


@dataclass(frozen=True)
class Stage:
    """The situation that was set up: the ids behind the names that the cases use."""

    cloud: RunningCloud
    reservations: dict[str, str]
    flavors: dict[str, str]

    def boot(self, case: Case) -> str:
        """Boot the case's server and return its id."""
        server: dict[str, Any] = {
            "name": f"test-scheduler-{case.row}",
            "imageRef": self.admin().image.find_image("cirros", ignore_missing=False).id,
            "flavorRef": self.flavors[case.flavor],
            "networks": "none",
        }
        if case.host is not None:
            server["host"] = case.host
        body: dict[str, Any] = {"server": server}
        hints = [self.reservations[name] for name in case.hint]
        if hints:
            body["OS-SCH-HNT:scheduler_hints"] = {"reservation": hints[0] if len(hints) == 1 else hints}
        who = self.cloud.connection("admin" if case.host else case.project, case.project)
        answer = who.compute.post("/servers", json=body, microversion=NAMED_HOST)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["server"]["id"])

    def admin(self) -> Connection:
        return self.cloud.connection()

    def check(self, case: Case, server_id: str) -> None:
        """Check the result of the case's server."""
        server = self.server(server_id)
        if case.passes:
            assert server.status == "ACTIVE", server.fault
            assert server.compute_host == (case.host or self.only_host(case))
            return
        assert server.status == "ERROR"
        assert "No valid host was found" in server.fault["message"]
        assert self.emptied_by(server_id) == "LeaseholdFilter"

    def server(self, server_id: str) -> Any:
        """Return the server once it is ACTIVE or ERROR."""
        compute = self.admin().compute
        wait_for(lambda: compute.get_server(server_id).status in DONE, within=WITHIN)
        return compute.get_server(server_id)

    def only_host(self, case: Case) -> str:
        if case.flavor == SLOTS:
            return SLOTS
        return OURS if case.hint else ORDINARY

    def emptied_by(self, server_id: str) -> str:
        """Return the name of the filter that removed the last hosts, from the scheduler's log."""
        for line in self.cloud.log("nova-scheduler").read_text(errors="replace").splitlines():
            if "Filtering removed all hosts" in line and server_id in line:
                return line.rsplit("'", 2)[-2].split(":")[0]
        return "none: Placement offered no host"


def test_every_row_has_a_case() -> None:
    assert {case.row for case in (*CASES, *PREEMPTIBLE_CASES)} == set(range(1, 10))


@pytest.fixture(scope="module")
def stage(cloud: RunningCloud) -> Iterator[Stage]:
    """Yield five hosts in five situations; restores them at the end."""
    admin = cloud.connection()
    projects = {name: project_id(cloud, name) for name in ("admin", "demo", "alt")}
    reservations = {OURS: str(uuid4()), THEIRS: str(uuid4()), SLOTS: str(uuid4()), FREE: FREEPOOL}
    opened = {"blazar:owner": projects["alt"], projects["admin"]: "blazar:project"}
    with (
        members(admin, FREEPOOL, {}, FREE, SLOTS),
        members(admin, reservations[OURS], zoned(reservations[OURS], {"blazar:owner": projects["demo"]}), OURS),
        members(admin, reservations[THEIRS], zoned(reservations[THEIRS], opened), THEIRS),
        members(admin, reservations[SLOTS], slots_metadata(reservations[SLOTS], projects["demo"]), SLOTS),
        flavor(admin, {"aggregate_instance_extra_specs:reservation": reservations[SLOTS]}) as slots,
        flavor(admin, {"blazar:preemptible": "true"}) as preemptible,
    ):
        nano = str(admin.compute.find_flavor("m1.nano", ignore_missing=False).id)
        yield Stage(cloud, reservations, {"m1.nano": nano, SLOTS: slots, "preemptible": preemptible})


def project_id(cloud: RunningCloud, name: str) -> str:
    return str(cloud.connection(name).current_project_id)


def zoned(reservation: str, metadata: dict[str, str]) -> dict[str, str]:
    return {"availability_zone": f"blazar_{reservation}", **metadata}


def slots_metadata(reservation: str, project_id: str) -> dict[str, str]:
    return {"reservation": reservation, "filter_tenant_id": project_id, "blazar:owner": project_id}


@contextmanager
def members(admin: Connection, name: str, metadata: dict[str, str], *hosts: str) -> Iterator[None]:
    """Put these hosts into this aggregate for the block; creates and removes the aggregate if it does not exist."""
    compute = admin.compute
    found = compute.find_aggregate(name)
    aggregate = found or compute.create_aggregate(name=name)
    with ExitStack() as undo:
        if found is None:
            undo.callback(compute.delete_aggregate, aggregate)
        if metadata:
            compute.set_aggregate_metadata(aggregate, metadata)
        for host in hosts:
            compute.add_host_to_aggregate(aggregate, host)
            undo.callback(compute.remove_host_from_aggregate, aggregate, host)
        yield


@contextmanager
def flavor(admin: Connection, extra_specs: dict[str, str]) -> Iterator[str]:
    """Create a small public flavor with these extra specs, so that only the scheduler can refuse it."""
    made = admin.compute.create_flavor(name=f"test-scheduler-{uuid4()}", ram=128, disk=1, vcpus=1)
    admin.compute.create_flavor_extra_specs(made, extra_specs)
    try:
        yield str(made.id)
    finally:
        admin.compute.delete_flavor(made)


@contextmanager
def booted(stage: Stage, cases: tuple[Case, ...]) -> Iterator[dict[Case, str]]:
    """Boot the servers of all cases at once, and remove them at the end."""
    servers: dict[Case, str] = {}
    try:
        for case in cases:
            servers[case] = stage.boot(case)
        yield servers
    finally:
        remove(stage.admin(), set(servers.values()))


def remove(admin: Connection, servers: set[str]) -> None:
    """Remove these servers. Nova loses a request while a part of it starts, so the request is repeated."""

    def are_gone() -> bool:
        left = [server for server in admin.compute.servers(all_projects=True) if server.id in servers]
        for server in left:
            if server.status in DONE and server.task_state is None:
                admin.compute.delete_server(server)
        return not left

    wait_for(are_gone, within=WITHIN)


@pytest.fixture(scope="module")
def servers(stage: Stage) -> Iterator[dict[Case, str]]:
    with booted(stage, CASES) as servers:
        yield servers


@pytest.mark.parametrize("case", CASES, ids=str)
def test_row(stage: Stage, servers: dict[Case, str], case: Case) -> None:
    stage.check(case, servers[case])


@pytest.fixture
def preemptibles_allowed(cloud: RunningCloud) -> Iterator[None]:
    with allowing_preemptibles(cloud):
        yield


@contextmanager
def allowing_preemptibles(cloud: RunningCloud) -> Iterator[None]:
    """Run the scheduler with `allow_preemptibles`, and restore it at the end."""
    file = cloud.site.home.etc / "nova" / "nova.conf"
    before = file.read_text()
    section = f"[{GROUP}]\n"
    assert section in before
    try:
        file.write_text(before.replace(section, f"{section}allow_preemptibles = true\n"))
        restart_scheduler(cloud)
        yield
    finally:
        file.write_text(before)
        restart_scheduler(cloud)


def restart_scheduler(cloud: RunningCloud) -> None:
    cloud.stop_service("nova-scheduler")
    cloud.start_service("nova-scheduler")


def test_rows_of_preemptible_servers(stage: Stage, preemptibles_allowed: None) -> None:
    with booted(stage, PREEMPTIBLE_CASES) as servers:
        for case, server in servers.items():
            stage.check(case, server)


def test_the_log_names_the_project_that_may_not(stage: Stage, servers: dict[Case, str]) -> None:
    demo = project_id(stage.cloud, "demo")
    line = f"Unauthorised use of a reservation: project {demo} may not use reservation {stage.reservations[THEIRS]}"
    assert line in stage.cloud.log("nova-scheduler").read_text(errors="replace")
