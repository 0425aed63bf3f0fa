"""Servers that Nova keeps for a while after their user has deleted them, because of `reclaim_instance_interval`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold import conf
from leasehold.cloud.openstack.cloud import openstack_cloud
from tests.openstack.cloud import databases
from tests.openstack.leasehold import configuration
from tests.openstack.person import Person, nothing_left
from tests.processes import as_text, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from tests.openstack.cloud import RunningCloud


def test_a_server_that_its_user_could_still_restore_is_there_until_we_delete_it(
    cloud: RunningCloud, tmp_path: Path
) -> None:
    file = tmp_path / "leasehold.conf"
    file.write_text(as_text(configuration(cloud, "sqlite://", {})))
    ports = openstack_cloud(conf.load(["--config-file", str(file)]).raw)
    admin, demo = Person(cloud, "admin"), Person(cloud, "demo")
    flavor = str(demo.sdk.compute.find_flavor("m1.tiny", ignore_missing=False).id)
    with nothing_left(admin):
        server = demo.boot(flavor)
        assert demo.outcome(server) == "ACTIVE"
        host = str(admin.sdk.compute.get_server(server).compute_host)
        # Nova itself writes this state when it runs with that option.
        kept = f"UPDATE nova.instances SET vm_state = 'soft-delete' WHERE uuid = '{server}'"  # noqa: S608 - Nova's own id
        databases.execute(cloud.site.home, "SET autocommit = 1", kept)
        for found in (ports.servers.on_host(host), ports.servers.with_flavor(flavor)):
            assert [each.status for each in found if each.id == server] == ["DELETING"]
        ports.servers.delete(server)
        wait_for(lambda: server not in {each.id for each in ports.servers.on_host(host)}, within=30)
