"""The cloud itself: what the other tests in this folder rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pymysql
import pytest
from sqlalchemy.engine import make_url

from tests.openstack.cloud import CloudError
from tests.openstack.cloud.processes import Processes
from tests.processes import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from openstack.compute.v2.service import Service

    from tests.openstack.cloud import RunningCloud


def test_every_service_runs(cloud: RunningCloud) -> None:
    assert [name for name in cloud.services() if not cloud.is_alive(name)] == []


def test_there_are_five_computes(cloud: RunningCloud) -> None:
    connection = cloud.connection()
    hypervisors = {hypervisor.name for hypervisor in connection.compute.hypervisors()}
    providers = {provider.name for provider in connection.placement.resource_providers()}
    assert hypervisors == set(cloud.computes)
    assert hypervisors <= providers


@pytest.mark.parametrize("user", ["admin", "demo", "alt"])
def test_a_users_server_becomes_active(cloud: RunningCloud, user: str) -> None:
    left = [aggregate.name for aggregate in cloud.connection().compute.aggregates() if aggregate.hosts]
    assert not left, f"Hosts are enrolled from an earlier run, in {left}. `cloud start --fresh` makes a new cloud."
    connection = cloud.connection(user)
    network = connection.network.find_network(f"{user}-net", ignore_missing=False)
    server = connection.compute.create_server(
        name="test-cloud",
        flavor_id=connection.compute.find_flavor("m1.tiny", ignore_missing=False).id,
        image_id=connection.image.find_image("cirros", ignore_missing=False).id,
        networks=[{"uuid": network.id}],
    )
    try:
        assert connection.compute.wait_for_server(server, wait=60).status == "ACTIVE"
    finally:
        connection.compute.delete_server(server)
        connection.compute.wait_for_delete(server)


def test_the_service_user_may_do_what_an_admin_may(cloud: RunningCloud) -> None:
    connection = cloud.connection("leasehold", "service")
    assert {aggregate.name for aggregate in connection.compute.aggregates()} >= {"freepool"}


def test_the_catalogue_names_the_endpoint_that_was_set_last(cloud: RunningCloud) -> None:
    before = cloud.endpoint("reservation")
    for url in ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"):
        cloud.set_endpoint("reservation", url)
        assert cloud.connection("demo").endpoint_for("reservation") == url
    if before is not None:
        cloud.set_endpoint("reservation", before)


def test_a_killed_compute_is_seen_as_down_and_comes_back(cloud: RunningCloud) -> None:
    def compute() -> Service:
        return next(cloud.connection().compute.services(binary="nova-compute", host="compute5"))

    cloud.kill_service("compute5")
    assert not cloud.is_alive("compute5")
    try:
        wait_for(lambda: compute().state == "down", within=40)
    finally:
        cloud.start_service("compute5")
    assert compute().state == "up"


def test_a_service_can_be_stopped_and_started(cloud: RunningCloud) -> None:
    cloud.stop_service("placement")
    assert not cloud.is_alive("placement")
    cloud.start_service("placement")
    assert list(cloud.connection().placement.resource_providers())


def test_a_database_is_new_and_empty_whenever_it_is_asked_for(cloud: RunningCloud) -> None:
    for _ in range(2):
        url = make_url(cloud.database_url("test_cloud"))
        assert url.host is not None
        connection = pymysql.connect(
            host=url.host, port=url.port or 0, user=url.username, password=str(url.password), database=url.database
        )
        with connection, connection.cursor() as cursor:
            assert cursor.execute("SHOW TABLES") == 0
            cursor.execute("CREATE TABLE something (id INT)")


def test_unknown_names_are_answered_with_the_known_ones(cloud: RunningCloud) -> None:
    with pytest.raises(CloudError, match="nova-scheduler"):
        cloud.stop_service("nova-cells")
    with pytest.raises(CloudError, match="tempest"):
        cloud.venv("rally")
    with pytest.raises(CloudError, match="another"):
        cloud.database_url("keystone")


@pytest.mark.parametrize(("last", "how"), [("exit 3", "with code 3"), ("kill -SEGV $$", "by SIGSEGV")])
def test_it_says_how_a_process_has_ended(tmp_path: Path, last: str, how: str) -> None:
    processes = Processes(tmp_path / "run", tmp_path / "log")
    processes.start("short", ("/bin/sh", "-c", f"echo last words; {last}"), {})
    wait_for(lambda: processes.pid("short") is None)
    assert processes.ended("short") == f"short has ended {how}; its log ends with:\nlast words"
