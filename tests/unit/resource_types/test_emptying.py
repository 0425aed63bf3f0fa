"""A host that a lease gets is empty, and one that it gives back too, whoever boots a server there in the meantime."""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert

from leasehold.cloud.fenced import fenced
from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, Inventory
from leasehold.cloud.sandbox import tables
from leasehold.cloud.sandbox.boots import BootOrder
from leasehold.cloud.sandbox.faults import Fault
from leasehold.conf.settings import CloudSettings
from leasehold.db.engine import writing
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.driver import Wanted
from tests.boots import begin_boot, claim_boot, land_boot
from tests.factory import TYPES
from tests.unit.resource_types.pool import OURS
from tests.unit.resource_types.scene import FREEPOOL, PROJECT, SERVICE_HOSTS, Scene, holding, job
from tests.unit.resource_types.test_converge import HOST_REQUEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

    from leasehold.resource_types.driver import Convergence

pytestmark = pytest.mark.slow

ACTIVE, ENDED = Wanted.ACTIVE, Wanted.ENDED
HOSTS = TYPES.get("physical:host")
NUMBER, HOST, PROVIDER = 3, "cmp-03", "cmp-03.example"
"""The host with the most free VCPUs of the free pool, where the scheduler sends every preemptible server."""
PREEMPTIBLE = BootOrder("preemptible", "alt", "m1.small", preemptible=True)
OWNERS = BootOrder("the owner's", PROJECT, "m1.small", (OURS,))


@pytest.fixture
def scene(scene_engine: Engine) -> Scene:
    return scene_with_preemptibles(scene_engine)


def scene_with_preemptibles(engine: Engine) -> Scene:
    scene = Scene(engine)
    scene.cloud.servers.allow_preemptibles(True)
    return scene


def host_job(*, number: int = NUMBER, **more: Any) -> Convergence[Any]:
    return job(HOSTS, HOST_REQUEST, holding(number), **more)


def is_claimed(scene: Scene) -> bool:
    return bool(scene.cloud.providers.claimed({PROVIDER}))


def reach(scene: Scene, wanted: Wanted, before_call: Callable[[], None] = lambda: None, **more: Any) -> int:
    """Converge until it succeeds, with `before_call` before each call to the cloud; return the number of attempts."""
    watched = fenced(scene.cloud, before_call)
    for attempt in count(1):
        assert attempt < 10
        try:
            HOSTS.driver.converge(watched, host_job(**more), wanted)
        except CloudTransientError:
            scene.clock.advance(seconds=40)
        else:
            return attempt
    raise AssertionError


def names_on(scene: Scene, host: str = HOST) -> list[str]:
    return [each.name for each in scene.cloud.servers.on_host(host)]


class Late:
    """A boot that has passed the filters, and claims before a given call; it lands at once, or when all is done.

    `in_time` is false if our claim was released again before that call.
    """

    def __init__(self, scene: Scene, order: BootOrder, number: int, *, at_once: bool) -> None:
        self.scene, self.number, self.at_once = scene, number, at_once
        self.boot = begin_boot(scene.cloud.servers, order)
        assert self.boot.server.service_host == HOST
        self.calls, self.in_time, self._was_claimed = 0, False, False

    def __call__(self) -> None:
        self.calls += 1
        if self.calls == self.number:
            claimed = is_claimed(self.scene)
            self.in_time = claimed or not self._was_claimed
            self.boot = claim_boot(self.scene.cloud.servers, self.boot)
            if self.at_once:
                self.land()
        self._was_claimed |= is_claimed(self.scene)

    def land(self) -> None:
        land_boot(self.scene.cloud.servers, self.boot)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("deletion", [0, 30])
def test_no_boot_that_claims_before_the_release_is_on_the_host_of_a_lease(
    scene_engine: Engine, deletion: int, *, at_once: bool
) -> None:
    tried = 0
    for number in count(1):
        scene = scene_with_preemptibles(scene_engine)
        scene.cloud.servers.take_to("delete", deletion)
        late = Late(scene, PREEMPTIBLE, number, at_once=at_once)
        reach(scene, ACTIVE, late)
        if not late.in_time:
            break
        late.land()
        tried += 1
        assert names_on(scene) == []
        assert scene.members(OURS) == {HOST}
        assert not is_claimed(scene)
    assert tried >= 4


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("deletion", [0, 30])
def test_no_boot_of_the_owner_that_claims_before_the_release_is_on_a_host_given_back(
    scene_engine: Engine, deletion: int, *, at_once: bool
) -> None:
    tried = 0
    for number in count(1):
        scene = scene_with_preemptibles(scene_engine)
        scene.cloud.servers.take_to("delete", deletion)
        reach(scene, ACTIVE)
        late = Late(scene, OWNERS, number, at_once=at_once)
        reach(scene, ENDED, late)
        if not late.in_time:
            break
        late.land()
        tried += 1
        assert names_on(scene) == []
        assert scene.members(FREEPOOL) == set(SERVICE_HOSTS.values())
        assert not is_claimed(scene)
    assert tried >= 4


def test_users_who_keep_booting_preemptible_servers_delay_a_start_by_an_attempt_or_two(scene: Scene) -> None:
    """They get only what the servers that are deleted leave between two attempts."""
    scene.cloud.servers.take_to("delete", 30)

    def boot() -> None:
        scene.cloud.servers.boot("preemptible", "alt", "m1.small", preemptible=True)

    boot()
    assert reach(scene, ACTIVE, boot) <= 3
    assert names_on(scene) == []


def test_a_boot_on_its_way_is_awaited_and_deleted_only_if_it_is_preemptible(scene: Scene) -> None:
    """A server of somebody else may be a late boot, which the next attempt finds on the host (decision 0022)."""
    scene.cloud.aggregates.remove_host(FREEPOOL, HOST)
    boot = begin_boot(scene.cloud.servers, BootOrder("stranger", "alt", "m1.xlarge"))
    scene.cloud.aggregates.add_host(FREEPOOL, HOST)
    boot = replace(boot, server=replace(boot.server, service_host=HOST), providers=on(scene, boot.providers))
    claim_boot(scene.cloud.servers, boot)
    for _ in range(2):
        with pytest.raises(CloudTransientError, match="on their way"):
            HOSTS.driver.converge(scene.cloud, host_job(), ACTIVE)
        assert is_claimed(scene)
    assert scene.members(OURS) == set()
    land_boot(scene.cloud.servers, boot)
    with pytest.raises(CloudTransientError, match="not this lease's"):
        HOSTS.driver.converge(scene.cloud, host_job(), ACTIVE)
    scene.cloud.servers.delete(boot.server.id)
    assert reach(scene, ACTIVE) == 1
    assert not is_claimed(scene)


def on(scene: Scene, providers: Any) -> dict[str, int]:
    """Return the same classes from the provider of the host."""
    number = begin_boot(scene.cloud.servers, PREEMPTIBLE).providers["VCPU"]
    return dict.fromkeys(providers, number)


def test_what_is_left_over_at_placement_does_not_block_a_host(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """As after an evacuation: the server is elsewhere, and still has an allocation here."""
    scene.put_server("evacuated", 2)
    [server] = scene.cloud.servers.on_host("cmp-02")
    number = begin_boot(scene.cloud.servers, PREEMPTIBLE).providers["VCPU"]
    row = {"server_id": server.id, "resource_class": "VCPU", "provider_id": number, "amount": 2}
    with writing(scene.engine) as connection:
        connection.execute(insert(tables.usages), row)
    with caplog.at_level(logging.WARNING):
        assert reach(scene, ACTIVE) == 1
    assert server.id in caplog.text
    assert scene.members(OURS) == {HOST}
    assert reach(scene, ENDED) == 1
    assert names_on(scene, "cmp-02") == ["evacuated"]


def test_a_refused_start_leaves_no_claim(scene: Scene) -> None:
    scene.cloud.faults.set(Fault("aggregates.add_host", error="before", permanent=True))
    with pytest.raises(CloudPermanentError):
        HOSTS.driver.converge(scene.cloud, host_job(), ACTIVE)
    assert not is_claimed(scene)


def test_the_end_of_a_lease_that_never_started_releases_its_claims(scene: Scene) -> None:
    scene.cloud.faults.set(Fault("aggregates.add_host", error="before"))
    with pytest.raises(CloudTransientError):
        HOSTS.driver.converge(scene.cloud, host_job(), ACTIVE)
    assert is_claimed(scene)
    scene.cloud.faults.clear()
    assert reach(scene, ENDED) == 1
    assert not is_claimed(scene)


def test_hosts_that_placement_does_not_know_start_and_end(scene: Scene) -> None:
    for name in scene.cloud.providers.inventories(PROVIDER):
        scene.cloud.providers.remove_inventory(PROVIDER, name)
    scene.cloud.providers.delete(f"blazar_{PROVIDER}")
    scene.cloud.providers.delete(PROVIDER)
    assert reach(scene, ACTIVE) == 1
    assert reach(scene, ENDED) == 1


def test_a_new_inventory_is_claimed_by_the_next_attempt(scene: Scene) -> None:
    scene.cloud.providers.claim_rest(PROVIDER)
    vcpus = scene.cloud.providers.inventories(PROVIDER)["VCPU"]
    scene.cloud.providers.set_inventory(PROVIDER, "VCPU", Inventory(vcpus.total * 2))
    scene.cloud.providers.claim_rest(PROVIDER)
    assert scene.cloud.providers.usages(PROVIDER)["VCPU"] == vcpus.total * 2


def test_a_host_that_joins_a_running_lease_may_have_servers_of_its_project(scene: Scene) -> None:
    """The rule is that of leftover servers: only those of other projects are in the way."""
    running = host_job()
    running = replace(running, reservation=replace(running.reservation, status=ReservationStatus.ACTIVE))
    scene.cloud.servers.boot("preemptible", PROJECT, "m1.small", preemptible=True)
    HOSTS.driver.converge(scene.cloud, running, ACTIVE)
    assert names_on(scene) == []
    assert scene.members(OURS) == {HOST}


def test_without_a_claim_at_the_start_there_are_no_calls_for_it(scene: Scene) -> None:
    scene.cloud.faults.set(Fault("providers.claim_rest", error="before"))
    scene.cloud.faults.set(Fault("providers.release_claims", error="before"))
    scene.cloud.servers.boot("preemptible", "alt", "m1.small", preemptible=True)
    assert reach(scene, ACTIVE, settings=CloudSettings(expect_preemptibles=False)) == 1
    assert (names_on(scene), scene.members(OURS)) == ([], {HOST})
