"""Import from Blazar: its own tool creates the schema, its own client checks the result, and the cloud does not change.

The rows, the API's answers and the resources in the cloud were recorded from a real Blazar (`tests/takeover/data`). The
test replaces users, projects and networks by those of this cloud, and the recorded time by the current time.
"""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from blazarclient.client import Client
from sqlalchemy import create_engine, text

from leasehold import conf
from leasehold.cloud.openstack.cloud import openstack_cloud
from tests.openstack.leasehold import running_leasehold
from tests.openstack.leftovers import differences, listing
from tests.processes import wait_for
from tests.takeover.blazar import Rows, build_cloud, fill, left_cloud, load, replaced

if TYPE_CHECKING:
    from pathlib import Path

    from tests.openstack.cloud.running import RunningCloud
    from tests.openstack.leasehold import RunningLeasehold

RECORDED = datetime(2026, 11, 21, 12, 4)  # noqa: DTZ001 - as Blazar writes its dates.
DATE = re.compile(r"\b2026-1[12]-\d\d[ T]\d\d:\d\d:\d\d")
LOSERS = {"race-1", "race-2", "race-5", "race-7"}


def made_ours(cloud: RunningCloud, rows: Rows, now: datetime) -> Rows:
    """Return recorded rows with this cloud's ids, and with dates as if they were recorded in the minute of `now`."""
    leases = {row["name"]: row for row in load()["leases"]}
    network = load()["floatingips"][0]
    public: Any = cloud.connection("admin").network.find_network("public")
    pairs = {network["floating_network_id"]: public.id, network["subnet_id"]: public.subnet_ids[0]}
    for name, lease in (("demo", leases["active-host"]), ("alt", leases["active-ips"])):
        session = cloud.connection(name).session
        pairs[lease["project_id"]] = str(session.get_project_id())
        pairs[lease["user_id"]] = str(session.get_user_id())
    ours = replaced(rows, pairs)
    by = now.replace(tzinfo=None, second=0, microsecond=0) - RECORDED
    dates = {date: _moved(date, by) for date in set(DATE.findall(str(ours)))}
    # In two steps, because one date may become another that is still to be replaced.
    marks = {date: f"<{number}>" for number, date in enumerate(dates)}
    return replaced(replaced(ours, marks), {marks[date]: new for date, new in dates.items()})


def _moved(date: str, by: timedelta) -> str:
    return (datetime.fromisoformat(date) + by).isoformat(sep=date[10])


def blazars_database(cloud: RunningCloud, folder: Path) -> str:
    """Make a database with Blazar's own migration command and return its URL."""
    url = cloud.database_url("blazar_old")
    config = folder / "blazar.conf"
    config.write_text(f"[database]\nconnection = {url}\n")
    tool = cloud.venv("blazar") / "bin" / "blazar-db-manage"
    subprocess.run([tool, "--config-file", config, "upgrade", "head"], check=True, capture_output=True, timeout=120)
    return url


def client_of(cloud: RunningCloud, ours: RunningLeasehold) -> Any:
    """Return Blazar's own client, as an administrator."""
    return Client(1, session=cloud.connection("admin").session, endpoint_override=ours.url)


def seen(client: Any) -> dict[str, Any]:
    """Return everything that the client lists."""
    return {
        "leases": client.lease.list(),
        "hosts": client.host.list(),
        "floatingips": client.floatingip.list(),
        "allocations": client.allocation.list("os-hosts"),
    }


def comparable(value: Any) -> Any:
    """Return an answer without order, which v1 leaves open, and without trusts, which Leasehold does not have."""
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in sorted(value.items()) if key != "trust_id"}
    return sorted(map(comparable, value), key=repr) if isinstance(value, list) else value


def expected(answers: Rows) -> dict[str, Any]:
    """Return Blazar's answers, with its double booking resolved as the import's report says."""
    lost = {lease["id"] for lease in answers["leases"] if lease["name"] in LOSERS}
    for lease in answers["leases"]:
        if lease["id"] in lost:
            lease["degraded"] = lease["reservations"][0]["missing_resources"] = True
    for host in answers["allocations"]:
        host["reservations"] = [each for each in host["reservations"] if each["lease_id"] not in lost]
    return {name: answers[name] for name in ("leases", "hosts", "floatingips", "allocations")}


def overlaps(url: str) -> list[Any]:
    """Return overlapping allocations of whole resources, found in the tables by brute force."""
    engine = create_engine(url)
    query = text(
        "SELECT a.id, b.id FROM allocations a JOIN allocations b"
        " ON a.resource_number = b.resource_number AND a.id < b.id"
        " WHERE a.starts_at < b.ends_at AND b.starts_at < a.ends_at AND (a.demand IS NULL OR b.demand IS NULL)"
    )
    with engine.connect() as connection:
        found = list(connection.execute(query))
    engine.dispose()
    return found


def is_idle(url: str) -> bool:
    """Return whether the manager has no due task left."""
    engine = create_engine(url)
    with engine.connect() as connection:
        due = connection.scalar(
            text(
                "SELECT COUNT(*) FROM tasks"
                " WHERE due_at <= UTC_TIMESTAMP(6) + INTERVAL 2 SECOND OR claimed_by IS NOT NULL"
            )
        )
    engine.dispose()
    return bool(due == 0)


def tidy(client: Any, ours: RunningLeasehold) -> None:
    """Delete everything that was imported, through the client."""
    for lease in client.lease.list():
        client.lease.delete(lease["id"])
    url = str(ours.options["database"]["connection"])
    wait_for(lambda: is_idle(url), within=60)
    for host in client.host.list():
        client.host.delete(host["id"])
    wait_for(lambda: is_idle(url), within=60)


@pytest.mark.timeout(900)
def test_blazar_is_replaced_and_neither_clients_nor_the_cloud_notice(cloud: RunningCloud, tmp_path: Path) -> None:
    admin = cloud.connection("admin")
    empty = listing(admin)
    source = blazars_database(cloud, tmp_path)
    # One moment for all three: the next minute may begin between two of them.
    now = datetime.now(UTC)
    fill(source, made_ours(cloud, load(), now))
    answers = expected(made_ours(cloud, load(part="answers"), now))
    with running_leasehold(cloud, "leasehold_import", with_manager=False) as ours:
        client = client_of(cloud, ours)
        dry = ours.manage("import-blazar", "--from", source, "--dry-run")
        assert "Would be imported:" in dry
        assert seen(client)["leases"] == []
        report = ours.manage("import-blazar", "--from", source)
        assert report.count("Blazar promised compute") == len(LOSERS)
        assert "nothing was changed" in ours.manage("import-blazar", "--from", source)
        assert comparable(seen(client)) == comparable(answers)
        db = str(ours.options["database"]["connection"])
        assert overlaps(db) == []

        build_cloud(
            openstack_cloud(conf.load(["--config-file", str(ours.config_file)]).raw),
            made_ours(cloud, left_cloud(), now),
        )
        before = listing(admin)
        assert differences(empty, before)
        ours.start_manager()
        wait_for(lambda: is_idle(db), within=120)
        running = {lease["name"]: lease["id"] for lease in seen(client)["leases"] if lease["status"] == "ACTIVE"}
        assert running.keys() == {"active-host", "active-flavor", "active-instance", "active-ips", "failed-start"}
        # A start that Blazar gave up is retried until the lease ends; nothing else changes in the cloud.
        client.lease.delete(running["failed-start"])
        wait_for(lambda: is_idle(db), within=60)
        assert differences(before, listing(admin)) == []
        tidy(client, ours)
    assert differences(empty, listing(admin)) == []
