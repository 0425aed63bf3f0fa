"""Emptying a host: its service is disabled, and its servers migrate to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, ServiceReport
from tests.contract.lab import unique
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.cloud.ports import Hypervisor, Server
    from tests.contract.lab import Lab

OURS, THEIRS = "leasehold: being emptied", "leasehold: something else"


@pytest.fixture
def host(lab: Lab) -> Iterator[Hypervisor]:
    host = lab.hosts()[0]
    yield host
    for reason in (OURS, THEIRS):
        lab.cloud.hypervisors.enable(host.service_host, reason)


def seen(lab: Lab, host: Hypervisor) -> tuple[bool, str | None]:
    found = lab.cloud.hypervisors.find(host.hypervisor_hostname)
    assert found is not None
    assert found in lab.cloud.hypervisors.list()
    return found.enabled, found.disabled_reason


def test_a_host_is_disabled_for_a_reason_and_enabled_for_the_same(lab: Lab, host: Hypervisor) -> None:
    hypervisors, name = lab.cloud.hypervisors, host.service_host
    hypervisors.enable(name, OURS)
    assert seen(lab, host) == (True, None)
    for reason in (OURS, OURS, THEIRS):
        hypervisors.disable(name, reason)
        assert seen(lab, host) == (False, OURS)
    hypervisors.enable(name, THEIRS)
    assert seen(lab, host) == (False, OURS)
    for _ in range(2):
        hypervisors.enable(name, "something else", OURS)
        assert seen(lab, host) == (True, None)


def test_a_service_reports_again_and_again(lab: Lab, host: Hypervisor) -> None:
    first = lab.cloud.hypervisors.report(host.service_host)
    assert first.up
    assert first.at is not None

    def later() -> bool:
        now = lab.cloud.hypervisors.report(host.service_host)
        return now.up and now.at is not None and first.at is not None and now.at > first.at

    wait_for(later, within=60)


def test_a_disabled_host_gets_no_servers_and_keeps_those_it_has(lab: Lab, host: Hypervisor) -> None:
    reservation = lab.host_reservation()
    server = lab.boot(lab.projects[0], lab.flavor_id, [reservation])
    lab.cloud.hypervisors.disable(host.service_host, OURS)
    wait_for(lambda: lab.boot(lab.projects[0], lab.flavor_id, [reservation]).status == "ERROR", within=60)
    assert server in lab.cloud.servers.on_host(host.service_host)


def test_an_unknown_compute_service(lab: Lab) -> None:
    name = unique("host")
    with pytest.raises(CloudPermanentError, match=name):
        lab.cloud.hypervisors.disable(name, OURS)
    lab.cloud.hypervisors.enable(name, OURS)
    assert lab.cloud.hypervisors.report(name) == ServiceReport(up=False, at=None)


def has_left(lab: Lab, server: Server, host: str) -> bool:
    on_it = [each for each in lab.cloud.servers.on_host(host) if each.id == server.id]
    assert all(each.status in {"ACTIVE", "MIGRATING"} for each in on_it)
    return not on_it


def test_a_server_migrates_to_another_host_of_its_reservation(lab: Lab) -> None:
    reservation, (first, second) = lab.host_reservation(), lab.hosts()
    server = lab.boot(lab.projects[0], lab.flavor_id, [reservation])
    lab.cloud.aggregates.add_host(reservation, second.service_host)
    lab.cloud.servers.migrate(server.id)
    wait_for(lambda: has_left(lab, server, first.service_host), within=60)
    there = {each.id: each.status for each in lab.cloud.servers.on_host(second.service_host)}
    wait_for(lambda: lab.cloud.servers.on_host(second.service_host)[0].status == "ACTIVE", within=60)
    assert set(there) == {server.id}
    # What it used is free again where it was, and taken where it is.
    providers = lab.cloud.providers
    wait_for(lambda: providers.claim_rest(first.hypervisor_hostname) == frozenset(), within=60)
    assert providers.claim_rest(second.hypervisor_hostname) == {server.id}
    for each in (first, second):
        providers.release_claims(each.hypervisor_hostname)


def test_a_server_that_fits_nowhere_else_stays(lab: Lab) -> None:
    reservation = lab.host_reservation()
    server = lab.boot(lab.projects[0], lab.flavor_id, [reservation])
    with pytest.raises(CloudPermanentError):
        lab.cloud.servers.migrate(server.id)
    wait_for(lambda: server in lab.cloud.servers.on_host(lab.host), within=60)


def migrates(lab: Lab, server: Server) -> bool:
    """Return whether the cloud finds a host for the server; a real scheduler learns of aggregates a moment later."""
    try:
        lab.cloud.servers.migrate(server.id)
    except (CloudPermanentError, CloudTransientError):
        return False
    return True


def test_a_server_moves_anywhere_once_its_reservation_is_over_and_not_before(lab: Lab) -> None:
    aggregates, reservation = lab.cloud.aggregates, unique("reservation")
    aggregates.ensure(reservation, None, {"blazar:owner": lab.projects[0], "leasehold:pool": "true"})
    aggregates.add_host(reservation, lab.host)
    server = lab.boot(lab.projects[0], lab.flavor_id, [reservation])
    assert server.service_host == lab.host
    assert not migrates(lab, server)
    aggregates.remove_host(reservation, lab.host)
    assert not migrates(lab, server)
    aggregates.delete(reservation)
    wait_for(lambda: migrates(lab, server), within=60)
    wait_for(lambda: has_left(lab, server, lab.host), within=60)
    # A new server with the same hint is another matter: its reservation may be about to begin.
    assert lab.boot(lab.projects[0], lab.flavor_id, [reservation]).status == "ERROR"


def test_nobody_migrates(lab: Lab) -> None:
    lab.cloud.servers.migrate(unique("server"))
