"""Contract http-api §2 and §3: requests refused for their body, type, method, path, query, headers, or foreign ids."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from leasehold.cloud.sandbox import seed
from leasehold.cmd.web import ROUTES
from tests.bad_input.refusal import (
    ADDRESSES,
    ALARM,
    ALARMS,
    ASKABLE,
    BUDGET,
    BUDGETS,
    CHARGES,
    CLAIMS,
    EVERYWHERE,
    FEED,
    FEEDS,
    FILLER,
    FILLERS,
    FLEXIBLE,
    FLEXIBLES,
    FORECAST,
    FREE,
    HELD,
    HOST,
    HOSTS,
    LEASE,
    LEASES,
    MANY,
    NEW,
    NEWEST,
    OFFER,
    OFFERS,
    ONE_PUBLISHED,
    OWNED,
    OWNED_LEASE,
    PAST,
    PRICES,
    PROPERTIES,
    PUBLISHED,
    REGIONS,
    SEARCH,
    SERIES,
    SUB_LEASES,
    TEMPLATE,
    TEMPLATES,
    TIMELINE,
    TYPE,
    USAGE,
    VALID,
    VERSION,
    WRITES,
    Refusal,
    check_shape,
    one_quick,
)
from tests.factory import flavors, floating_ips, hosts
from tests.v1.world import MEMBER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.bad_input.conftest import Target

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
    "escaped NUL in a key": b'{"a\\u0000b": 1}',
    "half a surrogate pair": b'{"name": "\\ud800"}',
    "half a surrogate pair inside": b'{"x": [{"y": "\\udc00"}]}',
    "NaN": b'{"name": NaN}',
    "-Infinity": b'{"name": -Infinity}',
    "1e400": b'{"name": 1e400}',
    "-1e400": b'{"x": [-1e400]}',
    "2**63": b'{"x": 9223372036854775808}',
    "10**30 inside": b'{"reservations": [{"min": 1' + b"0" * 30 + b"}]}",
    "10**6000": b'{"name": 1' + b"0" * 6000 + b"}",
    "deep lists": b'{"name": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep but open": b"[" * 100_000,
    "33 levels": b'{"a":' * 33 + b"1" + b"}" * 33,
    "1 MiB": b'{"name": "' + b"x" * 2**20 + b'"}',
    "3 MiB": b'{"name": "' + b"x" * 3 * 2**20 + b'"}',
}
NO_JSON = [
    "text/plain",
    "application/xml",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json-patch+json",
    "application/jsonx",
    "nonsense",
    "x" * 5000,
    "é",
    "; charset=utf-8",
]
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
MALFORMED: dict[str, Any] = {"code": "http.malformed"}
ROUTE: dict[str, Any] = {"status": 404, "code": "http.route"}
NOT_FOUND: dict[str, Any] = {"status": 404, "code": "not_found"}
NO_SUCH_LEASE = "Object with {'lease_id': 'none-such'} not found"
V1_1 = {VERSION: "reservation 1.1"}
V1_2 = {VERSION: "reservation 1.2"}
V1_3 = {VERSION: "reservation 1.3"}
STALE: dict[str, Any] = {"status": 412, "code": "lease.stale", "field": "If-Match"}
NOT_ACCEPTABLE: dict[str, Any] = {
    "status": 406,
    "code": "version.not_acceptable",
    "field": VERSION,
    "details": {"min_version": "1.0", "max_version": "1.3"},
}


@pytest.mark.parametrize("write", one_quick(WRITES))
@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_are_no_request(target: Target, write: tuple[str, str], name: str) -> None:
    """A body that is no JSON object, too large, too deep or with a number out of range is refused before validation."""
    large = {"status": 413, "code": "input.too_large", "details": {"limit": 2**20}}
    target.refuses(Refusal(*write, BODIES[name], **(large if "MiB" in name else MALFORMED)))


@pytest.mark.parametrize("write", one_quick(WRITES))
@pytest.mark.parametrize("content_type", NO_JSON)
def test_content_types_that_are_not_json(target: Target, write: tuple[str, str], content_type: str) -> None:
    body = json.dumps({**VALID, "private": True}).encode()
    target.refuses(Refusal(*write, body, headers={"Content-Type": content_type}, **MALFORMED))


@pytest.mark.parametrize("keys", [b'"name": "a", "name": "b"', b'"name": 1, "name": "b"', b'"name": "a", "name": 1'])
def test_of_duplicate_keys_the_last_one_counts_until_they_are_refused(own_target: Target, keys: bytes) -> None:
    """JSON does not define which duplicate counts; what is used is validated, and from 1.2 on nothing is."""
    body = b"{%s, %s" % (keys, json.dumps({key: VALID[key] for key in ("start_date", "end_date")}).encode()[1:])
    if keys.endswith(b"1"):
        own_target.refuses(Refusal("POST", LEASES, body, field="name"))
    else:
        assert own_target.ask("POST", LEASES, body).json["lease"]["name"] == "b"
    for sent in (body, b'{"reservations": [{%s}]}' % keys):
        own_target.refuses(Refusal("POST", LEASES, sent, headers=V1_2, words="'name' twice", **MALFORMED))


# ---------------------------------------------------------------- paths, methods, headers and queries, row by row


def with_header(
    name: str, values: Iterable[str], *, method: str = "POST", path: str = LEASES, **answer: Any
) -> list[Refusal]:
    """Return a row for each wrong value of a header, by default on a valid POST of a lease."""
    body = {"POST": VALID, "PUT": {"name": "x"}}.get(method)
    headers = [{**V1_1, name: value.encode().decode("latin-1")} for value in values]
    return [Refusal(method, path, body, headers=each, **answer) for each in headers]


NO_IDENTITY = ("x" * 256, "ä", "a\x01b", "a\x7fb")
NO_TAG = ("3", '"x"', 'W/"1"', '"' + "9" * 30 + '"', '"-1"', "x" * 10_000, '"٣"')
UNKNOWN_VERSIONS = ("1.4", "2.0", "9.9", "999999999.0")
NO_VERSION = ("1", "1.", "x", "1.a", "01.0", "1.00", "1.0.0", "-1.0", "0.0", "٣.1", "1." + "9" * 100, "")
UNKNOWN_PATHS = (
    *("/v1", "/v1/", "/v1/leases/", "/v1/leases.json", "/v1/os-hosts/", "/v1/os-hosts.json", "//v1/leases"),
    *("/v1//leases", "/v1/plugins", "/v2/leases", "/nonsense", "/v1/leases/a/b", "/v1/leases/%00"),
    *("/v1/leases/" + "x" * length for length in (256, 10_000, 100_000)),
    "/x" * 100_000,
)
METHODS = (
    ("PATCH", LEASES, "GET, HEAD, POST"),
    ("OPTIONS", LEASES, "GET, HEAD, POST"),
    ("POST", LEASE, "DELETE, GET, HEAD, PUT"),
    ("DELETE", "/v1/os-hosts/allocations", "GET, HEAD"),
    ("GET", f"{PROPERTIES}/rack", "PATCH"),
    ("PUT", f"{ADDRESSES}/x", "DELETE, GET, HEAD"),
    ("POST", "/", "GET, HEAD"),
)
NO_FORECAST = (
    ("resource_type", "virtual:instance", "ask for physical:host"),
    ("resource_type", "virtual:quantum", "not supported"),
    *(
        ("step_seconds", text, "step_seconds has to be")
        for text in ("0", "-3600", "1800", "3601", "18000", "1e9", "9" * 40)
    ),
    *(("weeks", text, "from 4 to 26") for text in ("0", "3", "27", "-8", "many", "8.0")),
    ("to", "2032-05-01T00:00:00Z", "Ask for a shorter window"),
)
NO_LIMIT = ("0", "-1", "1001", "1.0", "many", "9" * 40, "١")  # noqa: RUF001 - an Arabic-Indic digit
REFUSALS = [
    *(Refusal("GET", path, **ROUTE) for path in UNKNOWN_PATHS),
    *(Refusal("GET", path, headers=V1_1, **ROUTE) for path in ("/v1/resources", TYPE, ALARMS)),
    *with_header(VERSION, (f"reservation {text}" for text in NO_VERSION), field=VERSION, **MALFORMED),
    *with_header(VERSION, (f"reservation {text}" for text in UNKNOWN_VERSIONS), **NOT_ACCEPTABLE),
    *with_header("X-User-Id", NO_IDENTITY, status=401, code="auth.unauthorized"),
    *with_header("X-Project-Id", NO_IDENTITY, status=401, code="auth.unauthorized"),
    *with_header("Idempotency-Key", ("", "x" * 256, "é", "a\tb"), field="Idempotency-Key"),
    *with_header("If-Match", NO_TAG, method="PUT", path=LEASE, field="If-Match"),
    *with_header("If-Match", NO_TAG, method="DELETE", path=LEASE, field="If-Match"),
    *with_header("If-Match", ('"0"', '"99"'), method="PUT", path=LEASE, **STALE),
    *with_header("If-Match", ('"0"', '"99"'), method="DELETE", path=LEASE, **STALE),
    *(Refusal("GET", LEASES, query=f"limit={quote(text)}", headers=V1_1, field="limit") for text in NO_LIMIT),
    *(
        Refusal("GET", LEASES, query=f"marker={text}", headers=V1_1, field="marker")
        for text in ("none-such", "%00", "%ED%A0%80", "%F0%9F%98%80", "x" * 256, "%0A")
    ),
    *(
        Refusal("GET", path, query=f"{key}={text}", field=key)
        for path in ("/v1/os-hosts/allocations", f"{HOST}/allocation")
        for key in ("lease_id", "reservation_id")
        for text in ("%00", "x" * 256, "%C3%A9")
    ),
    *(
        Refusal(method, f"{LEASES}/none-such", body, words=NO_SUCH_LEASE, **NOT_FOUND)
        for method, body in (("GET", None), ("PUT", {}), ("DELETE", None))
    ),
    *(Refusal("GET", f"{HOSTS}/{path}", **NOT_FOUND) for path in ("99", "99/allocation", "cmp-01")),
    Refusal("DELETE", f"{HOSTS}/99", **NOT_FOUND),
    Refusal("PATCH", f"{PROPERTIES}/none-such", {"private": True}, **NOT_FOUND),
    Refusal("POST", "/v1/resources/virtual:quantum", {"name": "gpu-03"}, **NOT_FOUND),
    Refusal("GET", "/v1/resources/virtual:quantum/candidates", headers=V1_3, **NOT_FOUND),
    *(
        Refusal("GET", f"/v1/resources/{name}/candidates", headers=V1_3, field="resource_type", words=words)
        for name, words in (("virtual:instance", "use resources of physical:host"), ("virtual:floatingip", "by what"))
    ),
    Refusal("GET", f"{ADDRESSES}/none-such", **NOT_FOUND),
    *(Refusal(method, f"{FILLERS}/none-such", headers=V1_3, **NOT_FOUND) for method in ("GET", "DELETE")),
    *(Refusal(method, f"{BUDGETS}/none-such", headers=V1_3, **NOT_FOUND) for method in ("GET", "DELETE")),
    *(Refusal(method, f"{ALARMS}/none-such", **NOT_FOUND) for method in ("GET", "DELETE")),
    *(Refusal(method, f"{MANY}/none-such", **NOT_FOUND) for method in ("GET", "DELETE")),
    *(Refusal(method, f"{FEEDS}/none-such", headers=V1_3, **NOT_FOUND) for method in ("GET", "DELETE")),
    *(Refusal(method, f"{TEMPLATES}/none-such", headers=V1_3, **NOT_FOUND) for method in ("GET", "DELETE")),
    Refusal("PUT", f"{TEMPLATES}/none-such", {}, headers=V1_3, **NOT_FOUND),
    Refusal("GET", f"{FEEDS}/none-such.ics", status=404, code="feeds.unknown"),
    *(Refusal(method, f"{PUBLISHED}/none-such", headers=V1_3, **NOT_FOUND) for method in ("GET", "DELETE")),
    Refusal("POST", f"{PUBLISHED}/none-such/claims", {"name": "x"}, headers=V1_3, **NOT_FOUND),
    Refusal("DELETE", "/v1/owned-leases/none-such", headers=V1_3, words=NO_SUCH_LEASE, **NOT_FOUND),
    Refusal("GET", ALARMS, query="all_projects=maybe", field="all_projects"),
    *(
        Refusal("GET", FORECAST, query=f"{key}={text}", headers=V1_3, field=key, words=words)
        for key, text, words in NO_FORECAST
    ),
    *(
        Refusal("GET", FORECAST, query=f"{key}={text}", headers=V1_3, code="input.date", field=key, words=words)
        for key, text, words in (
            ("from", "tomorrow", "invalid date"),
            ("from", "9999-12-31T00:00:00Z", "invalid date"),
            ("to", "%00", "invalid date"),
            ("to", "2001-01-01T00:00:00Z", "later than now"),
        )
    ),
]


@pytest.mark.parametrize("row", REFUSALS, ids=str)
def test_requests_that_are_refused(target: Target, row: Refusal) -> None:
    """Contract http-api §2, §2.1, §3: unknown paths and ids, versions, identities, keys, conditions and queries."""
    target.refuses(row)


@pytest.mark.parametrize(("method", "path", "allowed"), METHODS)
def test_methods_that_are_not_for_this_path(target: Target, method: str, path: str, allowed: str) -> None:
    answer = target.refuses(Refusal(method, path, status=405, code="http.method"))
    assert answer.headers["Allow"] == allowed


@pytest.mark.parametrize("method", ["PATCH", "TRACE", "OPTIONS"])
def test_methods_of_no_path(target: Target, method: str) -> None:
    """Every path refuses the methods for which it has no route."""
    paths = {route.path for route in ROUTES if not route.public} - {r.path for r in ROUTES if r.method == method}
    refusal: dict[str, Any] = {"status": 405, "code": "http.method"}
    assert target.accepted(Refusal(method, path, **refusal) for path in sorted(paths)) == []


# ---------------------------------------------------------------- hostile text


@pytest.mark.parametrize("text", one_quick(HOSTILE))
def test_hostile_ids_in_paths(target: Target, text: str) -> None:
    """A hostile id finds nothing, encoded or not, for any method."""
    words = [quote(text, safe=safe).replace("{", "{{").replace("}", "}}") for safe in ("", "/%")]
    asked: list[tuple[str, str, Any]] = [
        ("GET", f"{HOSTS}/{words[0]}/allocation", None),
        ("PATCH", f"{PROPERTIES}/{words[0]}", {"private": True}),
    ]
    for path, word in product((LEASES, HOSTS, ADDRESSES, TYPE), words):
        asked += [(method, f"{path}/{word}", None) for method in ("GET", "DELETE")]
        asked += [("PUT", f"{path}/{word}", {"name": "x", "properties": {"a": "b"}})]
    for method, path, body in asked:
        answer = target.ask(method, path, body)
        check_shape(answer)
        assert answer.status_code in ({404, 405, 400} if method == "PUT" else {404}), answer.text


@pytest.mark.parametrize("text", one_quick(HOSTILE))
def test_hostile_queries(target: Target, text: str) -> None:
    """A filter that is no id finds nothing or is refused; it never adds results."""
    word = quote(text, safe="")
    for key, path in product(("lease_id", "reservation_id"), ("/v1/os-hosts/allocations", f"{HOST}/allocation")):
        answer = target.ask("GET", path, query_string=f"{key}={word}")
        if answer.status_code == 200:
            shown = answer.json.get("allocations") or [answer.json["allocation"]]
            assert all(each["reservations"] == [] for each in shown)
        else:
            Refusal("GET", path, field=key).check(answer)
    for key in ("detail", "all", "limit", "marker", quote(text)):
        assert target.ask("GET", PROPERTIES, query_string=f"{key}={word}").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_filters_show_no_more_than_the_list_or_are_refused(target: Target, text: str) -> None:
    """Every filter of every list, and its marker and order, take text that means nothing without showing more."""
    # The past of one lease is no list; tests/features/lease_history/test_api.py sends other texts there.
    filtered = [route for route in ROUTES if route.filters and "as_of" not in route.filters]
    assert len(filtered) > 9
    for route in filtered:
        path = route.path.format(resource_type="physical:host")
        whole = target.ask("GET", path, headers={VERSION: f"reservation {NEWEST}"}).json
        items = next(value for value in whole.values() if isinstance(value, list))
        for key in route.filters:
            answer = target.ask(
                "GET", path, query_string=f"{key}={quote(text, safe='')}", headers={VERSION: f"reservation {NEWEST}"}
            )
            if answer.status_code == 200:
                shown = next(value for value in answer.json.values() if isinstance(value, list))
                assert shown == [each for each in items if each in shown], (path, key)
            else:
                code = "input.date" if key in {"ends_after", "starts_before", "from"} else "input.invalid"
                Refusal("GET", path, code=code, field=key).check(answer)


@pytest.mark.slow
@pytest.mark.parametrize("text", [each for each in HOSTILE if each != "\u202e"])
def test_hostile_names_are_only_names(own_target: Target, text: str) -> None:
    """A lease name may hold any characters but control characters; it is returned as sent and has no other effect."""
    answer = own_target.ask("POST", LEASES, {**VALID, "name": text})
    assert answer.status_code == 201
    leases = {each["id"]: each["name"] for each in own_target.world.get("/leases")["leases"]}
    assert leases[answer.json["lease"]["id"]] == text
    assert len(leases) == 7


@pytest.mark.slow
@pytest.mark.parametrize("text", [each for each in HOSTILE if "/" not in each and each != "null"])
def test_hostile_properties_are_only_text(own_target: Target, text: str) -> None:
    """A property may have almost any name and value; both are returned as sent, and expressions match them.

    The exception is the value null, with which expressions match an absent value (contract resources §0.1).
    """
    world = own_target.world
    assert own_target.ask("PUT", HOST, {text: text}).status_code == 200
    assert world.get("/os-hosts/1")["host"][text] == text
    detailed = world.get("/os-hosts/properties", params={"detail": "True"})["resource_properties"]
    assert [each["values"] for each in detailed if each["property"] == text] == [[text]]
    asked = hosts(1, 9, resource_properties=json.dumps(["==", f"${text}", text]))
    lease = world.lease(asked, start_date="2031-06-05 10:00", end_date="2031-06-05 11:00")
    allocations = world.get("/os-hosts/allocations", params={"lease_id": lease["id"]})["allocations"]
    assert [each["resource_id"] for each in allocations if each["reservations"]] == ["1"]


@pytest.mark.parametrize("text", one_quick([each for each in HOSTILE if each not in {"0", "-1", "1e9"}]))
def test_hostile_references_to_the_cloud(target: Target, text: str) -> None:
    """Hosts, networks and flavors of the cloud are found by exact name only, not by pattern or path."""
    sent = {"floating_network_id": text, "floating_ip_address": "203.0.113.210"}
    for path, body, status in (
        (HOSTS, {"name": text}, 404),
        (HOSTS, {"id": text}, 404),
        (TYPE, {"name": text}, 404),
        (ADDRESSES, sent, 400),
        (LEASES, {**VALID, "reservations": [flavors(flavor=text)]}, 404),
        (LEASES, {**VALID, "reservations": [floating_ips(network_id=text)]}, 400),
    ):
        answer = target.ask("POST", path, body)
        check_shape(answer)
        assert answer.status_code == status, answer.text


def test_what_is_enrolled_already_is_409_and_leaves_the_cloud_alone(target: Target) -> None:
    """Enrolling a host again changes nothing, in particular for a leased host, which is not in the free pool."""
    lease = target.world.get(f"/leases/{target.places['active']}")["lease"]
    assert target.world.hosts_of(lease["reservations"][0]["id"])
    again: dict[str, Any] = {"status": 409, "code": "resource.duplicate"}
    for name, _ in seed.SUGGESTED_HOSTS[:-1]:
        target.refuses(Refusal("POST", HOSTS, {"name": name}, **again))
        target.refuses(Refusal("POST", TYPE, {"name": name}, **again))
    sent = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": seed.SUGGESTED_FLOATING_IPS[0]}
    target.refuses(Refusal("POST", ADDRESSES, sent, field="floating_ip_address", **again))


# ---------------------------------------------------------------- callers

STRANGERS: list[dict[str, str]] = [
    {**MEMBER, "X-Project-Id": "alt"},
    {**MEMBER, "X-Project-Id": "DEMO"},
    {**MEMBER, "X-Project-Id": "demo%"},
    {**MEMBER, "X-Project-Id": "' OR 1=1 --"},
    {**MEMBER, "X-Roles": ""},
    {**MEMBER, "X-Roles": "reader,adminx"},
]
FOR_ALL = {
    ("GET", "/v1/events"),
    ("GET", FREE),
    ("GET", TIMELINE),
    ("POST", SEARCH),
    ("GET", ASKABLE),
    ("GET", REGIONS),
    ("GET", EVERYWHERE.removesuffix("/search")),
    ("POST", EVERYWHERE),
    ("GET", LEASES),
    ("POST", LEASES),
    ("GET", ADDRESSES),
    ("GET", f"{ADDRESSES}/{{floatingip_id}}"),
    ("GET", "/v1/subscriptions"),
    ("POST", "/v1/subscriptions"),
    ("GET", "/v1/fillers"),
    ("POST", "/v1/fillers"),
    ("GET", USAGE),
    ("GET", CHARGES),
    ("GET", PRICES),
    ("GET", BUDGETS),
    ("GET", "/v1/alarms"),
    ("POST", "/v1/alarms"),
    ("GET", "/v1/feeds"),
    ("POST", "/v1/feeds"),
    ("GET", TEMPLATES),
    ("POST", TEMPLATES),
    ("GET", "/v1/series"),
    ("POST", "/v1/series"),
    ("GET", FLEXIBLES),
    ("POST", FLEXIBLES),
    ("GET", OFFERS),
    ("POST", OFFERS),
    ("GET", OWNED),
    ("DELETE", OWNED_LEASE),
    ("GET", PUBLISHED),
    ("GET", ONE_PUBLISHED),
    ("DELETE", ONE_PUBLISHED),
    ("POST", PUBLISHED),
    ("POST", CLAIMS),
}
"""The routes that every member of a project may use, or every reader."""
_HOOK = "/v1/subscriptions/{subscription_id}"
READ = (
    LEASE,
    HELD,
    PAST,
    SUB_LEASES,
    SERIES,
    FILLER,
    BUDGET,
    ALARM,
    FLEXIBLE,
    OFFER,
    FEED,
    TEMPLATE,
    _HOOK,
    f"{_HOOK}/dead-letters",
)
"""The paths of what a project owns and its readers see."""


@pytest.mark.parametrize("headers", STRANGERS, ids=lambda value: value["X-Project-Id"] + value["X-Roles"])
def test_other_peoples_ids(target: Target, headers: dict[str, str]) -> None:
    """Only members of a project change its leases (contract http-api §5.2), and only administrators access hosts."""
    reader = "X-Roles" in headers and "reader,adminx" in headers["X-Roles"]
    rows = [
        Refusal(route.method, route.path, {"name": "mine"} if route.request else None, 403, "auth.forbidden")
        for route in ROUTES
        if route.rules and (route.method, route.path) not in FOR_ALL
        if not (reader and route.method == "GET" and route.path in READ)
    ]
    assert len(rows) > 20
    for row in rows:
        version = NEWEST if row.path.startswith(NEW) else "1.0"
        row.check(target.ask(row.method, row.path, row.body, headers={**headers, VERSION: f"reservation {version}"}))


def test_other_projects_leases_are_not_listed(target: Target) -> None:
    """A list shows the leases of the caller's project only; an administrator sees those of all projects."""
    shown = [
        {each["project_id"] for each in target.ask("GET", LEASES, headers=headers).json["leases"]}
        for headers in (*STRANGERS[:4], {})
    ]
    assert shown == [{"alt"}, set(), set(), set(), {"demo", "alt"}]


@pytest.mark.parametrize("count", [1001, pytest.param(30_000, marks=pytest.mark.slow)])
def test_too_many_of_anything(target: Target, count: int) -> None:
    """The length of lists is limited, so that one request cannot keep the service busy."""
    for method, path, body in (
        ("POST", LEASES, {**VALID, "reservations": [{"resource_type": "physical:host"}] * count}),
        ("POST", LEASES, {**VALID, "events": [{"event_type": "x"}] * count}),
        ("PUT", LEASE, {"reservations": [{"id": "x"}] * count}),
    ):
        answer = target.ask(method, path, body)
        check_shape(answer)
        assert answer.status_code in {400, 413}, answer.text
