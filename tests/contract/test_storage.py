"""The services of the block storage, and what is on them: the sandbox's on each database, and a real Cinder's."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Protocol

import pytest
from sqlalchemy import update

from leasehold.cloud.ports import Cloud, CloudPermanentError, StorageService
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.tables import volumes
from leasehold.conf.settings import CloudSettings
from leasehold.db.engine import open_engine, writing
from leasehold.model.errors import InUseError
from leasehold.resource_types.capabilities import StillClosingError
from leasehold.resource_types.enrolment import Report
from leasehold.resource_types.storage.driver import StorageDriver
from tests.contract.cinder import CONTROLLER, HOST, SERVICES, Cinder, cinder
from tests.contract.lab import SandboxLab, new_sandbox
from tests.databases import ON_EACH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from leasehold.cloud.ports import Storage

OURS = "ours"
TIMEOUT = 300


class StorageLab(Protocol):
    """A host with two services that keep volumes, and users of these."""

    @property
    def storage(self) -> Storage: ...

    def create_volume(self) -> str: ...

    def service_of(self, volume: str) -> str | None: ...

    def delete_volume(self, volume: str) -> None: ...

    def wait(self, volume: str) -> None: ...

    def move(self, volume: str) -> None: ...


class SandboxStorageLab:
    """The sandbox's."""

    def __init__(self, lab: SandboxLab) -> None:
        self.storage = lab.cloud.storage
        self._engine = lab.engine
        for each in self.storage.list():
            if each.host != HOST:
                self.storage.forget(each.name)

    def create_volume(self) -> str:
        try:
            return str(self.storage.create_volume()[0])
        except CloudPermanentError:
            return str(self.storage.create_volume(waits=True)[0])

    def service_of(self, volume: str) -> str | None:
        with self._engine.connect() as connection:
            row = connection.execute(volumes.select().where(volumes.c.id == int(volume))).one()
        return None if row.service is None else str(row.service)

    def delete_volume(self, volume: str) -> None:
        self.storage.delete_volume(int(volume))

    def wait(self, volume: str) -> None:
        """Nothing: one without a place waits."""

    def move(self, volume: str) -> None:
        with writing(self._engine) as connection:
            connection.execute(update(volumes).where(volumes.c.id == int(volume)).values(moves=True))


REAL = pytest.param("cinder", marks=[pytest.mark.openstack, pytest.mark.timeout(TIMEOUT)])


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cinder]:
    with cinder(tmp_path_factory.mktemp("cinder")) as made:
        yield made


@pytest.fixture(params=[*ON_EACH, REAL])
def block(request: pytest.FixtureRequest, sandbox_databases: Callable[[str], Engine]) -> Iterator[StorageLab]:
    """Yield the block storage under test; each test leaves it empty and enabled."""
    if request.param == "cinder":
        yield request.getfixturevalue("real")
        return
    yield SandboxStorageLab(new_sandbox(sandbox_databases(request.param)))


def beside_compute(storage: Storage, folder: Path) -> Cloud:
    """Return a block storage beside the compute services of a sandbox: none has the name of the host."""
    engine = open_engine(f"sqlite:///{folder / 'sandbox.db'}")
    seed.plant(engine)
    ports = {each.name: getattr(sandbox(engine), each.name) for each in fields(Cloud)}
    return Cloud(**{**ports, "storage": storage})


def services(block: StorageLab, host: str | None = HOST) -> dict[str, StorageService]:
    return {each.name: each for each in block.storage.list(host) if each.keeps_volumes}


def test_the_services_of_a_host_are_up_and_report(block: StorageLab) -> None:
    found = services(block)
    assert set(found) == set(SERVICES)
    assert set(services(block, None)) == set(SERVICES)
    for each in found.values():
        assert (each.host, each.up, each.enabled, each.disabled_reason, each.cluster) == (HOST, True, True, None, None)
        assert each.at is not None
        assert each.at.tzinfo is not None
        assert each.zone
    assert [each.name for each in block.storage.list(SERVICES[0])] == [SERVICES[0]]
    assert not block.storage.list("nothing")
    # No part of a name is one.
    assert not block.storage.list(HOST[:-1])


def test_only_what_we_disabled_is_enabled_by_us(block: StorageLab) -> None:
    first, second = SERVICES
    for _ in range(2):
        block.storage.disable(first, OURS)
    block.storage.disable(second, "theirs")
    block.storage.disable(second, OURS)
    block.storage.disable(first, "theirs")
    assert {name: each.disabled_reason for name, each in services(block).items()} == {first: OURS, second: "theirs"}
    assert not any(each.enabled for each in services(block).values())
    for _ in range(2):
        block.storage.enable(first, "other", OURS)
        block.storage.enable(second, OURS)
    assert [services(block)[each].enabled for each in SERVICES] == [True, False]
    block.storage.enable(second, "theirs")
    assert [services(block)[each].enabled for each in SERVICES] == [True, True]
    block.storage.enable("nothing", OURS)
    with pytest.raises(CloudPermanentError):
        block.storage.disable("nothing", OURS)


def test_what_is_held_is_counted_by_host(block: StorageLab) -> None:
    nothing = {"volumes": 0, "snapshots": 0, "groups": 0}
    assert block.storage.held(HOST) == nothing
    made = [block.create_volume() for _ in range(3)]
    try:
        assert block.storage.held(HOST) == nothing | {"volumes": 3}
        assert block.storage.held("stor-0") == nothing
        assert block.storage.unplaced() == 0
    finally:
        for each in made:
            block.delete_volume(each)
    assert block.storage.held(HOST) == nothing


def test_no_volume_comes_to_a_service_that_is_disabled(block: StorageLab) -> None:
    first, second = SERVICES
    block.storage.disable(first, OURS)
    volume = block.create_volume()
    assert block.service_of(volume) == second
    block.storage.disable(second, OURS)
    lost = block.create_volume()
    try:
        assert block.service_of(lost) is None
        assert block.storage.held(HOST)["volumes"] == 1
        block.wait(lost)
        assert block.storage.unplaced() == 1
        block.move(volume)
        assert block.storage.unplaced() == 2
    finally:
        for each in (lost, volume):
            block.delete_volume(each)
        for each in SERVICES:
            block.storage.enable(each, OURS)
    assert block.storage.unplaced() == 0


def test_a_host_is_closed_and_opened_by_its_driver(block: StorageLab, tmp_path: Path) -> None:
    cloud = beside_compute(block.storage, tmp_path)
    driver, attributes = StorageDriver(), {"storage_host": HOST}
    for each in driver.candidates(cloud, CloudSettings(), ()):
        assert driver.discover(cloud, CloudSettings(), {"name": each.reference}) == each
    found = driver.discover(cloud, CloudSettings(), {"name": HOST})
    assert (found.reference, found.report) == (HOST, Report(up=True, enabled=True))
    volume = block.create_volume()
    assert driver.is_used(cloud, attributes)
    for _ in range(2):
        with pytest.raises(StillClosingError):
            driver.close(cloud, attributes)
        assert driver.is_closed(cloud, attributes)
        assert driver.close(cloud, attributes) == "1 volume"
        driver.reopen(cloud, attributes)
        assert not driver.is_closed(cloud, attributes)
    block.delete_volume(volume)
    with pytest.raises(StillClosingError):
        driver.close(cloud, attributes)
    lost = block.create_volume()
    block.wait(lost)
    with pytest.raises(StillClosingError, match="1 volumes or groups"):
        driver.close(cloud, attributes)
    block.delete_volume(lost)
    assert driver.close(cloud, attributes) is None
    before = driver.report(cloud, attributes)
    assert (before.up, before.at is None) == (True, False)
    driver.reopen(cloud, attributes)
    assert [each.enabled for each in block.storage.list(HOST) if each.keeps_volumes] == [True, True]


@pytest.mark.openstack
@pytest.mark.timeout(TIMEOUT)
def test_a_host_with_another_service_of_cinder_does_not_sleep(real: Cinder, tmp_path: Path) -> None:
    cloud = beside_compute(real.storage, tmp_path)
    with pytest.raises(InUseError, match="has the service cinder-scheduler"):
        StorageDriver().discover(cloud, CloudSettings(), {"name": CONTROLLER})


@pytest.mark.openstack
@pytest.mark.timeout(TIMEOUT)
def test_snapshots_and_groups_are_counted_on_a_real_cinder(real: Cinder) -> None:
    volume = real.create_volume()
    snapshot = real.snapshot(volume)
    assert real.storage.held(HOST) == {"volumes": 1, "snapshots": 1, "groups": 0}
    real.delete_snapshot(snapshot)
    real.delete_volume(volume)
    kind = real.ask("POST", "/group_types", {"group_type": {"name": "any"}})["group_type"]["id"]
    types = [each["id"] for each in real.ask("GET", "/types")["volume_types"]]
    group = real.ask("POST", "/groups", {"group": {"group_type": kind, "volume_types": types}})["group"]["id"]
    try:
        # It has no place, or has got it, at each moment.
        assert real.storage.unplaced() + real.storage.held(HOST)["groups"] >= 1
        real.settled_group(group)
        assert (real.storage.unplaced(), real.storage.held(HOST)["groups"]) == (0, 1)
    finally:
        real.ask("POST", f"/groups/{group}/action", {"delete": {"delete-volumes": True}})
        real.gone_group(group)
    assert real.storage.held(HOST)["groups"] == 0
