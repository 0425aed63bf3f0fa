"""On a real OpenStack with five computes, whose MariaDB does not flush its commits.

The cloud is that of the tests; it is measured only where it runs (`make cloud`). A ratio here compares with the time
that upstream Blazar took on such a cloud.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from bench.client import ISO, VERSION_1_1, Client
from bench.deployment import INSTANCE, host_lease, lease
from bench.figures import percentile
from bench.row import Row
from bench.watch import seconds_until_active
from tests.openstack.cloud import find_home, running
from tests.openstack.leasehold import running_leasehold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.leasehold import RunningLeasehold

TIMES: Final = 40
AT_ONCE: Final = 10
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
    with (
        running_leasehold(cloud, "bench") as leasehold,
        _client(leasehold, cloud.connection()) as client,
        _enrolled(client, cloud.computes),
    ):
        times = TIMES // 5 if quick else TIMES
        made = [client.ask("POST", "/leases", host_lease("h", *_window(n))).expect(201) for n in range(times)]
        gone = [client.ask("DELETE", f"/leases/{each.body['lease']['id']}").expect(204) for each in made]
        ten = _ten_at_once(client, leasehold)
    post, delete = (1000 * percentile([answer.seconds for answer in answers][1:], 50) for answers in (made, gone))
    return [
        Row("POST a host lease, p50", post, "ms", UPSTREAM_POST_MS / FASTER, UPSTREAM_POST_MS, UPSTREAM),
        Row("DELETE a pending host lease, p50", delete, "ms", 200.0, UPSTREAM_DELETE_MS, UPSTREAM),
        Row("ten leases due in one minute: the last one active after", ten, "s", 10.0, UPSTREAM_TEN_S, UPSTREAM),
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


def _ten_at_once(client: Client, leasehold: RunningLeasehold) -> float:
    """Return how long after its time the last of ten instance leases is active; they are removed afterwards."""
    due = (datetime.now(UTC) + timedelta(seconds=90)).replace(second=0, microsecond=0)
    window = due.strftime(ISO), (due + timedelta(hours=1)).strftime(ISO)
    bodies = [lease(f"ten-{number}", *window, INSTANCE) for number in range(AT_ONCE)]
    ids = [client.ask("POST", "/leases", body).expect(201).body["lease"]["id"] for body in bodies]
    url = str(leasehold.options["database"]["connection"])
    last = max(seconds_until_active(url, dict.fromkeys(ids, due)).values())
    for ident in ids:
        client.ask("DELETE", f"/leases/{ident}").expect(204)
    return last
