"""The poll on the sandbox: what is used of hosts, slots and addresses, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from leasehold.cloud.sandbox.tables import floating_ips as addresses
from leasehold.features.usage import store
from leasehold.features.usage.job import jobs
from leasehold.features.usage.options import UsageSettings
from leasehold.features.usage.poll import poll
from leasehold.model.windows import to_seconds
from tests.factory import ALT, flavors, floating_ips, hosts, instances, make_service, run_manager, run_until

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

INTERVAL = 300


def spans(world: World, about: Lease) -> list[tuple[str, int, float, float, bool]]:
    """Return resource, amount, start and end in intervals after the start of the world, and whether it goes on."""
    start = to_seconds(world.hour(0))
    with world.service.db.reading() as connection:
        query = select(store.usage_uses).where(store.usage_uses.c.lease_id == about.id).order_by(store.usage_uses.c.id)
        return [
            (
                row.resource.rpartition("/")[2],
                row.amount,
                (row.starts_at - start) / INTERVAL,
                (row.ends_at - start) / INTERVAL,
                row.seen_at is not None,
            )
            for row in connection.execute(query)
        ]


def polled(world: World, intervals: int = 1) -> None:
    """Poll as many times, an interval apart."""
    for _ in range(intervals):
        poll(world.service)
        world.clock.advance(seconds=INTERVAL)


def test_a_host_is_used_while_a_server_of_its_project_is_there(world: World) -> None:
    made, other = world.active(hosts(2), end=9), world.active(hosts(), end=9, caller=ALT)
    server = world.boot(made)
    (used,) = (each.label for each in world.listed() if each.attributes["service_name"] == server.service_host)
    polled(world, 3)
    assert spans(world, made) == [(used, 1, 0, 2, True)]
    world.cloud.servers.delete(server.id)
    polled(world, 2)
    assert spans(world, made) == [(used, 1, 0, 2, False)]
    again = world.boot(made)
    polled(world)
    (_, last) = spans(world, made)
    assert (*last[1:],) == (1, 5, 5, True)
    assert again.service_host is not None
    assert spans(world, other) == []
    (row,) = _rows(world, made)[:1]
    part = made.reservations[0]
    assert (row.reservation_id, row.project_id, row.user_id) == (part.id, "demo", "alice")


def test_a_span_ends_with_its_lease(world: World) -> None:
    made = world.active(hosts(), end=1)
    world.boot(made)
    polled(world, 2)
    run_until(world, world.hour(1.5))
    polled(world, 2)
    ((_, *rest),) = spans(world, made)
    assert rest == [1, 0, 1, False]


@pytest.mark.parametrize(
    "asked", [hosts(grace_seconds=1800), instances(grace_seconds=1800), flavors(grace_seconds=1800)]
)
def test_what_servers_use_that_live_on_after_their_lease_is_used(world: World, asked: dict[str, Any]) -> None:
    made = world.active(asked, end=0.5)
    world.boot(made)
    for interval in range(18):
        run_until(world, world.hour(interval * INTERVAL / 3600))
        poll(world.service)
    assert world.status(made) == "TERMINATED"
    ((_, *rest),) = spans(world, made)
    assert rest == [1, 0, 11, False]


def test_slots_count_servers_and_a_change_splits_the_span_where_it_was_seen(world: World) -> None:
    made, other = world.active(instances(4), end=9), world.active(flavors(2), end=9)
    servers = [world.boot(made)]
    world.boot(other)
    polled(world, 2)
    servers += [world.boot(made) for _ in range(2)]
    polled(world, 2)
    for each in servers[:2]:
        world.cloud.servers.delete(each.id)
    polled(world, 2)
    total = 0
    for _, amount, start, end, _ in spans(world, made):
        total += amount * int(end - start)
    # One was seen by the first three polls, three by the next one too, and one by the last two and the one before.
    assert total == 1 + 1 + 3 + 1 + 1
    assert sum(amount for *_, amount in ((each[1] * (each[3] - each[2]),) for each in spans(world, other))) == 5


def test_an_address_is_used_while_a_port_has_it(world: World) -> None:
    made = world.active(floating_ips(2), end=9)
    polled(world)
    with world.service.db.reading() as connection:
        one = connection.execute(select(addresses.c.address).order_by(addresses.c.address)).scalars().first()
    assert one is not None
    world.execute(update(addresses).where(addresses.c.address == one).values(port_id="port-1"))
    polled(world, 2)
    assert spans(world, made) == [(one, 1, 1, 2, True)]
    world.execute(update(addresses).values(port_id=None))
    polled(world)
    assert spans(world, made) == [(one, 1, 1, 2, False)]


def test_one_poll_that_fails_is_bridged_and_two_are_a_gap(world: World, caplog: pytest.LogCaptureFixture) -> None:
    made = world.active(hosts(), end=9)
    world.boot(made)
    polled(world, 2)
    world.break_down("servers.on_hosts", 1)
    polled(world)
    assert "The cloud does not say what is used of physical:host" in caplog.text
    polled(world)
    assert [each[2:] for each in spans(world, made)] == [(0, 3, True)]
    world.break_down("servers.on_hosts", 2)
    polled(world, 3)
    assert [each[2:] for each in spans(world, made)] == [(0, 3, False), (6, 6, True)]


def test_a_type_whose_poll_fails_does_not_stop_the_others(world: World) -> None:
    made, other = world.active(hosts(), end=9), world.active(floating_ips(), end=9)
    world.boot(made)
    world.execute(update(addresses).values(port_id="port-1"))
    world.break_down("servers.on_hosts")
    polled(world, 2)
    assert spans(world, made) == []
    assert [each[2:] for each in spans(world, other)] == [(0, 1, True)]
    with world.service.db.reading() as connection:
        assert store.find_progress(connection, store.poll_of("physical:host")) is None
        found = store.find_progress(connection, store.poll_of("virtual:floatingip"))
    start = to_seconds(world.hour(0))
    assert found == store.Progress(store.poll_of("virtual:floatingip"), start, start + INTERVAL)


def test_a_poll_asks_the_cloud_once_for_all_leases_of_a_type(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        world.active(hosts(), end=9)
        world.active(floating_ips(), end=9)
    asked: list[str] = []
    real_servers, real_addresses = world.cloud.servers.on_hosts, world.cloud.networks.list_floating_ips

    def note(name: str, real: Any) -> Any:
        def ask(*args: Any) -> Any:
            asked.append(name)
            return real(*args)

        return ask

    monkeypatch.setattr(type(world.cloud.servers), "on_hosts", lambda _, names: note("servers", real_servers)(names))
    monkeypatch.setattr(
        type(world.cloud.networks), "list_floating_ips", lambda _, tag: note("addresses", real_addresses)(tag)
    )
    polled(world)
    assert sorted(asked) == ["addresses", "servers"]


@pytest.mark.slow
def test_the_spans_are_the_same_on_each_database_and_of_two_polls_at_a_moment_one_counts(database_url: str) -> None:
    with make_service(database_url, hosts=("cmp-01", "cmp-02")) as world:
        made = world.active(hosts(2), end=9)
        world.boot(made)
        for _ in range(3):
            poll(world.service)
            poll(world.service)
            world.clock.advance(seconds=INTERVAL)
        assert [each[1:] for each in spans(world, made)] == [(1, 0, 2, True)]
        run_manager(world)


def test_a_job_whose_interval_is_0_is_left_out(world: World) -> None:
    service = world.service
    assert [(each.name, each.every) for each in jobs(service)] == [
        ("usage", 10.0),
        ("usage days", 300.0),
        ("usage poll", 300.0),
        ("usage gauges", 300.0),
    ]
    off = service.settings.having(UsageSettings(0, 0))
    assert list(jobs(replace(service, settings=off))) == []


def _rows(world: World, about: Lease) -> list[Any]:
    with world.service.db.reading() as connection:
        return list(connection.execute(select(store.usage_uses).where(store.usage_uses.c.lease_id == about.id)))
