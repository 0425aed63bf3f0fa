"""Calendar feeds by the API (idea 6, decision 0076): made and deleted by members, read without a login."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from icalendar import Calendar
from sqlalchemy import update

from leasehold.api.limits import rate_limit
from leasehold.cmd.web import make_app
from leasehold.conf.settings import RateSettings
from leasehold.db.tables import leases
from leasehold.features.feed import use as feeds
from leasehold.features.feed.model import digest_of
from leasehold.features.feed.store import feeds as feeds_table
from tests.api.conftest import Client
from tests.clocks import Ticks
from tests.factory import hosts
from tests.web import LocalClient

if TYPE_CHECKING:
    from falcon import testing

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Clock

pytestmark = pytest.mark.slow

PATH = "/v1/feeds"


@pytest.fixture
def member(client: Client, host: str) -> Client:
    """Return a member of a project, where there is one host."""
    assert host
    return client.but(version="1.3")


def lease(client: Client, name: str, start: str, end: str) -> Any:
    body = {"name": name, "start_date": start, "end_date": end, "reservations": [hosts()], "events": []}
    answer = client.ask("POST", "/v1/leases", body)
    assert answer.status_code == 201, answer.text
    return answer.json["lease"]


def made(client: Client, **body: Any) -> Any:
    answer = client.ask("POST", PATH, body)
    assert answer.status_code == 201, answer.text
    return answer.json["feed"]


def read(client: Client, url: str) -> testing.Result:
    """Ask for an address as a calendar program does: without a login, a version or a type."""
    return client.web.simulate_get(urlsplit(url).path)


def events(client: Client, url: str) -> dict[str, Any]:
    """Return what a calendar program sees, by summary."""
    answer = read(client, url)
    assert answer.status_code == 200
    return {str(each["summary"]): each for each in Calendar.from_ical(answer.text).walk("VEVENT")}


def test_a_feed_is_made_listed_shown_and_deleted(member: Client, clock: Clock) -> None:
    feed = made(member, name="lab")
    url = feed.pop("url")
    assert feed == {
        "id": feed["id"],
        "name": "lab",
        "project_id": "demo",
        "user_id": "alice",
        "own": False,
        "created_at": clock.now.isoformat(),
    }
    assert member.ask("GET", PATH).json == {"feeds": [feed]}
    assert member.ask("GET", f"{PATH}/{feed['id']}").json == {"feed": feed}
    answer = read(member, url)
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("private, no-store", "no-referrer")
    assert member.ask("DELETE", f"{PATH}/{feed['id']}").status_code == 204
    assert read(member, url).status_code == 404
    assert member.ask("GET", f"{PATH}/{feed['id']}").status_code == 404


def test_a_name_is_a_text_and_nothing_else(member: Client, service: Service) -> None:
    """Names from before they were refused, and those of a database of Blazar, may have control characters."""
    url = made(member, name="lab")["url"]
    lease(member, "a", "2031-05-02 09:00", "2031-05-02 12:00")
    named = update(feeds_table).values(name="lab\x07, a;b\\c\r\nEND:VCALENDAR")
    service.db.transact(lambda connection: connection.execute(named))
    lease_named = update(leases).values(name="a\x1b[31m\r\nEND:VEVENT\x7f")
    service.db.transact(lambda connection: connection.execute(lease_named))
    (event,) = events(member, url).values()
    assert str(event["summary"]) == "a[31m\nEND:VEVENT"
    content = read(member, url).content
    assert rb"X-WR-CALNAME:lab\, a\;b\\c\nEND:VCALENDAR" in content.splitlines()
    assert not any(sign in content for sign in (b"\x07", b"\x1b", b"\x7f"))


def test_leases_are_events_with_uids_that_stay(member: Client, clock: Clock) -> None:
    url = made(member)["url"]
    one = lease(member, "one, with; signs\\", "2031-05-02 09:00", "2031-05-02 12:00")
    (event,) = events(member, url).values()
    assert str(event["summary"]) == "one, with; signs\\"
    assert str(event["uid"]) == f"{one['id']}@leasehold"
    assert [event[key].dt.isoformat() for key in ("dtstart", "dtend")] == [
        "2031-05-02T09:00:00+00:00",
        "2031-05-02T12:00:00+00:00",
    ]
    assert str(event["status"]) == "CONFIRMED"
    assert str(event["description"]).splitlines()[:2] == ["Status: PENDING", "physical:host min 1, max 1"]
    before = read(member, url).content
    clock.now += timedelta(seconds=90)
    assert read(member, url).content == before
    member.ask("PUT", f"/v1/leases/{one['id']}", {"name": "new", "end_date": "2031-05-02 13:00"})
    (after,) = events(member, url).values()
    assert (after["uid"], str(after["summary"])) == (event["uid"], "new")
    assert after["sequence"] > event["sequence"]
    member.ask("DELETE", f"/v1/leases/{one['id']}")
    assert events(member, url) == {}


def test_a_reason_names_no_host(member: Client, service: Service) -> None:
    url = made(member)["url"]
    one = lease(member, "waits", "2031-05-02 09:00", "2031-05-02 12:00")
    told = "Waiting for the previous lease to leave cmp-01."
    service.db.transact(lambda connection: connection.execute(update(leases).values(status_reason=told)))
    shown = member.ask("GET", f"/v1/leases/{one['id']}").json["lease"]["status_reason"]
    (event,) = events(member, url).values()
    assert str(event["description"]).splitlines()[:2] == ["Status: PENDING", shown]
    assert b"cmp-01" not in read(member, url).content


def test_a_lease_that_waits_is_tentative(member: Client) -> None:
    url = made(member)["url"]
    lease(member, "has it", "2031-05-02 09:00", "2031-05-02 12:00")
    body = {"name": "waits", "start_date": "2031-05-02 10:00", "end_date": "2031-05-02 11:00", "type": "waitlist"}
    answer = member.ask("POST", "/v1/leases", {**body, "deadline": "2031-05-03 00:00", "reservations": [hosts()]})
    assert answer.status_code == 201, answer.text
    assert {name: str(each["status"]) for name, each in events(member, url).items()} == {
        "has it": "CONFIRMED",
        "waits": "TENTATIVE",
    }


def test_a_feed_has_its_project_or_its_user_alone(member: Client) -> None:
    mate, stranger = member.but(user="bob"), member.but(user="eve", project="other")
    lease(member, "mine", "2031-05-02 09:00", "2031-05-02 10:00")
    lease(mate, "the mate's", "2031-05-02 10:00", "2031-05-02 11:00")
    lease(stranger, "the stranger's", "2031-05-02 11:00", "2031-05-02 12:00")
    assert events(member, made(member)["url"]).keys() == {"mine", "the mate's"}
    assert events(member, made(member, own=True)["url"]).keys() == {"mine"}
    assert events(member, made(stranger)["url"]).keys() == {"the stranger's"}


def test_what_ended_long_ago_is_left_out(member: Client, clock: Clock) -> None:
    url = made(member)["url"]
    lease(member, "soon", "2031-05-02 09:00", "2031-05-02 10:00")
    clock.now += feeds.KEPT
    assert events(member, url).keys() == {"soon"}
    clock.now += timedelta(days=2)
    assert events(member, url) == {}


def test_other_projects_neither_see_nor_delete_it_and_readers_make_none(member: Client, admin: Client) -> None:
    feed = made(member)
    stranger = member.but(user="eve", project="other")
    one = f"{PATH}/{feed['id']}"
    assert stranger.ask("GET", PATH).json == {"feeds": []}
    assert [stranger.ask(method, one).status_code for method in ("GET", "DELETE")] == [403, 403]
    assert member.ask("GET", PATH, query_string="all_projects=true").status_code == 403
    listed = admin.but(version="1.3").ask("GET", PATH, query_string="all_projects=true").json["feeds"]
    assert [each["id"] for each in listed] == [feed["id"]]
    assert "url" not in listed[0]


@pytest.mark.parametrize("version", ["1.0", "1.2"])
def test_before_13_there_are_no_feeds_but_their_addresses_answer(member: Client, version: str) -> None:
    url = made(member)["url"]
    assert member.but(version=version).ask("GET", PATH).status_code == 404
    assert member.but(version=version).ask("POST", PATH, {}).status_code == 404
    assert read(member, url).status_code == 200


def test_whatever_is_not_a_token_is_404_and_repeated_nowhere(member: Client, caplog: pytest.LogCaptureFixture) -> None:
    feed = made(member)
    token = urlsplit(feed["url"]).path.removeprefix(f"{PATH}/").removesuffix(".ics")
    ident, secret = UUID(feed["id"]).hex, token[32:]
    wrong = ["x", ident, secret, token[:-1], f"{token}A", f"{ident[::-1]}{secret}", f"{ident}{secret[::-1]}", "ü" * 40]
    with caplog.at_level(logging.DEBUG):
        answers = [read(member, f"/v1/feeds/{each}.ics") for each in (*wrong, feed["id"])]
        assert read(member, feed["url"]).status_code == 200
    assert {answer.status_code for answer in answers} == {404}
    assert {answer.json["code"] for answer in answers} == {"leasehold.feeds.unknown"}
    assert len({answer.json["error_message"] for answer in answers}) == 1
    assert secret not in caplog.text
    assert ident not in caplog.text
    assert member.web.simulate_delete(urlsplit(feed["url"]).path).status_code == 405


def test_the_database_has_no_secret(member: Client, service: Service) -> None:
    url = made(member)["url"]
    secret = url.removesuffix(".ics").rpartition("/")[2][32:]
    (kept,) = feeds.FEEDS.page(service, None)
    assert kept.digest == digest_of(secret)
    assert secret not in repr(kept)


def test_a_project_has_so_many(member: Client) -> None:
    for _ in range(100):
        made(member)
    refused = member.ask("POST", PATH, {})
    assert (refused.status_code, refused.json["code"]) == (403, "leasehold.feeds.too_many")
    assert refused.json["details"] == {"limit": 100}
    made(member.but(project="other"))


def limited(service: Service, settings: ApiSettings, rates: RateSettings, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(rate_limit.RateLimit.__init__, "__defaults__", (Ticks(),))
    return Client(LocalClient(make_app(service, replace(settings, rates=rates))), version="1.3")


def test_reading_counts_for_the_project_of_the_feed(
    service: Service, settings: ApiSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = limited(service, settings, RateSettings(requests=3), monkeypatch)
    url = made(client)["url"]
    assert [read(client, url).status_code for _ in range(3)] == [200, 200, 429]
    assert client.but(project="other").ask("GET", PATH).status_code == 200


def test_guessing_counts_as_failed_logins_do(
    service: Service, settings: ApiSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = limited(service, settings, RateSettings(failures=2), monkeypatch)
    url = made(client)["url"]
    assert [read(client, url).status_code for _ in range(4)] == [200] * 4
    assert [read(client, url.replace(".ics", "x.ics")).status_code for _ in range(3)] == [404, 404, 429]
    assert read(client, url).status_code == 429


def test_a_lease_without_an_end_says_so(service: Service, settings: ApiSettings, host: str, client: Client) -> None:
    assert host
    leases = replace(service.settings.leases, open_ended=timedelta(days=30))
    opened = replace(service, settings=replace(service.settings, leases=leases))
    site = Client(LocalClient(make_app(opened, settings)), version="1.3")
    boss = site.but(user="admin", roles="admin,member,reader")
    url = made(boss)["url"]
    body = {"name": "for good", "start_date": "2031-05-02 09:00", "open_ended": True, "reservations": [hosts()]}
    answer = boss.ask("POST", "/v1/leases", body)
    assert answer.status_code == 201, answer.text
    (event,) = events(client, url).values()
    assert "It has no end" in str(event["description"])
