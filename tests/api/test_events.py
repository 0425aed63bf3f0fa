"""GET /v1/events: who reads what, cursors, pages, and requests that wait."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from sqlalchemy import delete, update

from leasehold.api.limits.admission_control import AdmissionControl
from leasehold.api.limits.event_waits import EventWaits
from leasehold.cmd.web import make_app
from leasehold.conf.settings import ApiSettings
from leasehold.db.event_log import mark_purged
from leasehold.db.tables import event_log, outbox
from leasehold.leasing.reading import event_log as log
from leasehold.leasing.reading.event_log import sequence_events
from tests.api.conftest import NOW
from tests.processes import wait_for
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from falcon import testing

    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

EVENTS = "/v1/events"
LEASE = {"name": "n", "start_date": "2031-05-02 10:00", "end_date": "2031-05-02 11:00", "reservations": []}
LONG = 30


@pytest.fixture
def client(client: Client) -> Client:
    return client.but(version="1.2")


def make(client: Client) -> str:
    """Create a lease and return its id."""
    return str(client.ask("POST", "/v1/leases", LEASE).json["lease"]["id"])


def read(client: Client, query: str = "", status: int = 200) -> Any:
    answer = client.ask("GET", EVENTS, query_string=query)
    assert answer.status_code == status, answer.text
    return answer.json


def types(shown: Any) -> list[str]:
    return [event["type"] for event in shown["events"]]


def test_a_member_reads_what_happened_in_the_project_from_a_cursor_on(client: Client, service: Service) -> None:
    ident = make(client)
    assert read(client) == {"events": [], "next": "0-0000000000000000"}
    sequence_events(service)
    (made,) = read(client)["events"]
    assert (made["type"], made["position"], made["lease_id"], made["project_id"]) == ("lease.create", 1, ident, "demo")
    assert made["time"] == "2031-05-01T09:30:40+00:00"
    assert (made["payload"]["status"], made["resource_id"]) == ("PENDING", None)
    client.ask("PUT", f"/v1/leases/{ident}", {"name": "renamed"})
    client.ask("DELETE", f"/v1/leases/{ident}")
    sequence_events(service)
    shown = read(client, f"after={made['id']}&limit=1")
    assert (types(shown), shown["next"]) == (["lease.renamed"], shown["events"][0]["id"])
    shown = read(client, f"after={shown['next']}")
    assert types(shown) == ["lease.delete"]
    assert types(read(client, "after=0-0000000000000000")) == ["lease.create", "lease.renamed", "lease.delete"]
    latest = read(client, "after=latest")
    assert latest == {"events": [], "next": shown["next"]}


def test_events_are_read_by_type_from_1_3_on(client: Client, service: Service) -> None:
    ident = make(client)
    client.ask("PUT", f"/v1/leases/{ident}", {"name": "renamed"})
    client.ask("DELETE", f"/v1/leases/{ident}")
    sequence_events(service)
    newer = client.but(version="1.3")
    assert types(read(newer, "type=lease.renamed")) == ["lease.renamed"]
    assert types(read(newer, "type=lease.delete,lease.create&limit=1")) == ["lease.create"]
    assert types(read(newer, "type=lease.create,%20lease.delete")) == ["lease.create", "lease.delete"]
    assert read(newer, "type=lease.gone", 400)["field"] == "type"
    assert read(client, "type=lease.create", 400)["field"] == "type"


def test_others_events_are_not_shown_and_move_the_cursor_on(client: Client, admin: Client, service: Service) -> None:
    mine, theirs = make(client), make(client.but(project="alt"))
    sequence_events(service)
    shown = read(client)
    assert [event["lease_id"] for event in shown["events"]] == [mine]
    assert shown["next"].startswith("2-")
    assert read(client, f"lease_id={theirs}")["events"] == []
    assert types(read(client, f"lease_id={mine}")) == ["lease.create"]
    admin = admin.but(version="1.2")
    assert [event["lease_id"] for event in read(admin)["events"]] == [mine]
    assert [event["lease_id"] for event in read(admin, "all_projects=true")["events"]] == [mine, theirs]
    refused = client.ask("GET", EVENTS, query_string="all_projects=1")
    assert (refused.status_code, refused.json["field"]) == (403, "all_projects")


def test_administrators_read_what_happens_to_resources(client: Client, admin: Client, service: Service) -> None:
    admin = admin.but(version="1.2")
    admin.ask("POST", "/v1/os-hosts", {"name": "cmp-01", "rack": "a1"})
    admin.ask("PUT", "/v1/os-hosts/1", {"rack": "b2"})
    admin.ask("DELETE", "/v1/os-hosts/1")
    sequence_events(service)
    shown = read(admin, "all_projects=true")
    assert types(shown) == ["resource.enrolled", "resource.changed", "resource.removed"]
    racks = [event["payload"]["properties"]["rack"] for event in shown["events"]]
    assert (racks, {event["resource_id"] for event in shown["events"]}) == (["a1", "b2", "b2"], {"1"})
    assert read(admin)["events"] == read(client)["events"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=1", "after"),
        ("after=%00", "after"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("wait=61", "wait"),
        ("wait=-1", "wait"),
        ("wait=1.5", "wait"),
        ("lease_id=%00", "lease_id"),
        ("all_projects=maybe", "all_projects"),
        ("since=1", "since"),
    ],
)
def test_a_bad_query_is_named(client: Client, query: str, field: str) -> None:
    assert read(client, query, 400)["field"] == field


def test_events_are_read_from_a_moment_on_from_1_3_on(client: Client, service: Service, clock: Clock) -> None:
    new = client.but(version="1.3")
    made = []
    for _ in range(3):
        made.append(make(client))
        clock.now += timedelta(minutes=5)
    sequence_events(service)
    since, late = (quote((NOW + timedelta(minutes=minutes)).isoformat()) for minutes in (5, 30))
    shown = read(new, f"from={since}")
    assert [event["lease_id"] for event in shown["events"]] == made[1:]
    # The cursor is after all of the log, also where nothing is that late.
    assert read(new, f"from={late}") == {"events": [], "next": shown["next"]}
    page = read(new, f"from={since}&limit=1")
    assert [event["lease_id"] for event in page["events"]] == made[1:2]
    assert [event["lease_id"] for event in read(new, f"from={since}&after={page['next']}")["events"]] == made[2:]
    assert read(new, "from=soon", 400)["field"] == "from"
    assert read(client, f"from={since}", 400)["field"] == "from"


def test_the_log_is_new_in_1_2(client: Client) -> None:
    assert client.but(version="1.1").ask("GET", EVENTS).status_code == 404


def test_a_page_ends_when_it_is_large(client: Client, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        make(client)
    sequence_events(service)
    monkeypatch.setattr(log, "LARGEST_PAGE", 700)
    shown = read(client)
    assert len(shown["events"]) == 2
    shown = read(client, f"after={shown['next']}")
    assert (len(shown["events"]), shown["next"][:2]) == (1, "3-")


def test_a_reader_who_missed_something_is_told(client: Client, service: Service) -> None:
    first = make(client)
    for _ in range(3):
        make(client)
    sequence_events(service)
    cursors = [event["id"] for event in read(client)["events"]]

    def purge(connection: Any) -> None:
        mine = outbox.c.lease_id == first
        mark_purged(connection, mine)
        connection.execute(delete(outbox).where(mine))

    service.db.transact(purge)
    for cursor in ("0-0000000000000000", cursors[0]):
        assert read(client, f"after={cursor}", 410)["code"] == "leasehold.events.purged"
    assert len(read(client, f"after={cursors[1]}")["events"]) == 2
    assert len(read(client)["events"]) == 3
    # The database goes back to an earlier moment, and other things happen then.
    went_back = update(outbox).where(outbox.c.position > 2).values(position=None, nonce=None)
    service.db.transact(lambda connection: connection.execute(went_back))
    back = {"last": 2, "nonce": cursors[1].partition("-")[2]}
    service.db.transact(lambda connection: connection.execute(update(event_log).values(back)))
    assert read(client, f"after={cursors[3]}", 410)["code"] == "leasehold.events.rewound"
    sequence_events(service)
    for cursor in cursors[2:]:
        assert read(client, f"after={cursor}", 410)["code"] == "leasehold.events.rewound"
    assert len(read(client, f"after={cursors[1]}")["events"]) == 2


# ---------------------------------------------------------------- requests that wait


@dataclass
class Crowd:
    """An API with one permit in which four requests may wait, and clients that ask it in threads."""

    client: Client
    admission: AdmissionControl
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(8))
    asked: list[Future[testing.Result]] = field(default_factory=list)

    def wait(self, query: str = f"wait={LONG}", extras: dict[str, Any] | None = None) -> Future[testing.Result]:
        """Ask for events in a thread; `extras` are for the WSGI environment."""
        ask = partial(self.client.ask, "GET", EVENTS, query_string=query, extras=extras or {"wsgi.multithread": True})
        self.asked.append(self.threads.submit(ask))
        return self.asked[-1]

    def done(self) -> list[testing.Result]:
        return [each.result() for each in self.asked if each.done()]


@pytest.fixture
def crowd(service: Service, settings: ApiSettings, client: Client) -> Iterator[Crowd]:
    few = replace(settings, threads=1, waiting=8, event_waits=4)
    admission = AdmissionControl(few)
    made = Crowd(replace(client, web=LocalClient(make_app(service, few, admission=admission))), admission)
    yield made
    admission.closing = True
    made.threads.shutdown()


def someone_looks() -> bool:
    """Say whether a thread looks for events, which is so while requests wait."""
    return any(thread.name == "events" for thread in threading.enumerate())


def test_who_waits_is_answered_when_something_happens_and_holds_no_permit(crowd: Crowd, service: Service) -> None:
    answer = crowd.wait()
    wait_for(someone_looks)
    ident = make(crowd.client)
    assert not answer.done()
    sequence_events(service)
    shown = answer.result(LONG).json
    assert [event["lease_id"] for event in shown["events"]] == [ident]


def test_two_of_a_project_may_wait_and_more_are_answered_at_once(crowd: Crowd, service: Service) -> None:
    for _ in range(3):
        crowd.wait()
    wait_for(lambda: len(crowd.done()) == 1)
    (refused,) = crowd.done()
    assert (refused.json["events"], refused.headers["Retry-After"]) == ([], "5")
    make(crowd.client)
    sequence_events(service)
    wait_for(lambda: len(crowd.done()) == 3)
    assert sorted(len(each.json["events"]) for each in crowd.done()) == [0, 1, 1]


def test_who_waits_is_answered_when_the_process_stops(crowd: Crowd) -> None:
    answer = crowd.wait()
    wait_for(someone_looks)
    crowd.admission.closing = True
    assert answer.result(LONG).json["events"] == []


def test_a_server_with_one_thread_does_not_wait(crowd: Crowd) -> None:
    answer = crowd.wait(extras={"wsgi.multithread": False}).result(LONG)
    assert (answer.json["events"], answer.headers["Retry-After"]) == ([], "5")


@pytest.mark.slow
def test_who_waits_for_nothing_gets_nothing_in_time(crowd: Crowd) -> None:
    begun = monotonic()
    answer = crowd.wait("wait=1").result(LONG)
    assert (answer.json["events"], "Retry-After" in answer.headers) == ([], False)
    assert monotonic() - begun >= 1


def test_only_events_of_the_project_are_news(client: Client, service: Service, crowd: Crowd) -> None:
    waits = EventWaits(service.db, ApiSettings(), AdmissionControl(ApiSettings()))
    end = monotonic() + LONG
    news = crowd.threads.submit(waits.wait, "demo", "demo", 0, end)
    make(client.but(project="alt"))
    sequence_events(service)
    wait_for(lambda: waits._seen == 1)
    assert not news.done()
    assert crowd.threads.submit(waits.wait, "demo", None, 0, end).result(LONG)
    make(client)
    sequence_events(service)
    assert news.result(LONG)
    assert len(waits) == 0


def test_who_waits_reads_again_when_the_database_went_back(client: Client, service: Service, crowd: Crowd) -> None:
    for _ in range(3):
        make(client)
    sequence_events(service)
    waits = EventWaits(service.db, ApiSettings(), AdmissionControl(ApiSettings()))
    news = crowd.threads.submit(waits.wait, "demo", "demo", 3, monotonic() + LONG)
    wait_for(lambda: len(waits) == 1)
    service.db.transact(lambda connection: connection.execute(update(event_log).values(last=1)))
    assert news.result(LONG)
