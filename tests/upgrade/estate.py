"""What users of the oldest version have when it is upgraded: leases of every kind, and all that is beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import requests

from leasehold.cloud.sandbox.seed import NETWORK_ID, SUGGESTED_FLOATING_IPS, SUGGESTED_HOSTS
from tests.factory import flavors, floating_ips, instances
from tests.harness import mix
from tests.harness.tables import read_tables
from tests.harness.visitor import NEWEST, Asked
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WITHIN = 120.0
OURS, BORROWER, VISITOR, CROWD = "estate", "lab", "guests", "demo"
"""The projects: that which has all this, one that borrows of it, one that leases later, and that of the clients."""
HOST = {"resource_type": "physical:host", "min": 1, "max": 1, **mix.ANYTHING}
ROOM, FLAVOR, ADDRESS = instances(2), flavors(2, "m1.medium"), floating_ips()
PARTS = (HOST, ROOM, FLAVOR, ADDRESS)
ENDINGS: Sequence[Mapping[str, Any]] = (
    {"before_end": "snapshot", "grace_seconds": 60},
    {"on_end": "recycle", "recycle_seconds": 600},
    {"on_end": "give_back"},
    {"before_end": "shelve"},
    {"no_show_seconds": 7200},
)
STATUSES = {
    "now": "ACTIVE",
    "ahead": "PENDING",
    "open": "ACTIVE",
    "over": "TERMINATED",
    "waits": "IN_PROGRESS",
    "lends": "ACTIVE",
    "borrows": "ACTIVE",
    "claims": "PENDING",
}
"""What becomes of each lease, by the first word of its name."""
OWNED = "gpu-02.example"
"""The host that belongs to the project."""
NOUNS = ("offers", "series", "leases", "published-offers", "lease-templates", "feeds", "alarms", "subscriptions")
"""What members delete, in an order in which nothing is deleted with something else."""


def between(start: float, end: float) -> dict[str, str]:
    """Return the dates of a window that begins and ends so many hours from now."""
    now = datetime.now(UTC).replace(microsecond=0)
    return {
        key: f"{now + timedelta(hours=h):%Y-%m-%dT%H:%M:%SZ}" for key, h in (("start_date", start), ("end_date", end))
    }


@dataclass
class Estate:
    """What was made: the ids of leases and of resources by their names, and those of the clients' resources."""

    database_url: str
    leases: dict[str, str] = field(default_factory=dict)
    resources: dict[str, str] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    once: dict[str, str] = field(default_factory=lambda: between(48, 60))

    def make(self, url: str) -> None:
        """Make all of it, and wait until no lease changes any more."""
        self._enrol(url)
        self._lease_all(url)
        self.settle(url, over="ACTIVE")
        self._change(url)
        self._lend(url)
        self._plan(url)
        self.settle(url)

    def settle(self, url: str, **others: str) -> None:
        """Wait until each lease has the status that its name says, or another one."""
        wanted = {name: {**STATUSES, **others}[name.split()[0]] for name in self.leases}
        wait_for(lambda: self._statuses(url) == wanted, WITHIN)
        wait_for_managers(self.database_url)

    @property
    def written(self) -> Mapping[str, str]:
        """What managers write of it by themselves: a pattern as those of `shown.ALWAYS`, and why."""
        waits = self.leases["waits"]
        return {rf"1\.\d /v1/leases(/{waits})? /(lease|leases/{waits})/updated_at": "it is tried again"}

    def repeat(self, url: str) -> None:
        """Check that a request with a key of its own, sent once more, is answered with the lease of the first time."""
        assert self._ask_once(url) == self.leases["ahead once"]

    def delete(self, url: str) -> None:
        """Delete all of both projects."""
        delete_all(url, "maintenances", OURS, "admin")
        delete_all(url, "leases", BORROWER)
        for noun in NOUNS:
            delete_all(url, noun, OURS)

    def _enrol(self, url: str) -> None:
        """Enrol hosts and addresses of the sandbox: those that the clients know for their project alone."""
        for name, properties in SUGGESTED_HOSTS:
            self._open(url, "physical:host", ask("POST", f"{url}/os-hosts", {"name": name, **properties})["host"], name)
        for address in SUGGESTED_FLOATING_IPS[:8]:
            body = {"floating_network_id": NETWORK_ID, "floating_ip_address": address}
            self._open(url, "virtual:floatingip", ask("POST", f"{url}/floatingips", body)["floatingip"], address)

    def _open(self, url: str, resource_type: str, made: Mapping[str, Any], name: str) -> None:
        theirs = name in (*mix.HOSTS, *mix.ADDRESSES)
        whose = {"projects": [CROWD] if theirs else [OURS, BORROWER, VISITOR]}
        ask("PUT", f"{url}/resources/{resource_type}/{made['id']}", whose)
        if theirs:
            self.others.add(made["id"])
        else:
            self.resources[name] = made["id"]

    def _lease_all(self, url: str) -> None:
        self._lease(url, "now", PARTS, between(0, 8), before_end_date=between(0, 7)["end_date"])
        self._lease(url, "ahead", PARTS, between(48, 60))
        for number, ending in enumerate(ENDINGS):
            self._lease(url, f"ahead {number}", [{**HOST, **ending}], between(72, 80))
        self._lease(url, "open", [ROOM], {"start_date": "now"}, open_ended=True)
        self._lease(url, "over", [ROOM], between(0, 8))
        self._lease(url, "lends", [{**HOST, "min": 2, "max": 2}], between(0, 24))
        until = between(0, 24)["end_date"]
        self._lease(url, "waits", [{**HOST, "min": 7, "max": 7}], between(1, 5), type="waitlist", deadline=until)

    def _change(self, url: str) -> None:
        """Swap a host, drop a reservation, and share a lease."""
        now = f"{url}/leases/{self.leases['now']}"
        (host,) = ask("GET", f"{now}/resources")["reservations"][0]["resources"]
        ask("POST", f"{now}/swap", {"host": host["id"]})
        ahead = ask("GET", f"{url}/leases/{self.leases['ahead']}")["lease"]
        ask("DELETE", f"{url}/leases/{ahead['id']}/reservations/{ahead['reservations'][-1]['id']}")
        ask("PUT", f"{url}/leases/{ahead['id']}", {"shared_with": [BORROWER]})
        ask("PUT", f"{url}/leases/{self.leases['over']}", {"end_date": between(0, 2 / 3600)["end_date"]})

    def _lend(self, url: str) -> None:
        """Publish a host of a lease and a host of the project, and claim both for another project."""
        spare = {"name": "spare", "amount": 1}
        offer = ask("POST", f"{url}/leases/{self.leases['lends']}/published-offers", spare)["published_offer"]
        self._claim(url, "borrows", offer, between(0, 5))
        owned = {"resource_type": "physical:host", "resource_id": self.resources[OWNED]}
        ask("PUT", f"{url}/resources/physical:host/{self.resources[OWNED]}", {"owner": OURS})
        body = {"name": "ours", **owned, **between(100, 120)}
        offer = ask("POST", f"{url}/published-offers", body)["published_offer"]
        self._claim(url, "claims", offer, between(100, 110))

    def _claim(self, url: str, name: str, offer: Mapping[str, Any], dates: dict[str, str]) -> None:
        made = ask("POST", f"{url}/published-offers/{offer['id']}/claims", {"name": name, **dates}, BORROWER)
        self.leases[name] = made["lease"]["id"]

    def _plan(self, url: str) -> None:
        far = between(240, 250)
        ask("POST", f"{url}/offers", {"name": "offered", "reservations": [HOST], "hold_seconds": 900, **far})
        ask("POST", f"{url}/series", {"name": "weekly", "rule": "FREQ=WEEKLY;COUNT=3", "reservations": [HOST], **far})
        ask("POST", f"{url}/lease-templates", {"name": "kept"})
        ask("POST", f"{url}/feeds", {})
        # More hosts than there are: it stays low, whatever the clients lease.
        ask("POST", f"{url}/alarms", {"reservation": HOST, "below": 1000})
        wait_for(lambda: ask("GET", f"{url}/alarms")["alarms"][0]["state"] != "unknown", WITHIN)
        window = {"name": "fans", "hosts": [self.resources[OWNED]], **between(400, 402)}
        ask("POST", f"{url}/maintenances", window)
        ask(
            "POST",
            f"{url}/subscriptions",
            {"target": "https://hooks.example.org/leases", "event_types": ["lease.swapped"]},
        )
        self.leases["ahead once"] = self._ask_once(url)

    def _ask_once(self, url: str) -> str:
        body = {"name": "ahead once", "reservations": [ROOM], **self.once}
        lease_id: str = ask("POST", f"{url}/leases", body, **{"Idempotency-Key": "once"})["lease"]["id"]
        return lease_id

    def _lease(
        self, url: str, name: str, parts: Sequence[Mapping[str, Any]], dates: dict[str, str], **keys: Any
    ) -> None:
        body = {"name": name, "reservations": list(parts), **dates, **keys}
        self.leases[name] = ask("POST", f"{url}/leases", body)["lease"]["id"]

    def _statuses(self, url: str) -> dict[str, str]:
        found = {each["id"]: each["status"] for each in ask("GET", f"{url}/leases")["leases"]}
        return {name: found[each] for name, each in self.leases.items()}


def delete_all(url: str, noun: str, project: str, roles: str = "member") -> None:
    """Delete all that a list has for a project."""
    headers = {"X-Roles": roles}
    (rows,) = ask("GET", f"{url}/{noun}", None, project, **headers).values()
    for row in rows:
        ask("DELETE", f"{url}/{noun}/{row['id']}", None, project, **headers)


def wait_for_managers(database_url: str) -> None:
    """Wait until there is nothing to do now for the leases that are not the clients': no cloud to be prepared."""

    def is_done() -> bool:
        tables = read_tables(database_url, ["leases", "tasks"])
        ours = {row.id for row in tables["leases"] if row.project_id != CROWD}
        now = datetime.now(UTC)
        tasks = [row for row in tables["tasks"] if row.subject in ours and row.due_at is not None]
        return not any(row.due_at <= now or row.claimed_by is not None for row in tasks)

    wait_for(is_done, WITHIN)


def asked(url: str) -> list[Asked]:
    """Return the requests for the leases that are not the clients', which all were deleted."""
    rows = [row for row in read_tables(url, ["leases"])["leases"] if row.project_id != CROWD]
    made = [Asked("PUT", "estate", row.name, 200, {"lease": {}}, row.id) for row in rows]
    return made + [Asked("DELETE", "estate", "", 204, None, row.id) for row in rows]


def ask(method: str, url: str, body: Mapping[str, Any] | None = None, project: str = OURS, **headers: str) -> Any:
    """Send a request as an administrator of a project, and return what is answered; AssertionError if it is refused."""
    sent = {**NEWEST, "X-Project-Id": project, **headers}
    answer = requests.request(method, url, json=body, headers=sent, timeout=WITHIN)
    assert answer.ok, (method, url, body, answer.text)
    return answer.json() if answer.content else None
