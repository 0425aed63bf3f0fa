"""Attacks on the web console, over HTTP and on a real program: all are refused, and change nothing.

A sibling origin with the cookie, a planted cookie, a replayed one, a sign-in that a stranger began, a rebound name, a
page in a frame; and what a stolen database or a log holds.
"""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.api.keystone.people import People
from tests.api.keystone.server import serving_keystone
from tests.processes import prepare_database, running
from tests.security.programs import api_with_passwords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.processes import Program

pytestmark = pytest.mark.slow

COOKIE = "__Host-leasehold"
OWN = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "X-Leasehold-Console": "1"}
ALICE = {"password": {"user": "alice", "password": "right"}}
LEASE = {"name": "n", "start_date": "2040-01-01 10:00", "end_date": "2040-01-01 11:00"}
PASSWORD = "wonder-land-9"


def ask(api: Program, method: str, path: str, secret: str | None = None, **more: Any) -> requests.Response:
    """Send a request as a page of the console does, unless the test passes other `headers`."""
    headers = dict(more.pop("headers", OWN))
    if secret is not None:
        headers.setdefault("Cookie", f"{COOKIE}={secret}")
    return requests.request(method, f"{api.root}{path}", headers=headers, timeout=60, allow_redirects=False, **more)


def signed_in(api: Program, way: Any) -> str:
    """Sign in, and return the secret in the cookie."""
    answer = ask(api, "POST", "/console/session", json=way)
    assert answer.status_code == 201, answer.text
    return answer.headers["Set-Cookie"].partition(";")[0].partition("=")[2]


def code(answer: requests.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run an API at which `alice` signs in with a password."""
    with api_with_passwords(tmp_path_factory.mktemp("console")) as api:
        yield api


@pytest.fixture
def secret(api: Program) -> str:
    return signed_in(api, ALICE)


def leases(api: Program, secret: str) -> list[str]:
    return [lease["name"] for lease in ask(api, "GET", "/console/v1/leases", secret).json()["leases"]]


# ---------------------------------------------------------------- another origin

FOREIGN = {
    "another port of the host": {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:8080"},
    "a sibling of the name": {"Sec-Fetch-Site": "same-site", "Origin": "https://vm.example.org"},
    "another site": {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    "a link": {"Sec-Fetch-Site": "none"},
    "a page that invents the header": {"Sec-Fetch-Site": "same-site", "X-Leasehold-Console": "1"},
    "an old browser": {"Origin": "https://evil.example"},
    "an old browser's form": {},
    "two values": {"Sec-Fetch-Site": "same-origin, cross-site"},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_the_cookie_is_worth_nothing_to_a_page_of_another_origin(api: Program, secret: str, name: str) -> None:
    """Browsers send a Strict cookie with the requests of a sibling origin, also without a preflight request."""
    headers = {**FOREIGN[name], "Sec-Fetch-Mode": "no-cors"}
    for method, path, body in (
        ("POST", "/console/v1/leases", LEASE),
        ("GET", "/console/v1/leases", None),
        ("GET", "/console/session", None),
        ("POST", "/console/session", ALICE),
        ("POST", "/console/session/project", {"project": "x"}),
        ("GET", "/console/sessions", None),
        ("DELETE", "/console/session", None),
    ):
        answer = ask(api, method, path, secret, json=body, headers=headers)
        assert code(answer) == (403, "leasehold.auth.foreign_page"), (method, path)
        assert "Set-Cookie" not in answer.headers
        assert not [each for each in answer.headers if each.lower().startswith("access-control")]
    assert leases(api, secret) == []


@pytest.mark.parametrize("path", ["/console/v1/leases", "/console/session", "/v1/leases"])
def test_no_preflight_request_is_granted(api: Program, path: str) -> None:
    headers = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-leasehold-console,content-type",
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "cors",
    }
    answer = ask(api, "OPTIONS", path, headers=headers)
    assert answer.status_code in (401, 403, 405)
    assert not [each for each in answer.headers if each.lower().startswith("access-control")]


def test_where_a_browser_says_nothing_the_pages_own_header_counts(api: Program, secret: str) -> None:
    assert ask(api, "GET", "/console/v1/leases", secret, headers={"X-Leasehold-Console": "1"}).status_code == 200
    for value in ("0", "", "true", "1, 1"):
        headers = {"X-Leasehold-Console": value}
        assert ask(api, "GET", "/console/v1/leases", secret, headers=headers).status_code == 403


def test_the_api_does_not_know_the_cookie(api: Program, secret: str) -> None:
    for headers in (OWN, {}):
        answer = ask(api, "POST", "/v1/leases", secret, json=LEASE, headers=headers)
        assert code(answer) == (401, "leasehold.auth.unauthorized")


# ---------------------------------------------------------------- planted, replayed


def test_a_planted_cookie_is_refused(api: Program, secret: str) -> None:
    """Rule 2: a person who works in the attacker's session would show there what they enter."""
    planted = signed_in(api, ALICE)
    for cookies in (f"{COOKIE}={planted}; {COOKIE}={secret}", f"{COOKIE}={secret}; a=b; {COOKIE}={planted}"):
        answer = ask(api, "GET", "/console/v1/leases", headers={**OWN, "Cookie": cookies})
        assert code(answer) == (400, "leasehold.http.malformed")
        assert secret not in answer.text
    # Without the prefix, which browsers do not let another machine set, it is another cookie.
    for name in ("leasehold", "__Secure-leasehold", "__host-leasehold"):
        answer = ask(api, "GET", "/console/v1/leases", headers={**OWN, "Cookie": f"{name}={planted}"})
        assert code(answer) == (401, "leasehold.session.none")


def test_a_copy_of_the_cookie_dies_with_the_session(api: Program, secret: str) -> None:
    assert ask(api, "DELETE", "/console/session", secret).status_code == 204
    for method, path in (("GET", "/console/v1/leases"), ("GET", "/console/sessions"), ("POST", "/console/v1/leases")):
        answer = ask(api, method, path, secret, json=LEASE if method == "POST" else None)
        assert code(answer) == (401, "leasehold.session.none")


def test_a_request_that_waits_for_events_ends_with_the_session(api: Program, secret: str) -> None:
    """It has no thread meanwhile, and runs again from its beginning: the door looks for the session once more."""
    headers = {**OWN, "OpenStack-API-Version": "reservation 1.2"}
    with ThreadPoolExecutor(max_workers=2) as pool:
        mine = pool.submit(ask, api, "GET", "/console/v1/events?wait=4", secret, headers=headers)
        other = pool.submit(ask, api, "GET", "/console/v1/events?wait=4", signed_in(api, ALICE), headers=headers)
        with pytest.raises(TimeoutError):
            mine.result(timeout=1)
        assert ask(api, "DELETE", "/console/session", secret).status_code == 204
        assert code(mine.result(timeout=60)) == (401, "leasehold.session.none")
        assert other.result(timeout=60).status_code == 200


def test_the_cookie_before_a_sign_in_is_not_the_one_after_it(api: Program, secret: str) -> None:
    """Whoever knew it before knows nothing after (session fixation)."""
    answer = ask(api, "POST", "/console/session", secret, json=ALICE)
    assert answer.status_code == 201
    assert secret not in answer.headers["Set-Cookie"]
    assert ask(api, "GET", "/console/v1/leases", secret).status_code == 401


# ---------------------------------------------------------------- a frame, and HTTP without TLS


@pytest.mark.parametrize("path", ["/console/", "/console/index.html"])
def test_no_page_is_shown_in_a_frame(api: Program, path: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate"}
    answer = ask(api, "GET", path, headers=headers)
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_nobody_signs_in_without_tls_from_another_machine(api: Program) -> None:
    """A browser sends no `Sec-Fetch-Site` to such an address."""
    headers = {"X-Leasehold-Console": "1", "Host": "leases.example.org:1234"}
    answer = ask(api, "POST", "/console/session", json=ALICE, headers=headers)
    assert code(answer) == (403, "leasehold.session.insecure")
    assert "Set-Cookie" not in answer.headers


# ---------------------------------------------------------------- a rebound name


def test_a_name_that_was_made_to_lead_here_is_refused(tmp_path: Path) -> None:
    """DNS rebinding: to the browser, the page of evil.example and this API are one origin then."""
    url = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(url)
    way = {"act_as": {"user": "admin", "project": "demo", "roles": ["admin"]}}
    with running("leasehold-api", database_url=url) as api:
        secret = signed_in(api, way)
        rebound = {**OWN, "Host": "evil.example", "Origin": "http://evil.example"}
        for method, path, body in (
            ("POST", "/console/session", way),
            ("GET", "/console/session", None),
            ("GET", "/console/v1/leases", None),
            ("POST", "/console/v1/leases", LEASE),
            ("GET", "/v1/leases", None),
        ):
            answer = ask(api, method, path, secret, json=body, headers=rebound)
            assert code(answer) == (403, "leasehold.auth.foreign_page"), (method, path)
        assert leases(api, secret) == []
        assert ask(api, "POST", "/console/v1/leases", secret, json=LEASE).status_code == 201


# ---------------------------------------------------------------- Keystone


@pytest.fixture(scope="module")
def keystone() -> Iterator[People]:
    with serving_keystone(People("")) as keystone:
        keystone.add("alice", PASSWORD, {"demo": ("member", "reader"), "alt": ("reader",)})
        keystone.add("mallory", "mine", {"demo": ("member", "reader")})
        yield keystone


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keystone")


@pytest.fixture(scope="module")
def cloudy(keystone: People, folder: Path) -> Iterator[Program]:
    """Run an API at which people sign in with Keystone, also by an identity provider, with debug logging."""
    url = f"sqlite:///{folder}/leasehold.db"
    prepare_database(url)
    account = {"auth_type": "password", "auth_url": keystone.url, "username": "leasehold", "password": "of-the-service"}
    domains = {"project_name": "service", "user_domain_name": "Default", "project_domain_name": "Default"}
    options: dict[str, dict[str, object]] = {
        "DEFAULT": {"debug": True},
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": {**account, **domains},
        "console": {"websso": "openid=University", "public_url": "http://127.0.0.1/console"},
    }
    with running("leasehold-api", database_url=url, options=options) as api:
        yield api


def test_a_sign_in_that_a_stranger_began_or_ends_is_refused(cloudy: Program, keystone: People) -> None:
    """The victim would work as the attacker."""
    token = keystone.federated("mallory")
    origin = keystone.url.removesuffix("/v3")
    form = {"token": token}
    arriving = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Origin": origin}
    refused = "./?refused=leasehold.session.websso"
    # Another site may neither begin it in the victim's browser, nor send the form without or with that cookie.
    begun = ask(cloudy, "GET", "/console/sso/start?provider=openid", headers={"Sec-Fetch-Site": "cross-site"})
    assert code(begun) == (403, "leasehold.auth.foreign_page")
    assert "Set-Cookie" not in begun.headers
    begun = ask(cloudy, "GET", "/console/sso/start?provider=openid", headers={"Sec-Fetch-Site": "same-origin"})
    cookie = begun.headers["Set-Cookie"].partition(";")[0]
    for headers in (arriving, {**arriving, "Cookie": cookie, "Origin": "https://evil.example"}):
        answer = ask(cloudy, "POST", "/console/sso", headers=headers, data=form)
        assert (answer.status_code, answer.headers["Location"]) == (303, refused)
        assert COOKIE + "=" not in answer.headers["Set-Cookie"]
    answer = ask(cloudy, "POST", "/console/sso", headers={**arriving, "Cookie": cookie}, data=form)
    assert (answer.status_code, answer.headers["Location"]) == (303, "./")


def test_a_stolen_database_and_the_log_hold_no_secret(cloudy: Program, keystone: People, folder: Path) -> None:
    wrong = {"password": {"user": "alice", "password": "wrong-" + PASSWORD}}
    assert ask(cloudy, "POST", "/console/session", json=wrong).status_code == 401
    secret = signed_in(cloudy, {"password": {"user": "alice", "password": PASSWORD, "project": "alt"}})
    assert ask(cloudy, "GET", "/console/v1/leases", secret).status_code == 200
    answer = ask(cloudy, "POST", "/console/session/project", secret, json={"project": "demo"})
    assert answer.status_code == 200, answer.text
    cookie = answer.headers["Set-Cookie"].partition(";")[0].partition("=")[2]
    tokens = [token for token in (*keystone.tokens, *keystone.revoked) if "scoped-" in token]
    assert len(tokens) >= 3
    places = {path.name: path.read_bytes() for path in folder.iterdir() if path.name.startswith("leasehold.db")}
    places["the log"] = cloudy.log.read_bytes()
    assert b"user-of-alice" in places["leasehold.db"] + places.get("leasehold.db-wal", b"")
    for text in (*tokens, PASSWORD, secret, cookie):
        for form in (text.encode(), base64.b64encode(text.encode()).rstrip(b"=")[:-1]):
            found = [name for name, content in places.items() if form in content]
            assert not found, (text, found)
