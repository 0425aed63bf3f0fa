"""Feature C3 by the API, from 1.3 on: what is free in each region, also while services of other regions fail."""

from __future__ import annotations

import gzip
import json
import threading
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from pydantic import TypeAdapter, ValidationError

from leasehold.cmd.web import make_app
from leasehold.features.availability.bodies import OneAvailability, RegionList, WindowList
from leasehold.features.availability.options import RegionSettings
from leasehold.features.availability.peers import LONGEST_ANSWER, PeerAnswer, PeerRequest, asking
from tests.api.conftest import Client, open_service
from tests.factory import hosts, instances
from tests.serving import serving
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from leasehold.resource_types.registry import ResourceTypes
    from tests.api.conftest import Clock
    from tests.serving import Answer, Asked

ANYWHERE = "/v1/regions/availability"
HOURS = "from=2031-05-01%2010:00&to=2031-05-01%2012:00"
HERE, THERE = "RegionOne", "RegionTwo"
PATIENCE = 10.0
"""Seconds that a region has to answer; on a busy machine it needs one."""
SECRET = "the-callers-token"
WINDOW = {"start_date": "2031-05-01 10:00", "duration_seconds": 3600, "reservations": [hosts()]}


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[Asked], Answer]], str]]:
    """Serve answers until the test ends, and return the URL."""
    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(serving(answer))


@pytest.fixture
def there(tmp_path: Path, types: ResourceTypes, clock: Clock, settings: ApiSettings) -> Iterator[Client]:
    """Yield an administrator of the service of the other region, which has two hosts."""
    folder = tmp_path / THERE
    folder.mkdir()
    with open_service(folder, types, clock, THERE) as service:
        admin = Client(LocalClient(make_app(service, settings)), user="admin", roles="admin,member,reader")
        for name in ("cmp-01", "cmp-02"):
            assert admin.ask("POST", "/v1/os-hosts", {"name": name, "rack": "b7"}).status_code == 201
        yield admin


@pytest.fixture
def peer(there: Client, serve: Any) -> str:
    """Return the URL of the service of the other region."""

    def answer(asked: Asked) -> Answer:
        wanted = {
            name: asked.headers[name] for name in ("OpenStack-API-Version", "Content-Type") if name in asked.headers
        }
        said = there.web.simulate_request(asked.method, asked.path, headers=wanted, body=asked.body)
        return said.status_code, {}, said.content

    url: str = serve(answer)
    return url


@pytest.fixture
def ask(service: Service, settings: ApiSettings, host: str) -> Callable[..., Any]:
    """Return a function that asks a service with one host, which knows these peers."""
    assert host

    def ask(
        peers: dict[str, str],
        method: str,
        path: str,
        body: Any = None,
        status: int = 200,
        *,
        seconds: float = PATIENCE,
        **more: Any,
    ) -> Any:
        known = service.settings.having(RegionSettings(peers, seconds))
        client = Client(LocalClient(make_app(replace(service, settings=known), settings)), version="1.3")
        answer = client.ask(method, path, body, **more)
        assert answer.status_code == status, answer.text
        return answer.json

    return ask


def test_regions_are_listed_with_their_endpoints(ask: Any) -> None:
    two = "https://two.example/reservation/v1"
    listed = ask({THERE: two}, "GET", "/v1/regions")
    TypeAdapter(RegionList).validate_python(listed)
    assert listed["regions"] == [
        {"name": HERE, "endpoint": "http://localhost/v1", "here": True},
        {"name": THERE, "endpoint": two, "here": False},
    ]


def of_region(name: str) -> dict[str, Any]:
    return {"resource_properties": json.dumps(["==", "$region", name])}


@pytest.mark.parametrize("make", [hosts, instances])
def test_the_region_of_the_service_is_a_criterion(there: Client, client: Client, host: str, make: Any) -> None:
    """One request, for hosts or for instances, is granted in the region that it names, and a template as well."""
    assert host
    for who, own, other in ((client, HERE, THERE), (there, THERE, HERE)):
        member = who.but(user="alice", roles="member", version="1.3")
        for region, status in ((own, 201), (other, 409)):
            template = {"name": region, "reservations": [make(**of_region(region))]}
            assert member.ask("POST", "/v1/lease-templates", template).status_code == 201
            asked = {"name": region, "start_date": "2031-05-01 10:00", "duration_seconds": 3600, "template": region}
            answer = member.ask("POST", "/v1/leases", asked)
            assert answer.status_code == status, answer.text


def test_whatever_compares_properties_knows_the_region(there: Client) -> None:
    member = there.but(user="alice", roles="member", version="1.3")
    listed = member.ask("GET", "/v1/availability/properties").json["properties"]
    assert [each["values"] for each in listed if each["property"] == "region"] == [[THERE]]
    for region, found in ((THERE, 2), (HERE, 0)):
        query = urlencode(of_region(region))
        assert member.ask("GET", f"/v1/availability?{query}").json["availability"]["total"] == found
        assert len(member.ask("GET", f"/v1/timeline?{query}").json["timeline"]["rows"]["id"]) == found
        wish = {**WINDOW, "reservations": [hosts(**of_region(region))]}
        windows = member.ask("POST", "/v1/availability/search", wish)
        assert bool(windows.json["windows"]) == bool(found), windows.text
        alarm: dict[str, Any] = {"reservation": hosts(**of_region(region)), "below": 1}
        del alarm["reservation"]["min"], alarm["reservation"]["max"]
        assert member.ask("POST", "/v1/alarms", alarm).status_code == 201


def test_an_operators_own_region_counts_where_a_host_has_it(there: Client) -> None:
    assert there.ask("POST", "/v1/os-hosts", {"name": "cmp-06", "region": "Edge"}).status_code == 201
    member = there.but(user="alice", roles="member", version="1.3")
    for region, found in ((THERE, 2), ("Edge", 1)):
        answer = member.ask("GET", f"/v1/availability?{urlencode(of_region(region))}")
        assert answer.json["availability"]["total"] == found
    assert there.ask("PATCH", "/v1/os-hosts/properties/region", {"private": True}).status_code == 200
    assert member.ask("GET", f"/v1/availability?{urlencode(of_region(THERE))}").status_code == 400


def test_a_service_that_knows_no_other_region_answers_for_its_own(ask: Any) -> None:
    (only,) = ask({}, "GET", f"{ANYWHERE}?{HOURS}")["regions"]
    assert (only["region"], only["availability"]["total"], only["error_message"]) == (HERE, 1, None)
    assert only["availability"] == ask({}, "GET", f"/v1/availability?{HOURS}")["availability"]


def test_what_is_free_in_each_region(ask: Any, peer: str) -> None:
    found = ask({THERE: f"{peer}/v1"}, "GET", f"{ANYWHERE}?{HOURS}")["regions"]
    assert [(each["region"], each["availability"]["total"]) for each in found] == [(HERE, 1), (THERE, 2)]
    assert found[1]["endpoint"] == f"{peer}/v1"
    (alone,) = ask({THERE: f"{peer}/v1"}, "GET", f"{ANYWHERE}?{HOURS}&region={THERE}")["regions"]
    assert alone == found[1]


def test_a_filter_that_fits_one_region_alone_is_answered_by_it(ask: Any, peer: str) -> None:
    rack = "resource_properties=%5B%22%3D%22,%22$rack%22,%22b7%22%5D"
    found = ask({THERE: f"{peer}/v1"}, "GET", f"{ANYWHERE}?{HOURS}&{rack}")["regions"]
    assert [each["availability"]["total"] for each in found] == [0, 2]


def test_the_first_window_of_each_region_can_be_leased_there(ask: Any, peer: str, there: Client) -> None:
    two = {**WINDOW, "reservations": [hosts(2, 2)]}
    here, other = ask({THERE: f"{peer}/v1"}, "POST", f"{ANYWHERE}/search", two)["regions"]
    assert here["windows"] == []
    assert here["refused"][0]["code"]
    (window,) = other["windows"][:1]
    dates = {key: window[key] for key in ("start_date", "end_date")}
    asked = {"name": "l", **dates, "reservations": two["reservations"], "events": []}
    assert there.but(version="1.3").ask("POST", "/v1/leases", asked).status_code == 201


def test_a_template_of_this_region_counts_in_all(ask: Any, peer: str) -> None:
    kept = {"name": "two hosts", "reservations": [hosts(2, 2)], "duration_seconds": 3600}
    ask({}, "POST", "/v1/lease-templates", kept, status=201)
    wanted = {"template": "two hosts", "start_date": "2031-05-01 10:00"}
    here, other = ask({THERE: f"{peer}/v1"}, "POST", f"{ANYWHERE}/search", wanted)["regions"]
    assert (here["windows"], bool(other["windows"])) == ([], True)


def test_a_region_that_is_not_known_is_named_with_those_that_are(ask: Any) -> None:
    refused = ask({THERE: "http://two.invalid/v1"}, "GET", f"{ANYWHERE}?{HOURS}&region=Nowhere", status=400)
    assert refused["error_message"] == "There is no region 'Nowhere'. There are: RegionOne, RegionTwo."


def test_what_no_region_understands_is_refused(ask: Any, peer: str) -> None:
    wrong = f"{ANYWHERE}?{HOURS}&resource_type=no:such"
    assert ask({THERE: f"{peer}/v1"}, "GET", wrong, status=400)["code"] == ask({}, "GET", wrong, status=400)["code"]


def test_the_routes_are_new_at_1_3(ask: Any) -> None:
    older = {"OpenStack-API-Version": "reservation 1.2"}
    for method, path in (("GET", "/v1/regions"), ("GET", ANYWHERE), ("POST", f"{ANYWHERE}/search")):
        ask({}, method, path, status=404, headers=older)


NONSENSE = {
    "not JSON": (200, {}, b"<html>"),
    "JSON of something else": (200, {}, b'{"availability": []}'),
    "a very deep list": (200, {}, b"[" * 100_000),
    "more than anybody reads": (200, {"Content-Length": str(2 * LONGEST_ANSWER)}, b" " * (LONGEST_ANSWER + 8192)),
    "something packed": (200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 1000)),
    "a failure": (500, {}, b"{}"),
    "a redirect": (302, {"Location": "http://127.0.0.1:1/elsewhere"}, b"{}"),
}


@pytest.mark.parametrize("wrong", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_of_one_region_hides_no_other_one(ask: Any, serve: Any, wrong: Answer) -> None:
    url = serve(lambda _: wrong)
    here, there = ask({THERE: url}, "GET", f"{ANYWHERE}?{HOURS}")["regions"]
    assert here["availability"]["total"] == 1
    assert there["availability"] is None
    assert there["error_message"].startswith("The service of this region gives no answer: ")


@pytest.mark.parametrize("answer", [WindowList, OneAvailability])
def test_no_more_than_one_wrong_thing_of_a_long_list_is_looked_at(answer: Any) -> None:
    """Sixteen megabytes of `{},` took 20 s of processor and 9 GB of memory."""
    nothing: list[Any] = [{}] * 1000
    lists = {"windows": nothing, "refused": nothing}
    steps = {"from": nothing, "free": nothing, "reserved": nothing}
    with pytest.raises(ValidationError) as found:
        TypeAdapter(answer).validate_python({**lists, "availability": {"steps": steps}})
    assert found.value.error_count() < 20


def test_a_region_that_is_gone_or_slow_costs_its_limit_and_no_answer(ask: Any, serve: Any) -> None:
    over = threading.Event()

    def hang(_: Asked) -> Answer:
        over.wait(30)
        return 200, {}, b"{}"

    slow, gone = serve(hang), "http://127.0.0.1:1"
    try:
        found = ask({"Slow": slow, "Gone": gone}, "GET", f"{ANYWHERE}?{HOURS}", seconds=0.5)["regions"]
    finally:
        over.set()
    reasons = {each["region"]: each["error_message"] for each in found}
    assert reasons[HERE] is None
    assert "did not answer in time" in reasons["Slow"]
    assert "cannot be reached" in reasons["Gone"]


def test_a_refusal_is_shown_as_one_bounded_line(ask: Any, serve: Any) -> None:
    message = "No access\r\n\x1b[31m" + "x" * 5000
    url = serve(lambda _: (403, {}, json.dumps({"error_message": message}).encode()))
    _, there = ask({THERE: url}, "GET", f"{ANYWHERE}?{HOURS}")["regions"]
    assert there["error_message"].startswith("No access")
    assert there["error_message"].isprintable()
    assert len(there["error_message"]) <= 1000


def test_a_peer_gets_the_callers_token_and_nothing_else_of_the_caller(serve: Any) -> None:
    asked: list[Asked] = []

    def answer(request: Asked) -> Answer:
        asked.append(request)
        return 200, {}, b'{"regions": []}'

    peers = {THERE: f"{serve(answer)}/v1"}
    question = PeerRequest("GET", "/regions", SECRET)
    with asking(peers, question, TypeAdapter(RegionList), seconds=2, cafile=None) as answers:
        assert answers[THERE].result() == PeerAnswer({"regions": []})
    (request,) = asked
    assert request.path == "/v1/regions"
    assert request.headers["X-Auth-Token"] == SECRET
    known = {"Host", "Accept", "Accept-Encoding", "Connection", "User-Agent", "OpenStack-API-Version", "X-Auth-Token"}
    assert set(request.headers) <= known
    assert SECRET not in repr(question)
