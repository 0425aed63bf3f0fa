"""Lease templates by the API (decision 0083): kept for a project or for all, and used by requests that name one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.models.lease import LONGEST_SPAN
from leasehold.cmd.web import make_app
from leasehold.features.template import use as templates
from leasehold.features.template.model import KEYS
from leasehold.features.template.options import TemplateSettings
from leasehold.resource_types.registry import load_types
from tests.factory import hosts
from tests.web import LocalClient

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

pytestmark = pytest.mark.slow

PATH = "/v1/lease-templates"
HOUR: dict[str, Any] = {"duration_seconds": 3600, "reservations": [hosts()]}
NOBODYS = {"resource_properties": '["==", "$nobody", "1"]'}
NO_NUMBER = {"resource_properties": '[">", "$vcpus", "many"]'}
WHEN = {"name": "l", "start_date": "2031-05-02 10:00"}


@pytest.fixture
def member(client: Client, host: str) -> Client:
    """Return a member of a project, where there is one host."""
    assert host
    return client.but(version="1.3")


@pytest.fixture
def boss(member: Client) -> Client:
    return member.but(user="admin", project="staff", roles="admin,member,reader")


def made(client: Client, name: str = "course", **body: Any) -> Any:
    answer = client.ask("POST", PATH, {"name": name, **body})
    assert answer.status_code == 201, answer.text
    return answer.json["template"]


def leased(client: Client, word: str, **body: Any) -> Any:
    answer = client.ask("POST", "/v1/leases", {**WHEN, "template": word, **body})
    assert answer.status_code == 201, answer.text
    return answer.json["lease"]


def refused(client: Client, method: str, path: str, body: Any) -> tuple[int, str, str | None]:
    """Return the status, the code without its first word, and the field of a refusal."""
    answer = client.ask(method, path, body)
    assert answer.status_code >= 400, answer.text
    return answer.status_code, answer.json["code"].removeprefix("leasehold."), answer.json.get("field")


def test_a_template_is_made_listed_shown_changed_and_deleted(member: Client, clock: Clock) -> None:
    template = made(member, description="two hosts", **HOUR, retries=2, type="retry")
    assert template == {
        **dict.fromkeys(KEYS),
        **HOUR,
        "type": "retry",
        "retries": 2,
        "id": template["id"],
        "name": "course",
        "description": "two hosts",
        "public": False,
        "project_id": "demo",
        "user_id": "alice",
        "created_at": clock.now.isoformat(),
        "updated_at": None,
    }
    one = f"{PATH}/{template['id']}"
    assert member.ask("GET", PATH).json == {"templates": [template]}
    assert member.ask("GET", one).json == {"template": template}
    changes = {"name": "lab", "type": None, "retries": None, "duration_seconds": 60, "public": None}
    changed = member.ask("PUT", one, changes).json["template"]
    assert changed == {
        **template,
        "name": "lab",
        "type": None,
        "retries": None,
        "duration_seconds": 60,
        "updated_at": clock.now.isoformat(),
    }
    assert member.ask("GET", one).json == {"template": changed}
    assert member.ask("DELETE", one).status_code == 204
    assert member.ask("GET", one).status_code == 404


def test_a_lease_from_a_template_is_the_lease_of_the_whole_request(member: Client) -> None:
    kept: dict[str, Any] = {
        **HOUR,
        "events": [{"event_type": "mine"}],
        "heal_policy": "never",
        "reminder_seconds": [600],
        "type": "retry",
        "retries": 3,
        "retry_seconds": 60,
    }
    template = made(member, **kept)
    for word in (template["id"], "course"):
        lease = leased(member, word)
        member.ask("DELETE", f"/v1/leases/{lease['id']}")
        whole = member.ask("POST", "/v1/leases", {**WHEN, **kept}).json["lease"]
        member.ask("DELETE", f"/v1/leases/{whole['id']}")
        assert like(lease) == like(whole)
        assert len(lease["reservations"]) == 1


def like(value: Any) -> Any:
    """Return an answer without its ids, in an order that does not depend on them."""
    if isinstance(value, dict):
        return {key: like(one) for key, one in value.items() if key != "id" and not key.endswith("_id")}
    return sorted(map(like, value), key=repr) if isinstance(value, list) else value


@pytest.mark.parametrize("last", [{"end_date": "2031-05-02 12:00"}, {"duration_seconds": 7200}])
def test_an_end_of_the_request_wins_over_that_of_the_template(member: Client, last: dict[str, Any]) -> None:
    made(member, **HOUR)
    assert leased(member, "course", **last)["end_date"].startswith("2031-05-02T12:00")


def test_keys_of_the_request_win_also_with_null(member: Client) -> None:
    made(member, **HOUR, type="retry", retries=3, heal_policy="never", reminder_seconds=[60])
    lease = leased(member, "course", type="scheduled", heal_policy=None, reservations=[])
    assert (lease["type"], lease["retries"], lease["reservations"]) == ("scheduled", None, [])
    assert lease["heal_policy"] != "never"
    assert lease["reminder_seconds"] == [60]
    # A lease that is granted at once does not say how often it would have been tried.
    assert leased(member, "course")["type"] == "retry"
    assert leased(member, "course", retries=2)["retries"] == 2


def test_a_dry_run_an_offer_a_series_and_a_search_take_a_template(member: Client) -> None:
    made(member, **HOUR, type="retry", retries=3, events=[{"event_type": "mine"}])
    tried = member.ask("POST", "/v1/leases", {**WHEN, "template": "course", "dry_run": True})
    assert (tried.status_code, len(tried.json["lease"]["reservations"])) == (200, 1)
    found = member.ask("POST", "/v1/availability/search", {"template": "course"})
    assert found.json["windows"][0]["reservations"] == [{"resource_type": "physical:host", "amount": 1}]
    bound = {"template": "course", "end_date": "2031-05-01 10:00"}
    assert refused(member, "POST", "/v1/availability/search", bound) == (400, "input.date", "end_date")
    other = {"template": "course", "alternatives": [[hosts(2)], [hosts()]]}
    assert member.ask("POST", "/v1/availability/search", other).json["windows"][0]["alternative"] == 1
    offer = member.ask("POST", "/v1/offers", {**WHEN, "template": "course"})
    assert offer.json["offer"]["lease"]["end_date"].startswith("2031-05-02T11:00")
    daily = {**WHEN, "start_date": "2031-06-01 10:00", "rule": "FREQ=DAILY;COUNT=2", "template": "course"}
    series = member.ask("POST", "/v1/series", daily)
    assert [each["refused"] for each in series.json["series"]["occurrences"]] == [None, None]


def test_the_own_name_comes_before_a_public_one_and_an_id_before_both(member: Client, boss: Client) -> None:
    public = made(boss, **HOUR, public=True)
    assert leased(member, "course")["end_date"].startswith("2031-05-02T11:00")
    made(member, duration_seconds=7200)
    assert leased(member, "course")["end_date"].startswith("2031-05-02T12:00")
    clash = {"name": public["id"], "duration_seconds": 60}
    made(member, **clash)
    assert leased(member, public["id"], reservations=[])["end_date"].startswith("2031-05-02T11:00")


def test_other_projects_see_and_use_public_ones_alone(member: Client, boss: Client) -> None:
    own, public = made(member, **HOUR), made(boss, name="for all", **HOUR, public=True)
    stranger = member.but(user="eve", project="other")
    one = f"{PATH}/{own['id']}"
    assert [each["name"] for each in stranger.ask("GET", PATH).json["templates"]] == ["for all"]
    for method, body in (("GET", None), ("PUT", {"name": "x"}), ("DELETE", None)):
        assert stranger.ask(method, one, body).status_code == 403
    for word in (own["id"], "course"):
        lease = {**WHEN, "template": word}
        assert refused(stranger, "POST", "/v1/leases", lease) == (404, "templates.unknown", "template")
    shown = stranger.ask("GET", f"{PATH}/{public['id']}").json["template"]
    assert (shown["project_id"], shown["user_id"]) == (None, None)
    assert leased(stranger, "for all")["project_id"] == "other"
    assert member.ask("GET", PATH, query_string="all_projects=true").status_code == 403
    everything = boss.ask("GET", PATH, query_string="all_projects=true").json["templates"]
    assert {each["id"] for each in everything} == {own["id"], public["id"]}
    assert [each["id"] for each in member.ask("GET", PATH, query_string="public=true").json["templates"]] == [
        public["id"]
    ]


def test_its_maker_a_manager_and_an_administrator_change_it(member: Client, boss: Client) -> None:
    one = f"{PATH}/{made(member)['id']}"
    mate = member.but(user="bob")
    assert mate.ask("GET", one).status_code == 200
    rule = "leasehold:templates:put"
    assert mate.ask("PUT", one, {"description": "x"}).json["details"] == {"rule": rule}
    assert mate.ask("DELETE", one).status_code == 403
    assert member.but(roles="reader").ask("PUT", one, {}).status_code == 403
    for who in (member, mate.but(roles="manager,member,reader"), boss):
        assert who.ask("PUT", one, {"description": who.user}).json["template"]["description"] == who.user
    assert member.but(user="eve", project="other", roles="manager,member,reader").ask("DELETE", one).status_code == 403
    assert mate.but(roles="manager,member,reader").ask("DELETE", one).status_code == 204


def test_only_administrators_make_and_change_public_ones(member: Client, boss: Client) -> None:
    body = {"name": "x", "public": True}
    for method, path in (("POST", PATH), ("PUT", f"{PATH}/{made(member)['id']}")):
        answer = member.ask(method, path, body)
        assert (answer.status_code, answer.json["details"]) == (403, {"rule": "leasehold:templates:public"})
    public = made(boss, name="for all", public=True)
    # Who made it but is no administrator any more.
    once = boss.but(roles="member,reader")
    one = f"{PATH}/{public['id']}"
    assert [once.ask("PUT", one, {"public": False}).status_code, once.ask("DELETE", one).status_code] == [403, 403]
    assert boss.ask("PUT", one, {"public": False}).json["template"]["public"] is False
    assert member.ask("GET", one).status_code == 403
    assert once.ask("DELETE", one).status_code == 204


def test_names_are_unique_where_they_are_used(member: Client, boss: Client) -> None:
    first = made(member)
    taken = (409, "templates.name", "name")
    assert refused(member, "POST", PATH, {"name": "course"}) == taken
    made(member, "Course")
    other = made(member, "other")
    assert refused(member, "PUT", f"{PATH}/{other['id']}", {"name": "course"}) == taken
    made(member.but(project="other"))
    public = made(boss, public=True)
    assert refused(boss.but(project="staff 2"), "POST", PATH, {"name": "course", "public": True}) == taken
    assert refused(boss, "PUT", f"{PATH}/{first['id']}", {"public": True}) == taken
    assert boss.ask("DELETE", f"{PATH}/{public['id']}").status_code == 204
    assert boss.ask("PUT", f"{PATH}/{first['id']}", {"public": True}).status_code == 200


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"reservations": [{**hosts(), "min": 0}]}, "input.invalid", "reservations[0].min"),
        ({"reservations": [{"resource_type": "none:such"}]}, "input.invalid", "reservations[0].resource_type"),
        ({"reservations": [{**hosts(), "colour": 1}]}, "input.unknown", "reservations[0].colour"),
        ({"reservations": [{**hosts(), "on_end": "explode"}]}, "input.invalid", "reservations[0].on_end"),
        ({"reservations": [{**hosts(), **NOBODYS}]}, "input.invalid", "reservations[0].resource_properties"),
        ({"reservations": [{**hosts(), **NO_NUMBER}]}, "input.invalid", "reservations[0].resource_properties"),
        ({"reservations": [{}]}, "input.missing", "reservations[0].resource_type"),
        ({"duration_seconds": 0}, "input.invalid", "duration_seconds"),
        ({"duration_seconds": 60, "open_ended": True}, "input.invalid", "open_ended"),
        ({"open_ended": True}, "input.invalid", "open_ended"),
        ({"retries": 2}, "input.invalid", "retries"),
        ({"type": "retry", "retry_seconds": 86400}, "input.invalid", "retry_seconds"),
        ({"start_date": "now"}, "input.unknown", "start_date"),
        ({"name": ""}, "input.invalid", "name"),
    ],
)
def test_what_a_lease_would_be_refused_with_is_not_kept(
    member: Client, service: Service, body: dict[str, Any], code: str, field: str
) -> None:
    good = made(member, "good", **HOUR)
    assert refused(member, "POST", PATH, {"name": "x", **body}) == (400, code, field)
    clear = {"duration_seconds": None} if body == {"open_ended": True} else {}
    assert refused(member, "PUT", f"{PATH}/{good['id']}", {**clear, **body}) == (400, code, field)
    assert [each.name for each in templates.TEMPLATES.page(service, None)] == ["good"]


def test_what_is_wrong_later_is_named_as_a_part_of_the_template(
    member: Client, service: Service, settings: ApiSettings
) -> None:
    template = made(member, **HOUR, type="retry", retries=3)
    leases = replace(service.settings.leases, retries=2)
    changed = replace(service.settings, leases=leases)
    stricter = member.but(web=LocalClient(make_app(replace(service, settings=changed), settings)))
    bare = member.but(web=LocalClient(make_app(replace(service, types=load_types(["virtual:floatingip"])), settings)))
    lease = {**WHEN, "template": "course"}
    bad = (400, "input.invalid")
    assert refused(stricter, "POST", "/v1/leases", lease) == (*bad, "template.retries")
    assert refused(stricter, "POST", "/v1/leases", {**lease, "retries": 3}) == (*bad, "retries")
    assert refused(bare, "POST", "/v1/leases", lease) == (*bad, "template.reservations[0].resource_type")
    own = {**lease, "reservations": [hosts()]}
    assert refused(bare, "POST", "/v1/leases", own) == (*bad, "reservations[0].resource_type")
    # What it keeps is checked again only when it changes.
    one = f"{PATH}/{template['id']}"
    assert bare.ask("PUT", one, {"name": "renamed"}).status_code == 200
    assert refused(bare, "PUT", one, {"retries": 1}) == (*bad, "reservations[0].resource_type")


def test_an_end_too_far_ahead_is_that_of_the_template(member: Client) -> None:
    made(member, reservations=[hosts()], duration_seconds=LONGEST_SPAN)
    lease = {**WHEN, "template": "course"}
    assert refused(member, "POST", "/v1/leases", lease) == (400, "input.date", "template.duration_seconds")


@pytest.mark.parametrize("word", ["none-such", "x" * 255, "ü"])
def test_a_template_that_is_not_there_is_named(member: Client, word: str) -> None:
    lease = {**WHEN, "template": word, **HOUR}
    assert refused(member, "POST", "/v1/leases", lease) == (404, "templates.unknown", "template")


@pytest.mark.parametrize("word", ["", "x" * 256, 7, ["course"], {}])
def test_what_is_no_name_is_bad_input(member: Client, word: Any) -> None:
    lease = {**WHEN, "template": word, **HOUR}
    assert refused(member, "POST", "/v1/leases", lease) == (400, "input.invalid", "template")


def test_null_names_none(member: Client) -> None:
    assert member.ask("POST", "/v1/leases", {**WHEN, "template": None, **HOUR}).status_code == 201


def test_a_template_without_an_end_needs_one_in_the_request(member: Client) -> None:
    made(member, reservations=[hosts()])
    lease = {**WHEN, "template": "course"}
    assert refused(member, "POST", "/v1/leases", lease) == (400, "input.missing", "end_date")
    assert leased(member, "course", duration_seconds=60)["reservations"]


def test_a_request_that_is_repeated_is_the_same_after_its_template_changed(member: Client) -> None:
    template = made(member, **HOUR)
    lease, key = {**WHEN, "template": "course"}, {"Idempotency-Key": "k"}
    first = member.ask("POST", "/v1/leases", lease, headers=key).json["lease"]
    member.ask("PUT", f"{PATH}/{template['id']}", {"duration_seconds": 60, "heal_policy": "never"})
    again = member.ask("POST", "/v1/leases", lease, headers=key)
    assert (again.status_code, again.json["lease"]["id"]) == (201, first["id"])
    other = {**lease, "name": "other"}
    assert member.ask("POST", "/v1/leases", other, headers=key).status_code == 409
    member.ask("DELETE", f"{PATH}/{template['id']}")
    assert member.ask("GET", f"/v1/leases/{first['id']}").json["lease"] == first


@pytest.mark.parametrize(("version", "status"), [("1.0", 201), ("1.1", 201), ("1.2", 400)])
def test_before_13_there_are_no_templates(member: Client, version: str, status: int) -> None:
    made(member, **HOUR)
    older = member.but(version=version)
    assert older.ask("GET", PATH).status_code == 404
    assert older.ask("POST", PATH, {"name": "x"}).status_code == 404
    lease = {**WHEN, "end_date": "2031-05-02 11:00", "template": "none-such"}
    assert older.ask("POST", "/v1/leases", lease).status_code == status


def test_there_are_so_many_in_a_project_and_for_all(member: Client, boss: Client, service: Service) -> None:
    limit = service.settings.of(TemplateSettings).templates
    for number in range(limit):
        made(member, str(number))
    full = (403, "templates.too_many", None)
    assert refused(member, "POST", PATH, {"name": "more"}) == full
    made(member.but(project="other"))
    public = made(boss, "more", public=True)
    one = f"{PATH}/{member.ask('GET', PATH).json['templates'][0]['id']}"
    assert boss.ask("PUT", one, {"public": True}).status_code == 200
    made(member, "more")
    assert refused(boss, "PUT", one, {"public": False}) == full
    assert public["public"] is True


def test_a_policy_counts_when_a_template_is_used(member: Client) -> None:
    made(member, reservations=[{**hosts(), "on_end": "give_back"}], duration_seconds=60)
    answer = member.ask("POST", "/v1/leases", {**WHEN, "template": "course"})
    assert answer.json["details"] == {"rule": "leasehold:leases:give_back"}
    unseeing = member.but(roles="service,member")
    assert unseeing.ask("POST", "/v1/leases", {**WHEN, "template": "course"}).status_code == 403
