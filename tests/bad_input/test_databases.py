"""Text that only some databases accept, in every field that reaches a database, never causes a 500."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from leasehold.cloud.sandbox import seed
from tests.factory import make_schema
from tests.v1.world import HOST, INSTANCE, World, world_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falcon import testing

pytestmark = pytest.mark.slow

EXAMPLES = 10
DATES = {"start_date": "2031-05-05 10:00", "end_date": "2031-05-05 11:00"}
NEWER = {"OpenStack-API-Version": "reservation 1.1"}
HALF_A_PAIR = "\ud800"
HOSTILE = (
    "\x00",
    "a\x00b",
    HALF_A_PAIR,
    "a\udfffb",
    "\U0001f600",
    "\ufffe",
    "\uffff",
    "\x1f",
    "\x7f",
    "\u0085",
    "\u2028",
)
LENGTHS = (1, 81, 256, 5_000, 70_000)
pieces = st.sampled_from([*HOSTILE, "a", "'", '"', "\\", "%", "ß", "é"])
texts = st.lists(pieces, min_size=1, max_size=6).map("".join) | st.builds(
    lambda piece, length: piece * length, pieces, st.sampled_from(LENGTHS)
)


@pytest.fixture
def anywhere(database_url: str) -> Iterator[World]:
    """Yield a service on each database, with two hosts, an address and a lease."""
    make_schema(database_url)
    with world_at(database_url) as made:
        for name, properties in seed.SUGGESTED_HOSTS[:2]:
            made.enrol(name, **properties)
        sent = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": seed.SUGGESTED_FLOATING_IPS[0]}
        assert made.ask("POST", "/floatingips", sent).status_code == 201
        yield made


def in_url(text: str) -> str:
    """Return the text percent-encoded for a URL; lone surrogates as UTF-8 bytes, as some encoders write them."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def in_paths(world: World, text: str) -> Iterator[testing.Result]:
    word = in_url(text)
    for method, path, body in (
        ("GET", f"/leases/{word}", None),
        ("PUT", f"/leases/{word}", {"name": "n"}),
        ("DELETE", f"/leases/{word}", None),
        ("GET", f"/os-hosts/{word}", None),
        ("PUT", f"/os-hosts/{word}", {"rack": "x"}),
        ("DELETE", f"/os-hosts/{word}", None),
        ("GET", f"/os-hosts/{word}/allocation", None),
        ("PATCH", f"/os-hosts/properties/{word}", {"private": False}),
        ("GET", f"/floatingips/{word}", None),
        ("DELETE", f"/floatingips/{word}", None),
    ):
        yield world.ask(method, path, body)


def in_queries(world: World, text: str) -> Iterator[testing.Result]:
    for path, keys in (
        ("/leases", ("marker", "limit")),
        ("/os-hosts/allocations", ("lease_id", "reservation_id")),
        ("/os-hosts/1/allocation", ("lease_id", "reservation_id")),
        ("/os-hosts/properties", ("detail", "all")),
    ):
        for key in keys:
            yield world.ask("GET", path, query_string=f"{key}={in_url(text)}", headers=NEWER)


def in_headers(world: World, text: str) -> Iterator[testing.Result]:
    value = text.encode("utf-8", "surrogatepass").decode("latin-1")
    for name in ("Idempotency-Key", "X-User-Id", "X-Project-Id", "X-Roles", "If-Match", "X-OpenStack-Request-ID"):
        yield world.ask("POST", "/leases", {"name": "n", **DATES}, headers={name: value})


def in_bodies(world: World, lease: dict[str, Any], text: str) -> Iterator[testing.Result]:
    expressions = [
        json.dumps([op, name, value]) for op in ("==", "<") for name, value in ((f"${text}", "x"), ("$id", text))
    ]
    parts: list[dict[str, Any]] = [
        *(
            {**HOST, key: expression}
            for key in ("resource_properties", "hypervisor_properties")
            for expression in expressions
        ),
        *({**INSTANCE, "resource_properties": expression} for expression in expressions),
        {**HOST, "before_end": text},
        {**HOST, "resource_type": text},
        {**HOST, text: text},
        {"resource_type": "flavor:instance", "flavor_id": text, "amount": 1, "affinity": None},
        {"resource_type": "virtual:floatingip", "network_id": text, "amount": 1},
        {
            "resource_type": "virtual:floatingip",
            "network_id": seed.NETWORK_ID,
            "amount": 1,
            "required_floatingips": [text],
        },
    ]
    creation = {"name": "n", **DATES}
    bodies: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/leases", {**creation, "name": text}),
        ("POST", "/leases", {**creation, "events": [{"event_type": text}]}),
        ("POST", "/leases", {**creation, "start_date": text}),
        *(("POST", "/leases", {**creation, "reservations": [part]}) for part in parts),
        ("PUT", f"/leases/{lease['id']}", {"name": text}),
        ("PUT", f"/leases/{lease['id']}", {"reservations": [{"id": text}]}),
        ("PUT", f"/leases/{lease['id']}", {"reservations": [{"id": lease["reservations"][0]["id"], text: text}]}),
        ("POST", "/os-hosts", {"name": text}),
        ("POST", "/os-hosts", {"name": seed.SUGGESTED_HOSTS[0][0], text: text}),
        ("PUT", "/os-hosts/1", {text: text}),
        ("PUT", "/os-hosts/1", {text: None}),
        ("POST", "/floatingips", {"floating_network_id": text, "floating_ip_address": text}),
    ]
    for method, path, body in bodies:
        content = json.dumps(body).encode()
        headers = {**world.headers, "Content-Type": "application/json"}
        yield world.web.simulate_request(method, f"/v1{path}", headers=headers, body=content)


def test_no_text_is_a_server_error(anywhere: World) -> None:
    lease = anywhere.lease(HOST, start_date="2031-06-01 10:00", end_date="2031-06-01 11:00")

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @example(text="a\x00b")
    @example(text=HALF_A_PAIR)
    @example(text="\U0001f600" * 300)
    @given(text=texts)
    def answers(text: str) -> None:
        for asked in (in_paths, in_queries, in_headers):
            for answer in asked(anywhere, text):
                assert answer.status_code < 500, (answer.status_code, answer.text[:300])
        for answer in in_bodies(anywhere, lease, text):
            assert answer.status_code < 500, (answer.status_code, answer.text[:300])

    answers()


@pytest.mark.parametrize("text", ["%00", "a%00b", "%ED%A0%80", "%F0%9F%98%80", "x" * 256, "%0A"])
def test_a_marker_that_can_be_no_id_is_named(anywhere: World, text: str) -> None:
    answer = anywhere.ask("GET", "/leases", query_string=f"limit=1&marker={text}", headers=NEWER)
    assert (answer.status_code, answer.json["field"]) == (400, "marker"), answer.text
