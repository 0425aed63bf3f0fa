"""Features of the sandbox only: faults on request, slow operations, persistence over a restart, and seed data."""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Barrier
from typing import TYPE_CHECKING, get_type_hints

import pytest
from sqlalchemy import text

from leasehold.cloud.ports import Cloud, CloudPermanentError, CloudTransientError, Flavor, Inventory
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.boots import BootOrder
from leasehold.cloud.sandbox.cloud import VERBS, sandbox
from leasehold.cloud.sandbox.faults import Fault, Faults, verbs_of
from leasehold.cloud.sandbox.machines import SandboxMachines
from leasehold.cmd.sandbox import add_commands
from tests.at_once import first_commit_held
from tests.boots import begin_boot, claim_boot, land_boot
from tests.contract.lab import SandboxLab, new_sandbox, unique
from tests.databases import opened
from tests.db.examples import statements
from tests.factory import Clock
from tests.owners import resume, unshelve
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Engine

    from leasehold.cloud.sandbox.cloud import SandboxCloud


@pytest.fixture
def cloud(sandbox_lab: SandboxLab) -> SandboxCloud:
    return sandbox_lab.cloud


ROOMIEST = "cmp-09"
"""The host of the first server: the one with the most free VCPUs. The next one is `cmp-08`."""
THREADS, ROUNDS = 6, 10


def succeeds(call: Callable[[], object]) -> bool:
    try:
        call()
    except CloudTransientError:
        return False
    return True


# ---------------------------------------------------------------- faults


def test_a_fault_before_leaves_no_trace_and_after_leaves_the_effect(cloud: SandboxCloud) -> None:
    cloud.faults.set(Fault("aggregates.ensure", error="before", remaining=1))
    with pytest.raises(CloudTransientError, match="before"):
        cloud.aggregates.ensure("r-1", None, {})
    assert cloud.aggregates.get("r-1") is None
    cloud.faults.set(Fault("aggregates.ensure", error="after", permanent=True, remaining=1))
    with pytest.raises(CloudPermanentError, match="after"):
        cloud.aggregates.ensure("r-1", None, {})
    assert cloud.aggregates.get("r-1") is not None
    cloud.aggregates.ensure("r-1", None, {})


def test_a_pattern_hits_all_that_match_until_cleared(cloud: SandboxCloud) -> None:
    cloud.faults.set(Fault("flavors.*", error="before"))
    for _ in range(3):
        with pytest.raises(CloudTransientError):
            cloud.flavors.list()
    cloud.aggregates.list()
    cloud.faults.clear()
    assert cloud.flavors.list()


def test_a_count_is_shared_by_everybody_who_calls(sandbox_lab: SandboxLab) -> None:
    sandbox_lab.cloud.faults.set(Fault("*", error="before", remaining=5))
    clouds = [sandbox(sandbox_lab.engine) for _ in range(3)]

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda n: succeeds(clouds[n % 3].hypervisors.list), range(30)))
    assert answers.count(False) == 5
    assert [fault.remaining for fault in clouds[0].faults.all()] == [0]


def test_no_call_escapes_a_fault_that_another_one_reads(sandbox_lab: SandboxLab) -> None:
    sandbox_lab.cloud.faults.set(Fault("*", error="before"))
    for _ in range(ROUNDS):
        cloud, together = sandbox(sandbox_lab.engine), Barrier(THREADS)

        def call(cloud: SandboxCloud = cloud, together: Barrier = together) -> bool:
            together.wait()
            return succeeds(cloud.hypervisors.list)

        with ThreadPoolExecutor(THREADS) as threads:
            called = [threads.submit(call) for _ in range(THREADS)]
            assert [each.result() for each in called] == [False] * THREADS


def test_faults_are_noticed_within_a_second_and_slow_calls_down(sandbox_lab: SandboxLab) -> None:
    seconds, pauses = [0.0], list[float]()
    faults = Faults(sandbox_lab.engine, seconds=lambda: seconds[0], sleep=pauses.append)
    assert faults.take("aggregates.get") is None
    sandbox_lab.cloud.faults.set(Fault("aggregates.*", latency_ms=1500))
    assert faults.take("aggregates.get") is None
    seconds[0] = 1.0
    fault = faults.take("aggregates.get")
    assert fault is not None
    faults.suffer(fault, "aggregates.get", "before")
    faults.suffer(fault, "aggregates.get", "after")
    assert pauses == [1.5]


def test_without_faults_a_verb_asks_for_nothing_but_its_own(cloud: SandboxCloud, sandbox_lab: SandboxLab) -> None:
    cloud.aggregates.get("freepool")
    with statements(sandbox_lab.engine) as seen:
        cloud.aggregates.get("freepool")
    assert len(seen) == 1


def test_every_verb_of_the_ports_can_be_made_to_fail(cloud: SandboxCloud) -> None:
    """Nothing else can be made to fail: booting a server, for example, is an action of the test itself."""
    ports = {name: port for name, port in get_type_hints(Cloud).items() if getattr(cloud, name) is not None}
    verbs = [f"{name}.{verb}" for name, port in ports.items() for verb in vars(port) if not verb.startswith("_")]
    assert "networks.create_floating_ip" in verbs
    assert sorted(VERBS) == sorted([*verbs, *verbs_of(SandboxMachines)])


def test_a_database_in_trouble_is_a_cloud_in_trouble(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/no-such-folder/sandbox.db"
    with opened(url) as engine, pytest.raises(CloudTransientError, match=r"hypervisors\.list"):
        sandbox(engine).hypervisors.list()


# ---------------------------------------------------------------- time


def test_a_server_is_deleting_for_a_while_and_then_gone(sandbox_lab: SandboxLab) -> None:
    clock = Clock()
    cloud = sandbox(sandbox_lab.engine, clock=clock.now)
    cloud.servers.take_to("delete", 30)
    server = cloud.servers.boot("a", "demo", "m1.small")
    assert server.service_host is not None
    provider = next(h for h in cloud.hypervisors.list() if h.service_host == server.service_host).hypervisor_hostname
    cloud.servers.delete(server.id)
    clock.advance(seconds=20)
    cloud.servers.delete(server.id)
    assert [s.status for s in cloud.servers.on_host(server.service_host)] == ["DELETING"]
    assert cloud.providers.usages(provider)["VCPU"] == 1
    clock.advance(seconds=10)
    assert not cloud.servers.on_host(server.service_host)
    assert not cloud.servers.find(server.id)
    assert cloud.providers.usages(provider) == {}
    cloud.servers.take_to("delete", 0)
    another = cloud.servers.boot("b", "demo", "m1.small")
    assert cloud.servers.all() == [another]


def test_a_server_migrates_for_a_while_and_uses_both_hosts(sandbox_lab: SandboxLab) -> None:
    clock = Clock()
    cloud = sandbox(sandbox_lab.engine, clock=clock.now)
    cloud.servers.take_to("migrate", 30)
    server = cloud.servers.boot("a", "demo", "m1.small")
    assert server.service_host == ROOMIEST
    cloud.servers.migrate(server.id)
    with pytest.raises(CloudTransientError, match="on its way"):
        cloud.servers.migrate(server.id)
    assert cloud.servers.all() == [replace(server, status="MIGRATING")]
    assert cloud.servers.on_host(ROOMIEST) == cloud.servers.on_hosts({ROOMIEST, "cmp-08"}) == cloud.servers.all()
    assert not cloud.servers.on_host("cmp-08")
    used = {name: cloud.providers.usages(name).get("VCPU") for name in (ROOMIEST, "cmp-08.example")}
    assert used == {ROOMIEST: 1, "cmp-08.example": 1}
    assert cloud.providers.claim_rest(ROOMIEST) == cloud.providers.claim_rest("cmp-08.example") == {server.id}
    clock.advance(seconds=30)
    assert not cloud.servers.on_host(ROOMIEST)
    assert cloud.servers.on_host("cmp-08") == [replace(server, service_host="cmp-08")]
    assert cloud.providers.claim_rest(ROOMIEST) == frozenset()
    cloud.servers.delete(server.id)
    assert not cloud.servers.all()


def test_a_server_that_is_deleted_while_it_migrates_leaves_nothing(cloud: SandboxCloud) -> None:
    cloud.servers.take_to("migrate", 30)
    server = cloud.servers.boot("a", "demo", "m1.small")
    cloud.servers.migrate(server.id)
    cloud.servers.delete(server.id)
    assert not cloud.servers.all()
    assert cloud.providers.claim_rest(ROOMIEST) == cloud.providers.claim_rest("cmp-08.example") == frozenset()


def test_only_active_servers_migrate_and_only_from_hosts_that_are_up(cloud: SandboxCloud) -> None:
    cloud.servers.take_to("delete", 30)
    server = cloud.servers.boot("a", "demo", "m1.small")
    cloud.hypervisors.fail(str(server.service_host))
    with pytest.raises(CloudPermanentError, match="down"):
        cloud.servers.migrate(server.id)
    cloud.hypervisors.recover(str(server.service_host))
    cloud.servers.delete(server.id)
    with pytest.raises(CloudTransientError, match="DELETING"):
        cloud.servers.migrate(server.id)


def test_a_server_is_shelved_for_a_while_and_keeps_its_place_until_it_is_offloaded(sandbox_lab: SandboxLab) -> None:
    clock = Clock()
    cloud = sandbox(sandbox_lab.engine, clock=clock.now)
    cloud.servers.take_to("shelve", 30)
    server = cloud.servers.boot("a", "demo", "m1.small")
    cloud.servers.shelve(server.id)
    for verb in (cloud.servers.shelve, cloud.servers.offload, cloud.servers.migrate):
        with pytest.raises(CloudTransientError):
            verb(server.id)
    assert cloud.servers.all() == [replace(server, status="SHELVING")]
    clock.advance(seconds=30)
    assert cloud.servers.on_host(ROOMIEST) == [replace(server, status="SHELVED")]
    assert cloud.providers.claim_rest(ROOMIEST) == {server.id}
    cloud.servers.offload(server.id)
    assert cloud.servers.all() == [replace(server, status="SHELVED_OFFLOADED", service_host=None)]
    assert not cloud.servers.on_host(ROOMIEST)
    assert cloud.providers.claim_rest(ROOMIEST) == frozenset()
    cloud.providers.release_claims(ROOMIEST)
    assert unshelve(cloud.servers, server.id) == server
    cloud.servers.shelve(server.id)
    cloud.servers.delete(server.id)
    assert not cloud.servers.all()
    assert not cloud.images.of_server(server.id)


def test_a_server_is_suspended_for_a_while(sandbox_lab: SandboxLab) -> None:
    clock = Clock()
    cloud = sandbox(sandbox_lab.engine, clock=clock.now)
    cloud.servers.take_to("suspend", 30)
    server = cloud.servers.boot("a", "demo", "m1.small")
    cloud.servers.suspend(server.id)
    for verb in (cloud.servers.suspend, cloud.servers.migrate, cloud.servers.shelve, partial(resume, cloud.servers)):
        with pytest.raises(CloudTransientError):
            verb(server.id)
    assert cloud.servers.on_host(ROOMIEST) == [replace(server, status="SUSPENDING")]
    clock.advance(seconds=30)
    assert cloud.servers.on_host(ROOMIEST) == [replace(server, status="SUSPENDED")]
    assert resume(cloud.servers, server.id) == server
    cloud.servers.suspend(server.id)
    cloud.servers.delete(server.id)
    assert not cloud.servers.all()


def test_only_an_active_server_is_suspended(cloud: SandboxCloud) -> None:
    server = cloud.servers.boot("a", "demo", "m1.small")
    cloud.servers.take_to("migrate", 30)
    cloud.servers.migrate(server.id)
    with pytest.raises(CloudTransientError, match="on its way"):
        cloud.servers.suspend(server.id)


def test_only_an_active_server_is_shelved(cloud: SandboxCloud) -> None:
    server = cloud.servers.boot("a", "demo", "m1.small")
    cloud.servers.take_to("migrate", 30)
    cloud.servers.migrate(server.id)
    with pytest.raises(CloudTransientError, match="on its way"):
        cloud.servers.shelve(server.id)
    with pytest.raises(CloudTransientError, match="not offloaded"):
        unshelve(cloud.servers, server.id)


# ---------------------------------------------------------------- the steps of a boot


def test_a_boot_in_steps_is_a_boot(cloud: SandboxCloud) -> None:
    boot = begin_boot(cloud.servers, BootOrder("a", "demo", "m1.small"))
    assert not cloud.servers.all()
    assert cloud.providers.claim_rest("cmp-07") == frozenset()
    boot = claim_boot(cloud.servers, boot)
    assert [(each.service_host, each.status) for each in cloud.servers.all()] == [(None, "BUILD")]
    assert cloud.providers.claim_rest(ROOMIEST) == {boot.server.id}
    land_boot(cloud.servers, boot)
    assert cloud.servers.all() == cloud.servers.on_host(ROOMIEST) == [boot.server]


def test_a_boot_that_is_deleted_on_its_way_never_lands(cloud: SandboxCloud) -> None:
    boot = claim_boot(cloud.servers, begin_boot(cloud.servers, BootOrder("a", "demo", "m1.small")))
    cloud.servers.delete(boot.server.id)
    land_boot(cloud.servers, boot)
    assert not cloud.servers.all()


def test_a_boot_that_claims_after_us_is_refused(cloud: SandboxCloud) -> None:
    boot = begin_boot(cloud.servers, BootOrder("a", "demo", "m1.small"))
    cloud.providers.claim_rest(ROOMIEST)
    boot = claim_boot(cloud.servers, boot)
    land_boot(cloud.servers, boot)
    assert [(each.service_host, each.status) for each in cloud.servers.all()] == [(None, "ERROR")]
    assert "no room" in str(cloud.servers.fault(boot.server.id))


def test_a_boot_that_has_passed_the_scheduler_gets_room_on_a_host_that_is_disabled_since(cloud: SandboxCloud) -> None:
    """As at Placement: a disabled service keeps the scheduler away, and nobody else."""
    boot = begin_boot(cloud.servers, BootOrder("a", "demo", "m1.small"))
    cloud.hypervisors.set_health(ROOMIEST, enabled=False)
    land_boot(cloud.servers, claim_boot(cloud.servers, boot))
    assert [each.id for each in cloud.servers.on_host(ROOMIEST)] == [boot.server.id]


# ---------------------------------------------------------------- scheduling


def test_one_of_many_gets_the_last_place(sandbox_lab: SandboxLab) -> None:
    cloud = sandbox_lab.cloud
    only_here(cloud, "cmp-01", 3)
    cloud.flavors.ensure(Flavor("f", "f", 1, 512, 1, public=True, extra_specs={f"resources:{seed.GPU}": "3"}))
    with ThreadPoolExecutor(8) as pool:
        servers = list(pool.map(lambda n: sandbox(sandbox_lab.engine).servers.boot(f"s{n}", "demo", "f"), range(8)))
    assert sorted(server.status for server in servers) == ["ACTIVE"] + ["ERROR"] * 7
    assert cloud.providers.usages("cmp-01")[seed.GPU] == 3


def test_claims_and_boots_at_once(sandbox_lab: SandboxLab) -> None:
    """Of one provider no more is used than there is, and who claims last is told of every server that got in before."""
    cloud, capacity = sandbox_lab.cloud, 12
    only_here(cloud, "cmp-01", capacity)
    cloud.flavors.ensure(Flavor("f", "f", 1, 512, 1, public=True, extra_specs={f"resources:{seed.GPU}": "1"}))

    def boot_or_claim(number: int) -> str | None:
        """Boot a server, or claim what is left, which another claim may not allow at the same moment."""
        own = sandbox(sandbox_lab.engine)
        if number % 2:
            return own.servers.boot(f"s{number}", "demo", "f").status
        succeeds(lambda: own.providers.claim_rest("cmp-01"))
        return None

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(boot_or_claim, range(24)))
    named = cloud.providers.claim_rest("cmp-01")
    assert cloud.providers.usages("cmp-01")[seed.GPU] == capacity
    assert len(named) == statuses.count("ACTIVE") < capacity
    cloud.providers.release_claims("cmp-01")
    assert cloud.providers.usages("cmp-01").get(seed.GPU, 0) == len(named)


def only_here(cloud: SandboxCloud, provider: str, gpus: int) -> None:
    """Let no other provider have GPUs."""
    for each in ("gpu-01.example", "gpu-02.example", "gpu-03"):
        cloud.providers.remove_inventory(each, seed.GPU)
    cloud.providers.set_inventory(provider, seed.GPU, Inventory(gpus))


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_claims_of_two_providers_do_not_wait_for_each_other(
    sandbox_databases: Callable[[str], Engine], kind: str
) -> None:
    """A boot waits for both."""
    lab = new_sandbox(sandbox_databases(kind))
    lab.cloud.providers.claim_rest("cmp-03")  # The first one of all makes the lock.
    with first_commit_held(lab.engine) as (reached, opened), ThreadPoolExecutor(2) as threads:
        held = threads.submit(lab.cloud.providers.claim_rest, "cmp-01")
        assert reached.wait(60)
        lab.cloud.providers.claim_rest("cmp-02")
        booting = threads.submit(lab.cloud.servers.boot, "s", "demo", "m1.small")
        wait_for(lambda: waits_for_a_lock(lab.engine))
        assert not held.done()
        assert not booting.done()
        opened.set()
        held.result()
        assert booting.result().service_host not in (None, "cmp-01", "cmp-02", "cmp-03")


def waits_for_a_lock(engine: Engine) -> bool:
    """Say whether a transaction of the server waits for a row."""
    waiting = {
        "mysql": "information_schema.innodb_lock_waits",
        "postgresql": "pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    }
    with engine.connect() as connection:
        question = text(f"SELECT COUNT(*) FROM {waiting[engine.dialect.name]}")  # noqa: S608 - one of the two above
        return bool(connection.execute(question).scalar_one())


def test_two_who_create_the_same_thing_at_once(sandbox_lab: SandboxLab) -> None:
    clouds = [sandbox(sandbox_lab.engine) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: succeeds(lambda: clouds[n % 8].aggregates.ensure("r-1", None, {})), range(16)))
    assert [a.name for a in sandbox_lab.cloud.aggregates.list()].count("r-1") == 1


def test_two_zones_that_want_one_host_at_once(sandbox_lab: SandboxLab) -> None:
    names = ("r-1", "r-2", "r-3", "r-4")
    for name in names:
        sandbox_lab.cloud.aggregates.ensure(name, f"blazar_{name}", {})
    clouds = {name: sandbox(sandbox_lab.engine) for name in names}
    with ThreadPoolExecutor(4) as pool:
        added = list(pool.map(lambda name: succeeds(lambda: clouds[name].aggregates.add_host(name, "cmp-01")), names))
    assert added.count(True) == 1
    assert sum("cmp-01" in aggregate.hosts for aggregate in sandbox_lab.cloud.aggregates.list()) == 1


def test_why_there_is_no_host(cloud: SandboxCloud) -> None:
    cloud.hypervisors.fail("cmp-01")
    cloud.hypervisors.set_health("2", enabled=False)
    cloud.flavors.ensure(Flavor("huge", "huge", 1000, 512, 1, public=True))
    why = cloud.servers.fault(cloud.servers.boot("a", "demo", "huge").id)
    assert why is not None
    assert "10 of 12 hosts are up and enabled" in why
    assert "0 left after capacity (10: not enough VCPU)" in why


def test_traits_and_custom_classes(cloud: SandboxCloud) -> None:
    server = cloud.servers.boot("a", "demo", "g1.large")
    assert server.service_host == "gpu-02"
    old = Flavor("old", "old", 1, 512, 1, public=True, extra_specs={f"trait:{seed.AVX2}": "forbidden"})
    cloud.flavors.ensure(old)
    assert cloud.servers.boot("b", "demo", "old").service_host in {"cmp-06", "cmp-07"}
    new = replace(old, id="new", name="new", extra_specs={"trait:CUSTOM_NOBODY": "required"})
    cloud.flavors.ensure(new)
    assert "CUSTOM_NOBODY" in str(cloud.servers.fault(cloud.servers.boot("c", "demo", "new").id))


def test_dedicated_cpus_come_from_their_own_class(cloud: SandboxCloud) -> None:
    cloud.providers.set_inventory("cmp-01", "PCPU", Inventory(4))
    cloud.flavors.ensure(Flavor("d", "d", 4, 512, 1, public=True, extra_specs={"hw:cpu_policy": "dedicated"}))
    assert cloud.servers.boot("a", "demo", "d").service_host == "cmp-01"
    assert cloud.providers.usages("cmp-01") == {"PCPU": 4, "MEMORY_MB": 512, "DISK_GB": 1}


def test_isolated_hosts_are_for_their_projects(cloud: SandboxCloud) -> None:
    cloud.aggregates.ensure("isolated", None, {"filter_tenant_id": "demo"})
    for host in cloud.hypervisors.list():
        cloud.aggregates.add_host("isolated", host.service_host)
    assert cloud.servers.boot("a", "demo", "m1.small").status == "ACTIVE"
    assert cloud.servers.boot("b", "alt", "m1.small").status == "ERROR"


def test_preemptible_servers_use_the_free_pool(cloud: SandboxCloud) -> None:
    cloud.servers.allow_preemptibles(True)
    cloud.aggregates.add_host("freepool", "cmp-01")
    server = cloud.servers.boot("a", "demo", "m1.small", preemptible=True)
    assert (server.service_host, server.preemptible) == ("cmp-01", True)
    assert cloud.servers.on_host("cmp-01") == [server]
    assert cloud.servers.boot("b", "demo", "m1.small").service_host != "cmp-01"


# ---------------------------------------------------------------- what persists


def test_hosts_fail_and_recover(cloud: SandboxCloud) -> None:
    assert cloud.hypervisors.fail("cmp-03").hypervisor_hostname == "cmp-03.example"
    found = cloud.hypervisors.find("3")
    assert found is not None
    assert (found.up, found.enabled) == (False, True)
    assert cloud.hypervisors.recover("cmp-03.example").up
    with pytest.raises(CloudPermanentError, match="nowhere"):
        cloud.hypervisors.fail("nowhere")


def test_a_restart_finds_everything_as_it_was(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/sandbox.db"
    with opened(url) as engine:
        seed.plant(engine)
        cloud = sandbox(engine)
        cloud.hypervisors.fail("cmp-01")
        cloud.flavors.delete("m1.small")
        server = cloud.servers.boot("a", "demo", "m1.large")
        cloud.faults.set(Fault("images.*", error="after"))
    with opened(url) as engine:
        seed.plant(engine)
        cloud = sandbox(engine)
        assert [host.hypervisor_hostname for host in cloud.hypervisors.list() if not host.up] == ["cmp-01"]
        assert cloud.flavors.get("m1.small") is None
        assert cloud.servers.all() == [server]
        assert [fault.verb for fault in cloud.faults.all()] == ["images.*"]


def test_the_seed_is_what_it_says(cloud: SandboxCloud) -> None:
    hosts = {host.hypervisor_hostname: host for host in cloud.hypervisors.list()}
    assert [name for name, _ in seed.SUGGESTED_HOSTS] == list(hosts)
    assert len(hosts) == 12
    assert {host.zone for host in hosts.values()} == {"zone-a", "zone-b"}
    assert hosts["cmp-03.example"].service_host == "cmp-03"
    for name, properties in seed.SUGGESTED_HOSTS:
        assert json.loads(hosts[name].cpu_info)["arch"] == "x86_64"
        gpus = cloud.providers.inventories(name).get(seed.GPU)
        assert properties.get("gpu_count") == (None if gpus is None else str(gpus.total))
    assert cloud.aggregates.list()[0].name == seed.FREEPOOL
    assert {flavor.name for flavor in cloud.flavors.list()} >= {"m1.small", "m1.medium", "m1.large", "m1.xlarge"}
    network = cloud.networks.get(seed.NETWORK_ID)
    assert network is not None
    assert network.subnets[0].allocation_pools == (("203.0.113.10", "203.0.113.99"),)


def test_hosts_can_be_added(sandbox_lab: SandboxLab) -> None:
    seed.add_hosts(
        sandbox_lab.engine,
        [seed.HostSpec(n, f"node-{n}.example", f"node-{n}", 16, 65536, 100) for n in range(100, 103)],
    )
    assert sandbox_lab.cloud.hypervisors.find("101") is not None
    assert sandbox_lab.cloud.providers.inventories("node-102.example")["VCPU"].total == 16


# ---------------------------------------------------------------- commands


class Commands:
    """Runs `leasehold-manage sandbox …` on one database and returns exit code and output."""

    def __init__(self, engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
        self.engine = engine
        self.capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str]:
        parser = argparse.ArgumentParser()
        add_commands(parser.add_subparsers(required=True))
        args = parser.parse_args(words)
        code: int = args.run(args, self.engine)
        seen = self.capsys.readouterr()
        return code, seen.out + seen.err


@pytest.fixture
def command(sandbox_lab: SandboxLab, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(sandbox_lab.engine, capsys)


def test_commands_show_what_there_is(command: Commands, cloud: SandboxCloud) -> None:
    cloud.aggregates.add_host("freepool", "cmp-03")
    code, text = command("hosts")
    assert code == 0
    assert ["3", "cmp-03.example", "cmp-03", "zone-a", "yes", "yes", "freepool", "0"] in [
        line.split() for line in text.splitlines()
    ]
    assert "resources:CUSTOM_GPU=1" in command("flavors")[1]
    assert "freepool" in command("aggregates")[1]


def test_commands_boot_and_delete(command: Commands, cloud: SandboxCloud) -> None:
    code, text = command("boot", "web", "--project", "demo", "--flavor", "m1.small")
    server = cloud.servers.find("web")[0]
    assert (code, text) == (0, f"Server {server.id} is ACTIVE on {server.service_host}.\n")
    assert server.id in command("servers")[1]
    assert command("slow-delete", "60")[0] == 0
    assert command("delete", "web") == (0, f"Server {server.id} is being deleted.\n")
    code, text = command("boot", "db", "--project", "demo", "--flavor", "m1.small", "--reservation", unique("r"))
    assert code == 1
    assert "ERROR" in text
    assert "none of the requested reservations" in text


def test_a_switch_lets_preemptible_servers_run_on_free_hosts(command: Commands, cloud: SandboxCloud) -> None:
    cloud.aggregates.add_host("freepool", "cmp-01")
    for each in cloud.hypervisors.list()[1:]:
        cloud.hypervisors.fail(each.service_host)
    boot = ("boot", "spot", "--project", "demo", "--flavor", "m1.small", "--preemptible")
    assert command(*boot)[0] == 1
    assert command("preemptibles", "on") == (0, "Preemptible servers may run on free hosts from now on.\n")
    code, text = command(*boot)
    assert (code, text.endswith("is ACTIVE on cmp-01.\n")) == (0, True)
    assert command("preemptibles", "off") == (0, "Preemptible servers may not run from now on.\n")
    assert command(*boot)[0] == 1


def test_commands_fail_and_recover(command: Commands, cloud: SandboxCloud) -> None:
    assert command("fail", "3")[0] == 0
    assert not cloud.hypervisors.list()[2].up
    assert command("recover", "cmp-03")[0] == 0
    assert cloud.hypervisors.list()[2].up


def test_commands_set_faults_that_do_not_hit_themselves(command: Commands, sandbox_lab: SandboxLab) -> None:
    assert command("fault", "aggregates.*", "--error", "before", "--times", "2")[0] == 0
    assert command("aggregates")[0] == 0
    assert "aggregates.*" in command("faults")[1]
    with pytest.raises(CloudTransientError):
        sandbox(sandbox_lab.engine).aggregates.list()
    assert command("clear-faults")[0] == 0
    sandbox(sandbox_lab.engine).aggregates.list()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["fail", "nowhere"], "sandbox hosts"),
        (["boot", "a", "--project", "demo", "--flavor", "none"], "flavors"),
        (["delete", "nothing"], "sandbox servers"),
        (["fault", "nothing.at_all", "--error", "after"], "aggregates.add_host"),
        (["fault", "*"], "--latency-ms"),
        (["fault", "*", "--latency-ms", "-1"], "0 or more"),
        (["slow-delete", "-1"], "0 or more"),
    ],
)
def test_commands_say_what_to_do_instead(command: Commands, words: list[str], hint: str) -> None:
    code, text = command(*words)
    assert code == 1
    assert hint in text


def test_commands_need_a_sandbox(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with opened(f"sqlite:///{tmp_path}/empty.db") as engine:
        command = Commands(engine, capsys)
        code, text = command("hosts")
        assert code == 1
        assert "sandbox plant" in text
        assert command("plant")[0] == 0
        assert command("hosts")[0] == 0
