"""On a real OpenStack with five computes, whose MariaDB does not flush its commits.

The cloud is that of the tests; it is measured only where it runs (`make cloud`). A ratio here compares with the time
that upstream Blazar took on such a cloud.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from bench.client import ISO, VERSION_1_1, Client
from bench.deployment import INSTANCE, host_lease, lease
from bench.figures import percentile
from bench.row import Row
from bench.watch import PATIENCE, seconds_until_active
from tests.openstack.cloud import find_home, running
from tests.openstack.leasehold import running_leasehold
from tests.processes import wait_for
from tests.servers.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.leasehold import RunningLeasehold

TIMES: Final = 40
AT_ONCE: Final = 10
MANY: Final = 50
LEAD: Final = timedelta(seconds=2)
"""How long before a start its calls are counted from: what was prepared has been prepared then."""
SMALL: Final = {**INSTANCE, "amount": 1, "memory_mb": 64}
BEFORE_CALLS: Final = 16.2
"""Calls of a start of one slot before what was seen a moment ago was remembered (decision 0133)."""
UPSTREAM: Final = "upstream's"
UPSTREAM_POST_MS: Final = 2_200.0
UPSTREAM_DELETE_MS: Final = 3_100.0
UPSTREAM_TEN_S: Final = 59.0
FASTER: Final = 50


def run(*, quick: bool = False) -> list[Row]:
    """Measure one client's requests, and ten leases due in one minute; returns no rows where no such cloud runs."""
    cloud = running(find_home())
    if cloud is None:
        print("Skipped, because the OpenStack of the tests does not run: `make cloud` starts it.")
        return []
    metrics = free_port()
    with (
        running_leasehold(cloud, "bench", {"manager": {"metrics_port": metrics}}) as leasehold,
        _client(leasehold, cloud.connection()) as client,
        _enrolled(client, cloud.computes),
    ):
        times = TIMES // 5 if quick else TIMES
        made = [client.ask("POST", "/leases", host_lease("h", *_window(n))).expect(201) for n in range(times)]
        gone = [client.ask("DELETE", f"/leases/{each.body['lease']['id']}").expect(204) for each in made]
        ten, _ = _at_once(client, leasehold, AT_ONCE, INSTANCE, metrics)
        fifty, calls = _at_once(client, leasehold, MANY, SMALL, metrics)
    post, delete = (1000 * percentile([answer.seconds for answer in answers][1:], 50) for answers in (made, gone))
    return [
        Row("POST a host lease, p50", post, "ms", UPSTREAM_POST_MS / FASTER, UPSTREAM_POST_MS, UPSTREAM),
        Row("DELETE a pending host lease, p50", delete, "ms", 200.0, UPSTREAM_DELETE_MS, UPSTREAM),
        Row("ten leases due in one minute: the last one active after", ten, "s", 10.0, UPSTREAM_TEN_S, UPSTREAM),
        Row("fifty leases of one slot due in one minute: the last one active after", fifty, "s", 10.0),
        Row("their calls to the cloud, for each start", calls, "", BEFORE_CALLS / 2, BEFORE_CALLS, "before 0133's"),
    ]


@contextmanager
def _client(leasehold: RunningLeasehold, admin: Any) -> Iterator[Client]:
    with Client(leasehold.url, {**VERSION_1_1, "X-Auth-Token": admin.auth_token}) as client:
        yield client


@contextmanager
def _enrolled(client: Client, names: tuple[str, ...]) -> Iterator[None]:
    with ExitStack() as undo:
        for name in names:
            host = client.ask("POST", "/os-hosts", {"name": name}).expect(201).body["host"]
            undo.callback(lambda ident: client.ask("DELETE", f"/os-hosts/{ident}").expect(204), host["id"])
        yield


def _window(number: int) -> tuple[str, str]:
    start = datetime.now(UTC) + timedelta(days=1, hours=2 * number)
    return start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO)


def _at_once(
    client: Client, leasehold: RunningLeasehold, many: int, asked: dict[str, Any], metrics: int
) -> tuple[float, float]:
    """Return how long after its time the last of so many leases is active, and the calls to the cloud for each.

    The leases are removed afterwards.
    """
    due = (datetime.now(UTC) + timedelta(seconds=150)).replace(second=0, microsecond=0)
    # So long that the warning before the end is not due at the start, which would be another step.
    window = due.strftime(ISO), (due + timedelta(hours=3)).strftime(ISO)
    bodies = [lease(f"{many}-{number}", *window, asked) for number in range(many)]
    ids = [client.ask("POST", "/leases", body).expect(201).body["lease"]["id"] for body in bodies]
    time.sleep(max(0.0, (due - LEAD - datetime.now(UTC)).total_seconds()))
    before = _calls(metrics)
    url = str(leasehold.options["database"]["connection"])
    last = max(seconds_until_active(url, dict.fromkeys(ids, due)).values())
    after = _calls(metrics)
    for ident in ids:
        client.ask("DELETE", f"/leases/{ident}").expect(204)
    wait_for(lambda: not client.get("/leases")["leases"], within=PATIENCE)
    return last, (after - before) / many


def _calls(port: int) -> float:
    """Return how many calls to the cloud the manager has made."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        families = text_string_to_metric_families(page.read().decode())
    return sum(
        sample.value for each in families for sample in each.samples if sample.name == "leasehold_cloud_calls_total"
    )
