"""Invalid requests: bodies, content types, methods, paths, queries, headers, and ids of other projects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from leasehold.cloud.sandbox import seed
from tests.v1.world import MEMBER

if TYPE_CHECKING:
    from tests.bad_input.conftest import Target

pytestmark = pytest.mark.slow

WRITES = [
    ("POST", "/leases"),
    ("PUT", "/leases/{lease}"),
    ("POST", "/os-hosts"),
    ("PUT", "/os-hosts/{host}"),
    ("PATCH", "/os-hosts/properties/rack"),
    ("POST", "/floatingips"),
]
LEASE = {"name": "n", "start_date": "2031-05-05 10:00", "end_date": "2031-05-05 11:00"}
DEEP = 10_000
BODIES = {
    "nothing": b"",
    "blank": b" ",
    "half": b'{"name": "n"',
    "trailing": b'{"name": "n"} {}',
    "a list": b"[{}]",
    "a text": b'"name"',
    "a number": b"1",
    "null": b"null",
    "form": b"name=n&start_date=now",
    "xml": b"<lease><name>n</name></lease>",
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "overlong UTF-8": b'{"name": "\xc0\xaf"}',
    "UTF-16": '{"name": "n"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"name": "n"}',
    "single quotes": b"{'name': 'n'}",
    "a comment": b'{"name": "n" /* x */}',
    "NUL": b'{"name": "a\x00b"}',
    "escaped NUL": b'{"name": "a\\u0000b"}',
    "half a surrogate pair": b'{"name": "\\ud800"}',
    "NaN": b'{"name": NaN}',
    "1e400": b'{"name": 1e400}',
    "-1e400": b'{"x": [-1e400]}',
    "10**30": b'{"name": 1' + b"0" * 30 + b"}",
    "10**30 inside": b'{"reservations": [{"min": 1' + b"0" * 30 + b"}]}",
    "10**6000": b'{"name": 1' + b"0" * 6000 + b"}",
    "deep lists": b'{"name": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep but open": b"[" * 100_000,
    "deep reservations": b'{"reservations": [{"min": ' + b"[" * 40 + b"]" * 40 + b"}]}",
    "1 MiB": b'{"name": "' + b"x" * 2**20 + b'"}',
    "3 MiB": b'{"name": "' + b"x" * 3 * 2**20 + b'"}',
}
HOSTILE = [
    "' OR 1=1 --",
    "'; DROP TABLE leases; --",
    '" OR ""="',
    "1 UNION SELECT * FROM leases",
    "%",
    "_",
    "*",
    "\\",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "%00",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "${jndi:ldap://x/a}",
    "{{7*7}}",
    "{lease_id}",
    "<script>alert(1)</script>",
    "\u202e",
    "Ω≈ç√",
    "0",
    "-1",
    "1e9",
    "true",
    "null",
    "None",
]


@pytest.mark.parametrize(("method", "path"), WRITES)
@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_are_no_request(target: Target, method: str, path: str, name: str) -> None:
    """A body that is no JSON object, too large, too deep or with a number out of range is refused before validation."""
    target.refuses(target.send(method, path, BODIES[name]), 413 if "MiB" in name else 400)


@pytest.mark.parametrize(("method", "path"), WRITES)
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json-patch+json",
        "application/jsonx",
        "x" * 5000,
        "é",
        "; charset=utf-8",
    ],
)
def test_content_types_that_are_not_json(target: Target, method: str, path: str, content_type: str) -> None:
    body = json.dumps({**LEASE, "private": True}).encode()
    target.refuses(target.send(method, path, body, headers={"Content-Type": content_type}), 400)


@pytest.mark.parametrize("keys", [b'"name": "a", "name": "b"', b'"name": 1, "name": "b"', b'"name": "a", "name": 1'])
def test_of_duplicate_keys_the_last_one_counts(own_target: Target, keys: bytes) -> None:
    """JSON does not define which duplicate counts; the service must validate the value that it uses."""
    body = b"{%s, %s" % (keys, json.dumps({key: LEASE[key] for key in ("start_date", "end_date")}).encode()[1:])
    answer = own_target.send("POST", "/leases", body)
    if keys.endswith(b"1"):
        own_target.refuses(answer, 400, field="name")
    else:
        assert answer.json["lease"]["name"] == "b"


@pytest.mark.parametrize("method", ["PATCH", "TRACE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/leases", "/leases/{lease}", "/os-hosts", "/floatingips", "/os-hosts/allocations"])
def test_methods_that_are_not_for_this_path(target: Target, method: str, path: str) -> None:
    answer = target.ask(method, path)
    target.refuses(answer, 405, 400)
    if answer.status_code == 405:
        assert answer.headers["Allow"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_ids_in_paths(target: Target, text: str) -> None:
    """A hostile id finds nothing, encoded or not, for any method."""
    for collection in ("leases", "os-hosts", "floatingips"):
        for path in (f"/{collection}/{quote(text, safe='')}", f"/{collection}/{quote(text, safe='/%')}"):
            template = path.replace("{", "{{").replace("}", "}}")
            target.refuses(target.ask("GET", template), 404)
            target.refuses(target.ask("DELETE", template), 404)
            target.refuses(target.ask("PUT", template, {"name": "x"}), 404, 405, 400)
    word = quote(text, safe="")
    target.refuses(target.ask("GET", f"/os-hosts/{word}/allocation"), 404)
    target.refuses(target.ask("PATCH", f"/os-hosts/properties/{word}", {"private": True}), 404)


@pytest.mark.parametrize("length", [256, 10_000, 100_000])
def test_long_paths(target: Target, length: int) -> None:
    target.refuses(target.ask("GET", "/leases/" + "x" * length), 404)
    target.refuses(target.ask("GET", "/x" * length), 404)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_queries(target: Target, text: str) -> None:
    """A filter that is no id finds nothing or is refused; it never adds results."""
    for key in ("lease_id", "reservation_id"):
        for path in ("/os-hosts/allocations", "/os-hosts/{host}/allocation"):
            answer = target.ask("GET", path, query_string=f"{key}={quote(text, safe='')}")
            if answer.status_code == 200:
                shown = answer.json.get("allocations") or [answer.json["allocation"]]
                assert all(each["reservations"] == [] for each in shown)
            else:
                target.refuses(answer, 400, field=key)
    for key in ("detail", "all", "limit", "marker", text):
        answer = target.ask("GET", "/os-hosts/properties", query_string=f"{quote(key)}={quote(text, safe='')}")
        assert answer.status_code == 200


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_only_names(own_target: Target, text: str) -> None:
    """A lease name may hold any characters; it is returned as sent and has no other effect."""
    answer = own_target.ask("POST", "/leases", {**LEASE, "name": text})
    assert answer.status_code == 201
    (shown,) = [each for each in own_target.world.get("/leases")["leases"] if each["id"] == answer.json["lease"]["id"]]
    assert shown["name"] == text
    assert len(own_target.world.get("/leases")["leases"]) == 4
    assert own_target.world.get("/os-hosts/allocations", params={"lease_id": shown["id"]})


@pytest.mark.parametrize("text", [each for each in HOSTILE if "/" not in each and each != "null"])
def test_hostile_properties_are_only_text(own_target: Target, text: str) -> None:
    """A property may have almost any name and value; both are returned as sent, and expressions match them.

    The exception is the value null, with which expressions match an absent value (contract resources §0.1).
    """
    assert own_target.ask("PUT", "/os-hosts/{host}", {text: text}).status_code == 200
    assert own_target.world.get("/os-hosts/1")["host"][text] == text
    detailed = own_target.world.get("/os-hosts/properties", params={"detail": "True"})["resource_properties"]
    assert [each["values"] for each in detailed if each["property"] == text] == [[text]]
    expression = json.dumps(["==", f"${text}", text])
    asked = {"resource_type": "physical:host", "min": 1, "max": 9, "resource_properties": expression}
    later = {"start_date": "2031-06-05 10:00", "end_date": "2031-06-05 11:00"}
    answer = own_target.ask(
        "POST", "/leases", {**LEASE, **later, "reservations": [{**asked, "hypervisor_properties": ""}]}
    )
    assert answer.status_code == 201, answer.text
    ident = answer.json["lease"]["id"]
    allocations = own_target.world.get("/os-hosts/allocations", params={"lease_id": ident})["allocations"]
    assert [each["resource_id"] for each in allocations if each["reservations"]] == ["1"]


@pytest.mark.parametrize("text", [each for each in HOSTILE if each not in {"0", "-1", "1e9"}])
def test_hostile_references_to_the_cloud(target: Target, text: str) -> None:
    """Hosts, networks and flavors of the cloud are found by exact name only, not by pattern or path."""
    target.refuses(target.ask("POST", "/os-hosts", {"name": text}), 404, 403)
    target.refuses(target.ask("POST", "/os-hosts", {"id": text}), 404, 403)
    sent = {"floating_network_id": text, "floating_ip_address": "203.0.113.210"}
    target.refuses(target.ask("POST", "/floatingips", sent), 400, field="floating_network_id")
    flavor = {"resource_type": "flavor:instance", "flavor_id": text, "amount": 1, "affinity": None}
    target.refuses(target.ask("POST", "/leases", {**LEASE, "reservations": [flavor]}), 404)
    floating = {"resource_type": "virtual:floatingip", "network_id": text, "amount": 1}
    target.refuses(target.ask("POST", "/leases", {**LEASE, "reservations": [floating]}), 400)


def test_a_substring_of_a_hostname_is_no_host(target: Target) -> None:
    target.refuses(target.ask("POST", "/os-hosts", {"name": "gpu"}), 404)


def test_what_is_enrolled_already_is_409_and_leaves_the_cloud_alone(target: Target) -> None:
    """Enrolling a host again changes nothing, in particular for a leased host, which is not in the free pool."""
    leased = target.world.hosts_of(target.world.get(target.path("/leases/{active}"))["lease"]["reservations"][0]["id"])
    assert leased
    for name, _ in seed.SUGGESTED_HOSTS[:-1]:
        target.refuses(target.ask("POST", "/os-hosts", {"name": name}), 409)
    sent = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": seed.SUGGESTED_FLOATING_IPS[0]}
    target.refuses(target.ask("POST", "/floatingips", sent), 409)


def test_what_is_in_use_is_409(target: Target) -> None:
    target.refuses(target.ask("DELETE", "/os-hosts/1"), 409)


# ---------------------------------------------------------------- callers


@pytest.mark.parametrize("name", ["X-User-Id", "X-Project-Id"])
@pytest.mark.parametrize("value", ["x" * 256, "\xe4", "a\x01b", "a\x7fb"])
def test_identities_that_cannot_be_kept(target: Target, name: str, value: str) -> None:
    target.refuses(target.ask("POST", "/leases", LEASE, headers={name: value}), 401)


STRANGERS: list[dict[str, str]] = [
    {**MEMBER, "X-Project-Id": "alt"},
    {**MEMBER, "X-Project-Id": "DEMO"},
    {**MEMBER, "X-Project-Id": "demo%"},
    {**MEMBER, "X-Project-Id": "' OR 1=1 --"},
    {**MEMBER, "X-Roles": ""},
    {**MEMBER, "X-Roles": "reader,adminx"},
]


@pytest.mark.parametrize("headers", STRANGERS, ids=lambda value: value["X-Project-Id"] + value["X-Roles"])
def test_other_peoples_ids(target: Target, headers: dict[str, str]) -> None:
    """Only members of a project change its leases, and only administrators access hosts."""
    for method, path, body in (
        ("PUT", "/leases/{lease}", {"name": "mine"}),
        ("PUT", "/leases/{lease}", {}),
        ("DELETE", "/leases/{lease}", None),
        ("DELETE", "/leases/{active}", None),
        ("GET", "/os-hosts", None),
        ("POST", "/os-hosts", {"name": "gpu-03"}),
        ("PUT", "/os-hosts/{host}", {"rack": "x"}),
        ("DELETE", "/os-hosts/2", None),
        ("GET", "/os-hosts/allocations", None),
        ("GET", "/os-hosts/{host}/allocation", None),
        ("GET", "/os-hosts/properties", None),
        ("PATCH", "/os-hosts/properties/rack", {"private": True}),
        ("DELETE", "/floatingips/{address}", None),
    ):
        target.refuses(target.ask(method, path, body, headers=headers), 403)


def test_other_projects_leases_are_not_listed(target: Target) -> None:
    for headers in STRANGERS[:4]:
        leases = target.world.get("/leases", headers=headers)["leases"]
        assert {each["project_id"] for each in leases} <= {headers["X-Project-Id"]}


@pytest.mark.parametrize("key", ["", "x" * 256, "é", "a\tb"])
def test_idempotency_keys_that_are_none(target: Target, key: str) -> None:
    target.refuses(target.ask("POST", "/leases", LEASE, headers={"Idempotency-Key": key}), 400)


@pytest.mark.parametrize("tag", ["3", '"x"', 'W/"1"', '"' + "9" * 30 + '"', '"-1"', "x" * 10_000, '"٣"'])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_conditions_that_are_none(target: Target, method: str, tag: str) -> None:
    body = {"name": "x"} if method == "PUT" else None
    headers = {"If-Match": tag, "OpenStack-API-Version": "reservation 1.1"}
    target.refuses(target.ask(method, "/leases/{lease}", body, headers=headers), 400, 412)


@pytest.mark.parametrize("text", ["1", "1.", "x", "1.0.0", "-1.0", "1.a", "٣.1", "1." + "9" * 100, "9.9", "0.0", ""])
def test_versions_that_are_none(target: Target, text: str) -> None:
    headers = {"OpenStack-API-Version": f"reservation {text}"}
    target.refuses(target.ask("POST", "/leases", LEASE, headers=headers), 400, 406)


@pytest.mark.parametrize("count", [1001, 30_000])
def test_too_many_of_anything(target: Target, count: int) -> None:
    """The length of lists is limited, so that one request cannot keep the service busy."""
    many: dict[str, Any] = {"resource_type": "physical:host"}
    target.refuses(target.ask("POST", "/leases", {**LEASE, "reservations": [many] * count}), 400, 413)
    target.refuses(target.ask("POST", "/leases", {**LEASE, "events": [{"event_type": "x"}] * count}), 400, 413)
    target.refuses(target.ask("PUT", "/leases/{lease}", {"reservations": [{"id": "x"}] * count}), 400, 413)
