"""Feature L9 over HTTP: what a lease was at a moment, what has changed since, and which leases were deleted."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from leasehold.db.past.history import purge
from leasehold.db.tables import outbox
from tests.factory import floating_ips, hosts, instances, run_manager, run_until
from tests.v1.world import ADMIN, MEMBER, World, plant, world

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from falcon import testing

pytestmark = pytest.mark.slow

V1_3 = {"OpenStack-API-Version": "reservation 1.3"}
OWNER, BOSS = {**MEMBER, **V1_3}, {**ADMIN, "X-User-Id": "root", "X-Project-Id": "operators", **V1_3}
OTHER = {**OWNER, "X-Project-Id": "other"}
SECOND = timedelta(seconds=1)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[World]:
    """Yield a service with three hosts and an address, whose client is a member of `demo` at 1.3."""
    with world(plant(tmp_path)) as made:
        for name in ("cmp-01", "cmp-02", "gpu-03"):
            made.enrol(name)
        made.enrol_addresses(1)
        yield World(made.inside, made.web, OWNER)


@dataclass
class Diary:
    """What GET answers of a lease, to its owner and to an administrator, kept after each step."""

    site: World
    ident: str
    pages: list[tuple[str, Mapping[str, str], testing.Result, Any]] = field(default_factory=list)

    def write(self) -> None:
        """Keep the answers of this second, and go on to the next."""
        now = f"{self.site.now:%Y-%m-%dT%H:%M:%S.%f}"
        for who in (OWNER, BOSS):
            shown = self.site.ask("GET", f"/leases/{self.ident}", headers=who)
            held = None
            if shown.status_code == 200:
                found = self.site.get(f"/leases/{self.ident}/resources", headers=who)["reservations"]
                held = {
                    (part["reservation_id"], each["name"], each["slots"])
                    for part in found
                    for each in part["resources"]
                    if not each["left"] and each["start_date"] <= now < each["end_date"]
                }
            self.pages.append((self.site.now.isoformat(), who, shown, held))
        self.site.inside.clock.advance(seconds=1)

    def compare(self) -> None:
        """Compare all of it with what the service says of these moments now."""
        for moment, who, shown, held in self.pages:
            then = past(self.site, self.ident, moment, who)
            assert then.status_code == shown.status_code, (moment, then.text)
            if held is not None:
                assert then.json["lease"] == shown.json["lease"], moment
                names = {(each["reservation_id"], each["name"], each["slots"]) for each in then.json["held"]}
                assert names == held, moment


def past(site: World, ident: str, moment: str, who: Mapping[str, str] = OWNER) -> testing.Result:
    return site.ask("GET", f"/leases/{ident}", headers=who, params={"as_of": moment})


def history(site: World, ident: str, who: Mapping[str, str] = OWNER, **query: str) -> Any:
    return site.get(f"/leases/{ident}/history", headers=who, params=query)


def wants(site: World, **changes: Any) -> dict[str, Any]:
    dates = {"start_date": site.date(hours=1), "end_date": site.date(hours=3)}
    return site.lease(*([hosts()] if changes else [hosts(), floating_ips()]), **dates, **changes)


def test_a_lease_is_shown_as_get_has_shown_it_at_that_moment(site: World) -> None:
    lease = wants(site)
    diary = Diary(site, lease["id"])
    diary.write()
    run_manager(site.inside)
    diary.write()
    for change in ({"name": "new"}, {"end_date": site.date(hours=5)}, {"before_end_date": site.date(hours=4)}):
        assert site.ask("PUT", f"/leases/{lease['id']}", change).status_code == 200
        diary.write()
    run_until(site.inside, site.inside.hour(2))
    diary.write()
    site.inside.fail("cmp-01")
    diary.write()
    run_manager(site.inside)
    diary.write()
    assert site.ask("DELETE", f"/leases/{lease['id']}", headers=BOSS).status_code == 204
    diary.write()
    run_manager(site.inside)
    diary.write()
    assert {shown.status_code for _, _, shown, _ in diary.pages} == {200, 404}
    assert {len(held) for _, _, _, held in diary.pages if held is not None} >= {0, 2}
    diary.compare()
    run_until(site.inside, site.inside.hour(48))
    diary.compare()


def test_the_history_says_what_has_changed_when_by_whom_and_what_was_held(site: World) -> None:
    lease, made_at = wants(site), site.now
    site.inside.clock.advance(minutes=1)
    assert site.ask("PUT", f"/leases/{lease['id']}", {"name": "new", "end_date": site.date(hours=4)}).status_code == 200
    run_until(site.inside, site.inside.hour(2))
    assert site.ask("DELETE", f"/leases/{lease['id']}", headers=BOSS).status_code == 204
    run_manager(site.inside)
    found, of_boss = history(site, lease["id"]), history(site, lease["id"], BOSS)
    told = ("lease.create", "lease.update", "lease.starting", "lease.event.start_lease")
    changes = {each["type"]: each for each in found["changes"]}
    assert [each["type"] for each in found["changes"] if each["type"]] == [*told, "lease.deleting", "lease.delete"]
    by = {name: (each["by"], each["user_id"]) for name, each in changes.items()}
    assert by["lease.create"] == by["lease.update"] == ("project", "alice")
    assert by["lease.starting"] == by["lease.delete"] == ("service", None)
    assert by["lease.deleting"] == ("operator", None)
    assert {each["user_id"] for each in of_boss["changes"]} == {"alice", "root", None}
    assert changes["lease.create"]["time"] == made_at.isoformat()
    assert not any(values[0] for values in _values(changes["lease.create"]).values())
    assert _values(changes["lease.update"])["lease", "name"] == ("lease", "new")
    assert _values(changes["lease.update"])["lease", "end_date"][0] == lease["end_date"]
    assert _values(changes["lease.starting"])["lease", "status"] == ("PENDING", "STARTING")
    assert all(each["whole"] for each in found["changes"])
    assert found["deleted_at"] is not None
    assert {(each["start_date"], each["going_on"]) for each in found["held"]} == {(lease["start_date"], False)}
    names = {each["resource_type"]: each["name"] for each in found["held"]}
    assert names == {"physical:host": None, "virtual:floatingip": "203.0.113.200"}
    assert all(each["name"] for each in of_boss["held"])
    ids = [each["id"] for each in found["changes"]]
    paged = history(site, lease["id"], limit="2", marker=ids[1])["changes"]
    assert paged == found["changes"][2:4]


def _values(change: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Any, Any]]:
    return {(each["part"], each["key"]): (each["before"], each["after"]) for each in change["changes"]}


def test_deleted_leases_are_listed_for_their_project_until_they_are_purged(site: World) -> None:
    kept, gone = wants(site), wants(site, name="gone")
    offer = {"name": "o", "start_date": site.date(hours=6), "end_date": site.date(hours=7)}
    made = site.ask("POST", "/offers", offer).json["offer"]["id"]
    assert site.ask("DELETE", f"/leases/{gone['id']}").status_code == 204
    assert site.ask("DELETE", f"/offers/{made}").status_code == 204

    def deleted(who: Mapping[str, str], **query: str) -> list[str]:
        found = site.get("/leases", headers=who, params={"deleted": "true", **query})["leases"]
        assert all(each["deleted_at"] for each in found)
        return [each["id"] for each in found]

    assert [each["id"] for each in site.get("/leases")["leases"]] == [kept["id"]]
    assert deleted(OWNER) == deleted(BOSS) == deleted(OWNER, name="gone", sort="end_date:desc") == [gone["id"]]
    assert deleted(OTHER) == deleted(OWNER, name="other") == []
    assert site.ask("GET", "/leases", params={"deleted": "maybe"}).json["field"] == "deleted"
    # An offer that nobody has accepted never was a lease.
    assert site.ask("GET", f"/leases/{made}/history").status_code == 404
    assert past(site, made, site.now.isoformat()).status_code == 404
    run_manager(site.inside)
    run_until(site.inside, site.inside.hour(100))
    assert purge(site.inside.engine, site.now, timedelta(days=1), dry_run=False)["leases"] == 3
    assert deleted(BOSS) == []
    assert site.ask("GET", f"/leases/{gone['id']}/history").json["code"] == "leasehold.not_found"


def test_only_the_project_and_administrators_see_the_past_from_1_3_on(site: World) -> None:
    lease = wants(site)
    path, now = f"/leases/{lease['id']}", site.now.isoformat()
    assert site.ask("GET", f"{path}/history", headers=OTHER).status_code == 403
    assert past(site, lease["id"], now, OTHER).status_code == 403
    v1_2 = {**OWNER, "OpenStack-API-Version": "reservation 1.2"}
    v1_1 = {**OWNER, "OpenStack-API-Version": "reservation 1.1"}
    assert site.ask("GET", f"{path}/history", headers=v1_2).status_code == 404
    assert past(site, lease["id"], now, v1_2).json["code"] == "leasehold.input.unknown"
    assert past(site, lease["id"], "ignored", v1_1).json["lease"]["id"] == lease["id"]
    assert site.ask("DELETE", path).status_code == 204
    assert site.ask("GET", path).status_code == 404
    assert site.ask("GET", f"{path}/history", headers=OTHER).status_code == 403
    assert past(site, lease["id"], now, v1_1).status_code == 404
    assert site.ask("GET", "/leases", headers=v1_1, params={"deleted": "true"}).json["leases"] == []


def test_a_moment_without_the_lease_is_refused_with_a_sentence(site: World) -> None:
    lease, before = wants(site), (site.now - SECOND).isoformat()
    site.inside.clock.advance(minutes=1)
    early = past(site, lease["id"], before)
    assert (early.status_code, early.json["code"]) == (404, "leasehold.lease.not_then")
    future = past(site, lease["id"], (site.now + SECOND).isoformat())
    assert (future.status_code, future.json["field"]) == (400, "as_of")
    for text in (
        "yesterday",
        "2031-05-01T09:00:00",
        "2031-05-01T09:00:00.1234567Z",
        "\0",
        "x" * 1000,
        "9999-12-31T23:59:59Z",
    ):
        wrong = past(site, lease["id"], text)
        assert (wrong.status_code, wrong.json["field"]) == (400, "as_of"), text
    assert past(site, lease["id"], "now").json["lease"] == site.show(lease)


def test_what_an_older_version_has_recorded_is_shown_and_not_completed(site: World) -> None:
    lease, made_at = wants(site), site.now.isoformat()
    site.inside.clock.advance(minutes=1)
    run_manager(site.inside)
    with site.inside.engine.begin() as connection:
        mine = outbox.c.lease_id == lease["id"]
        state = connection.execute(select(outbox.c.lease_state).where(mine)).scalar_one()
        older = {key: value for key, value in state.items() if key not in ("whole", "by")}
        connection.execute(update(outbox).where(mine).values(lease_state=older, generation=None))
    first, second = history(site, lease["id"])["changes"]
    assert (first["whole"], first["by"], second["whole"], second["by"]) == (False, None, True, "service")
    assert _values(first)["lease", "name"] == (None, "lease")
    refused = past(site, lease["id"], made_at)
    assert (refused.status_code, refused.json["code"]) == (410, "leasehold.history.not_kept")
    assert past(site, lease["id"], second["time"]).json["lease"] == site.show(lease)


def test_a_lease_that_was_an_offer_begins_when_the_offer_is_accepted(site: World) -> None:
    asked = {
        "name": "o",
        "start_date": site.date(hours=6),
        "end_date": site.date(hours=7),
        "reservations": [instances()],
    }
    ident, made_at = site.ask("POST", "/offers", asked).json["offer"]["id"], site.now.isoformat()
    assert past(site, ident, made_at).status_code == 404
    site.inside.clock.advance(minutes=1)
    lease = site.ask("POST", f"/offers/{ident}/accept").json["lease"]
    assert past(site, ident, made_at).json["code"] == "leasehold.lease.not_then"
    (change,) = history(site, lease["id"])["changes"]
    assert (change["type"], change["by"], change["user_id"]) == ("lease.create", "project", "alice")
