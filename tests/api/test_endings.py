"""What happens to servers when a lease ends, in the API: from microversion 1.2 on (features E2, E4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from leasehold.features.subscription.settings import DeliverySettings, EmailSettings
from tests.api.conftest import Client
from tests.api.test_leases import HOST, MAKE, made, make
from tests.factory import flavors, floating_ips, instances
from tests.web import LocalClient

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service

ENDING = {"on_end": "recycle", "grace_seconds": 600, "recycle_seconds": 7200}


@pytest.fixture
def new(client: Client, host: str) -> Client:
    assert host
    return client.but(version="1.2")


def shown(client: Client, lease: dict[str, Any], version: str) -> dict[str, Any]:
    answer = client.but(version=version).ask("GET", f"/v1/leases/{lease['id']}")
    part: dict[str, Any] = answer.json["lease"]["reservations"][0]
    return {key: part[key] for key in ENDING if key in part}


def test_a_reservation_says_how_it_ends(new: Client) -> None:
    lease = made(new, reservations=[{**HOST, **ENDING}])
    assert shown(new, lease, "1.2") == ENDING
    assert shown(new, lease, "1.1") == {}
    change = [{"id": lease["reservations"][0]["id"], "on_end": "delete"}]
    new.ask("PUT", f"/v1/leases/{lease['id']}", {"reservations": change})
    assert shown(new, lease, "1.2") == {"on_end": "delete", "grace_seconds": 600, "recycle_seconds": 0}


def test_servers_are_deleted_at_once_unless_asked_otherwise(new: Client) -> None:
    lease = made(new, reservations=[HOST])
    assert shown(new, lease, "1.2") == {"on_end": "delete", "grace_seconds": 0, "recycle_seconds": 0}


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_older_versions_ignore_the_keys(new: Client, version: str) -> None:
    harmless = {"on_end": "delete", "grace_seconds": [], "on_start": "default"}
    lease = made(new.but(version=version), reservations=[{**HOST, **harmless}])
    assert shown(new, lease, "1.2") == {"on_end": "delete", "grace_seconds": 0, "recycle_seconds": 0}
    change = [{"id": lease["reservations"][0]["id"], "grace_seconds": 600}]
    new.but(version=version).ask("PUT", f"/v1/leases/{lease['id']}", {"reservations": change})
    assert shown(new, lease, "1.2")["grace_seconds"] == 0


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3"])
@pytest.mark.parametrize(
    ("asked", "word"),
    [
        (HOST, {"on_start": "orchestration:STACK"}),
        (HOST, {"on_start": ["orchestration:STACK"]}),
        (flavors(), {"on_start": "orchestration:STACK"}),
        (HOST, {"on_end": "resurrect"}),
        (instances(), {"before_end": "resurrect"}),
        (floating_ips(), {"before_end": "snapshot"}),
    ],
)
def test_a_word_for_an_action_that_is_not_carried_out_is_refused(
    new: Client, version: str, asked: dict[str, Any], word: dict[str, Any]
) -> None:
    asker, (key,) = new.but(version=version), word
    refused = asker.ask("POST", "/v1/leases", {**MAKE, "reservations": [{**asked, **word}]})
    assert (refused.status_code, refused.json["field"]) == (400, f"reservations[0].{key}"), refused.text
    lease = made(new, reservations=[HOST])
    change = [{"id": lease["reservations"][0]["id"], "on_start": "orchestration:STACK"}]
    refused = asker.ask("PUT", f"/v1/leases/{lease['id']}", {"reservations": change})
    assert (refused.status_code, refused.json["field"]) == (400, "reservations[0].on_start")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"on_end": "keep"}, "on_end"),
        ({"grace_seconds": "soon"}, "grace_seconds"),
        ({"grace_seconds": 10**9}, "grace_seconds"),
        ({"recycle_seconds": 60}, "recycle_seconds"),
        ({"on_end": "recycle"}, "recycle_seconds"),
    ],
)
def test_a_wrong_ending_is_refused_with_its_field(new: Client, wrong: dict[str, Any], field: str) -> None:
    answer = make(new, reservations=[{**HOST, **wrong}])
    assert answer.status_code == 400
    assert answer.json["field"].endswith(field)
    assert new.ask("GET", "/v1/leases").json["leases"] == []


def test_hosts_are_given_back_if_an_administrator_asks(new: Client) -> None:
    give = {"on_end": "give_back"}
    refused = make(new, reservations=[{**HOST, **give}])
    assert (refused.status_code, refused.json["code"]) == (403, "leasehold.auth.forbidden")
    assert refused.json["details"]["rule"] == "leasehold:leases:give_back"
    lease = made(new, reservations=[HOST])
    part = {"id": lease["reservations"][0]["id"], **give}
    path, body = f"/v1/leases/{lease['id']}", {"reservations": [part]}
    assert new.ask("PUT", path, body).status_code == 403
    operator = new.but(user="admin", roles="admin,member,reader")
    assert operator.ask("PUT", path, body).status_code == 200
    assert shown(new, lease, "1.2") == {"on_end": "give_back", "grace_seconds": 0, "recycle_seconds": 0}
    # What is so already may be sent again.
    assert new.ask("PUT", path, body).status_code == 200
    assert new.ask("PUT", path, {"reservations": [{**part, "on_end": "delete"}]}).status_code == 200
    assert shown(new, lease, "1.2")["on_end"] == "delete"
    asked = {"start_date": "2031-06-01 10:00", "end_date": "2031-06-01 11:00", "rule": "FREQ=DAILY;COUNT=2"}
    series = {"name": "many", "time_zone": "UTC", **asked, "reservations": [{**HOST, **give}]}
    assert new.ask("POST", "/v1/series", series).status_code == 403
    assert operator.ask("POST", "/v1/series", series).status_code == 201


def test_a_member_adds_no_hosts_to_those_that_are_given_back(new: Client) -> None:
    """An administrator has agreed to one host; more of them need the policy again, with and without the word."""
    operator = new.but(user="admin", roles="admin,member,reader")
    parts = [{**HOST, "max": 2, "on_end": "give_back"}]
    dates = {"start_date": "2031-06-01 10:00", "end_date": "2031-06-01 11:00"}
    lease = operator.ask("POST", "/v1/leases", {"name": "one", **dates, "reservations": parts}).json["lease"]
    series = {"name": "many", "rule": "FREQ=DAILY;COUNT=2", "time_zone": "UTC", "reservations": parts}
    later = {"start_date": "2031-07-01 10:00", "end_date": "2031-07-01 11:00"}
    many = operator.ask("POST", "/v1/series", {**series, **later}).json["series"]
    change = {"id": lease["reservations"][0]["id"]}
    for path, one in ((f"/v1/leases/{lease['id']}", change), (f"/v1/series/{many['id']}", {})):
        for more in ({"max": 3}, {"max": "3"}, {"max": 3, "on_end": "give_back"}):
            refused = new.ask("PUT", path, {"reservations": [{**one, **more}]})
            assert (refused.status_code, refused.json["code"]) == (403, "leasehold.auth.forbidden"), refused.json
        for less in ({"max": 1}, {"max": 2}, {"on_end": "give_back"}, {"max": 3, "on_end": "delete"}):
            assert new.ask("PUT", path, {"reservations": [{**one, **less}]}).status_code == 200
            again = {**one, "max": 2, "on_end": "give_back"}
            assert operator.ask("PUT", path, {"reservations": [again]}).status_code == 200
        assert operator.ask("PUT", path, {"reservations": [{**one, "max": 3}]}).status_code == 200


@pytest.mark.parametrize("how", ["lease", "dry run", "offer", "series", "template"])
def test_no_way_in_gives_hosts_back_or_keeps_servers_for_too_long(new: Client, how: str) -> None:
    newest = new.but(version="1.3")
    dates = {"start_date": "2031-06-01 10:00", "end_date": "2031-06-01 11:00"}
    paths = {"offer": "/v1/offers", "series": "/v1/series"}
    more: dict[str, Any] = {"series": {"rule": "FREQ=DAILY;COUNT=2", "time_zone": "UTC"}, "dry run": {"dry_run": True}}

    def asked(ending: dict[str, Any]) -> Any:
        body: dict[str, Any] = {"name": "in", **dates, **more.get(how, {}), "reservations": [{**HOST, **ending}]}
        if how != "template":
            return newest.ask("POST", paths.get(how, "/v1/leases"), body)
        kept = newest.ask("POST", "/v1/lease-templates", {"name": "kept", "reservations": body.pop("reservations")})
        if kept.status_code != 201:
            return kept
        answer = newest.ask("POST", "/v1/leases", {**body, "template": "kept"})
        newest.ask("DELETE", f"/v1/lease-templates/{kept.json['template']['id']}")
        return answer

    assert asked({"on_end": "give_back"}).status_code == 403
    for ending in ({"on_end": "recycle", "recycle_seconds": 10**9}, {"grace_seconds": 10**9}):
        refused = asked(ending)
        assert (refused.status_code, refused.json["field"].split(".")[-1]) == (400, list(ending)[-1])
    for path in ("/v1/leases", "/v1/offers", "/v1/series"):
        assert next(iter(newest.ask("GET", path).json.values())) == []


def test_instances_are_not_given_back(new: Client) -> None:
    size = {"vcpus": 1, "memory_mb": 512, "disk_gb": 1, "amount": 1, "affinity": None, "resource_properties": ""}
    asked = {"resource_type": "virtual:instance", **size, "on_end": "give_back"}
    answer = make(new.but(user="admin", roles="admin,member,reader"), reservations=[asked])
    assert (answer.status_code, answer.json["field"]) == (400, "reservations[0].on_end")
    assert "'delete' or 'recycle'" in answer.json["error_message"]


def test_reservations_of_instances_have_a_before_end_from_1_2_on(new: Client) -> None:
    size = {"vcpus": 1, "memory_mb": 512, "disk_gb": 1, "amount": 1, "affinity": None, "resource_properties": ""}
    asked = {"resource_type": "virtual:instance", **size, "before_end": "snapshot"}
    refused = make(new.but(version="1.1"), reservations=[asked])
    assert (refused.status_code, refused.json["field"]) == (400, "reservations[0].before_end")
    old = made(new.but(version="1.1"), reservations=[{**asked, "before_end": ""}])
    assert "before_end" not in old["reservations"][0]
    newer = made(new, reservations=[asked])
    parts = [new.ask("GET", f"/v1/leases/{each['id']}").json["lease"]["reservations"][0] for each in (old, newer)]
    assert [part["before_end"] for part in parts] == ["", "snapshot"]
    assert [part["images"] for part in parts] == [[], []]
    assert "images" not in old["reservations"][0]


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3"])
def test_an_e_mail_before_the_end_is_granted_to_who_gets_it(
    service: Service, settings: ApiSettings, host: str, version: str
) -> None:
    assert host
    delivery = DeliverySettings(email=EmailSettings(host="127.0.0.1", allowed_domains=("example.org",)))
    mailing = replace(service, settings=service.settings.having(delivery))
    member = Client(LocalClient(make_app(mailing, settings)), version=version)
    lease = made(member, reservations=[HOST])
    path, change = f"/v1/leases/{lease['id']}", [{"id": lease["reservations"][0]["id"], "before_end": "email"}]
    asked = {**HOST, "before_end": "email"}
    later = {"start_date": "2031-05-02 10:00", "end_date": "2031-05-02 12:00"}
    for answer in (
        make(member, **later, reservations=[asked]),
        member.ask("PUT", path, {"reservations": change}),
        member.but(version="1.3").ask("POST", "/v1/lease-templates", {"name": "t", "reservations": [asked]}),
    ):
        assert (answer.status_code, answer.json["field"]) == (400, "reservations[0].before_end"), answer.text
        assert "POST /v1/subscriptions" in answer.json["error_message"]
    wish = {"channel": "email", "target": "mailto:alice@example.org"}
    assert member.but(version="1.3").ask("POST", "/v1/subscriptions", wish).status_code == 201
    assert made(member, **later, reservations=[asked])["reservations"][0]["before_end"] == ""
    assert member.ask("PUT", path, {"reservations": change}).status_code == 200
    assert make(member, **later, reservations=[{**INSTANCES, "before_end": ["email"]}]).status_code == 400
    if version in ("1.2", "1.3"):
        third = {"start_date": "2031-05-03 10:00", "end_date": "2031-05-03 12:00"}
        assert made(member, **third, reservations=[{**INSTANCES, "before_end": "email"}])


def test_servers_of_hosts_are_shelved_from_1_2_on(new: Client) -> None:
    asked = {**HOST, "before_end": "shelve"}
    lease = made(new, reservations=[asked])
    part = new.ask("GET", f"/v1/leases/{lease['id']}").json["lease"]["reservations"][0]
    assert (part["before_end"], part["shelved"]) == ("shelve", [])
    change = [{"id": part["id"], "before_end": "shelve"}]
    for version in ("1.0", "1.1"):
        old = new.but(version=version)
        assert "shelved" not in old.ask("GET", f"/v1/leases/{lease['id']}").json["lease"]["reservations"][0]
        refused = make(old, reservations=[HOST, asked])
        again = old.ask("PUT", f"/v1/leases/{lease['id']}", {"reservations": change})
        assert [refused.status_code, again.status_code] == [400, 400]
        said = "'shelve' needs microversion 1.2: ask for that, or for 'snapshot'."
        assert said in refused.json["error_message"]
        assert said in again.json["error_message"]
        assert old.ask("PUT", f"/v1/leases/{lease['id']}", {"name": "other"}).status_code == 200


def test_servers_of_instances_are_not_shelved(new: Client) -> None:
    size = {"vcpus": 1, "memory_mb": 512, "disk_gb": 1, "amount": 1, "affinity": None, "resource_properties": ""}
    asked = {"resource_type": "virtual:instance", **size, "before_end": "shelve"}
    answer = make(new, reservations=[HOST, asked])
    assert (answer.status_code, answer.json["field"]) == (400, "reservations[1].before_end")
    assert "ask for 'snapshot', or reserve hosts" in answer.json["error_message"]
    older = make(new.but(version="1.1"), reservations=[asked])
    assert (older.status_code, older.json["field"]) == (400, "reservations[0].before_end")


SIZE = {"vcpus": 1, "memory_mb": 512, "disk_gb": 1, "amount": 1, "affinity": None, "resource_properties": ""}
INSTANCES = {"resource_type": "virtual:instance", **SIZE}


@pytest.mark.parametrize("asked", [HOST, INSTANCES], ids=["hosts", "instances"])
def test_a_list_of_actions_is_taken_and_shown_from_1_3_on(new: Client, asked: dict[str, Any]) -> None:
    newest = new.but(version="1.3")
    wanted = {**asked, "before_end": ["suspend", "snapshot"], "grace_seconds": 60}
    lease = made(newest, reservations=[wanted])
    path = f"/v1/leases/{lease['id']}"
    (part,) = lease["reservations"]
    assert (part["before_end"], part["suspended"]) == (["snapshot", "suspend"], [])
    older = new.ask("GET", path).json["lease"]["reservations"][0]
    assert older["before_end"] == "snapshot,suspend"
    assert "suspended" not in older
    for value, shown in ((["snapshot"], "snapshot"), ([], ""), ("suspend", "suspend"), (part["before_end"],) * 2):
        change = [{"id": part["id"], "before_end": value}]
        answer = newest.ask("PUT", path, {"reservations": change})
        assert answer.status_code == 200, answer.text
        assert answer.json["lease"]["reservations"][0]["before_end"] == shown


@pytest.mark.parametrize("value", ["suspend", ["snapshot"], [], "snapshot,suspend", ["suspend", "snapshot"]])
@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_older_versions_have_neither_lists_nor_suspend(new: Client, version: str, value: Any) -> None:
    old, newest = new.but(version=version), new.but(version="1.3")
    lease = made(newest, reservations=[HOST])
    change = [{"id": lease["reservations"][0]["id"], "before_end": value}]
    refused = make(old, reservations=[HOST, {**HOST, "before_end": value}])
    again = old.ask("PUT", f"/v1/leases/{lease['id']}", {"reservations": change})
    assert [refused.status_code, again.status_code] == [400, 400]
    assert refused.json["error_message"] == (
        "A list of actions needs microversion 1.3, and so does 'suspend': ask for that, or for 'snapshot'."
    )
    if version == "1.2":
        assert [each.json["field"] for each in (refused, again)] == [f"reservations[{n}].before_end" for n in (1, 0)]
        refused = make(old, reservations=[{**INSTANCES, "before_end": value}])
        assert (refused.status_code, refused.json["field"]) == (400, "reservations[0].before_end")
    else:
        # The key of reservations of instances is from 1.2 on; before, only what asks for nothing is ignored.
        later = {"start_date": "2031-05-07 10:00", "end_date": "2031-05-07 12:00"}
        answer = make(old, **later, reservations=[{**INSTANCES, "before_end": value}])
        assert answer.status_code == (400 if value else 201)


def test_older_versions_have_neither_lists_nor_suspend_in_a_series(new: Client) -> None:
    asked: dict[str, Any] = {
        "name": "weekly",
        "start_date": "2031-05-05 10:00",
        "end_date": "2031-05-05 12:00",
        "time_zone": "UTC",
    }
    asked |= {"rule": "FREQ=WEEKLY;COUNT=2", "reservations": [{**HOST, "before_end": ["snapshot"]}]}
    refused = new.ask("POST", "/v1/series", asked)
    assert (refused.status_code, refused.json["field"]) == (400, "reservations[0].before_end")
    series = new.but(version="1.3").ask("POST", "/v1/series", asked)
    assert series.status_code == 201, series.text
    again = new.ask("PUT", f"/v1/series/{series.json['series']['id']}", {"reservations": [{"before_end": ["shelve"]}]})
    assert (again.status_code, again.json["field"]) == (400, "reservations[0].before_end")


def test_hosts_keep_their_own_before_end_in_every_version(new: Client) -> None:
    lease = made(new.but(version="1.0"), reservations=[{**HOST, "before_end": "snapshot"}])
    assert lease["reservations"][0]["before_end"] == "snapshot"
    change = [{"id": lease["reservations"][0]["id"], "before_end": ""}]
    amended = new.but(version="1.0").ask("PUT", f"/v1/leases/{lease['id']}", {"reservations": change})
    assert amended.json["lease"]["reservations"][0]["before_end"] == ""
