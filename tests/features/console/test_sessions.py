"""Sessions of the console, where nobody has to prove who they are: begin, end, and what the door lets through."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from leasehold.cmd.web import make_app
from leasehold.features.console.model import digest_of
from leasehold.features.console.options import ConsoleSettings
from leasehold.features.console.store import list_sessions
from leasehold.features.console.use import MOST, purge_sessions
from tests.features.console.browser import COOKIE, SHELL, Browser
from tests.jobs import job_of
from tests.users import users_file
from tests.web import LocalClient

if TYPE_CHECKING:
    from falcon import testing

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Clock

LEASE = {"name": "l", "start_date": "2031-05-01 10:00", "end_date": "2031-05-01 11:00"}
FLAGS = re.compile(rf"{COOKIE}=[A-Za-z0-9_-]{{43}}; Path=/; Secure; HttpOnly; SameSite=Strict", re.ASCII)
IDLE = timedelta(minutes=30)


def code(answer: testing.Result) -> tuple[int, str]:
    return answer.status_code, answer.json["code"]


def test_a_person_begins_as_whom_they_say_and_the_door_says_so_to_the_api(browser: Browser) -> None:
    nobody = browser.ask("GET", "session")
    assert (nobody.status_code, nobody.json["session"], nobody.json["ended"]) == (200, None, "none")
    assert nobody.json["sign_in"]["act_as"] == {
        "user": "admin",
        "project": "demo",
        "roles": ["admin", "member", "reader"],
    }
    session = browser.act_as("alice", "physics", "member")
    assert (session["user"]["id"], session["project"]["id"]) == ("alice", "physics")
    assert session["roles"] == ["member", "reader"]
    assert browser.who() == session
    lease = browser.ask("POST", "v1/leases", LEASE).json["lease"]
    assert (lease["user_id"], lease["project_id"]) == ("alice", "physics")
    assert browser.ask("GET", "v1/os-hosts").status_code == 403


@pytest.mark.slow
def test_the_page_knows_which_rules_allow_the_person_something(browser: Browser) -> None:
    member = set(browser.act_as("alice", "demo", "member")["may"])
    admin = set(browser.act_as("root", "demo", "admin")["may"])
    assert "blazar:leases:post" in member
    assert {"leasehold:alarms:get", "leasehold:alarms:post"} <= member
    assert {"blazar:oshosts:post", "leasehold:forecast:get", "leasehold:refusals:get"} <= admin - member
    assert member < admin
    for rule, path in (("blazar:leases:get", "v1/leases"), ("blazar:oshosts:get", "v1/os-hosts")):
        for roles, rules in ((["member"], member), (["admin"], admin)):
            browser.act_as("x", "demo", *roles)
            assert (browser.ask("GET", path).status_code == 200) == (rule in rules)


def test_somebody_without_a_role_stays_without_one(browser: Browser) -> None:
    answer = browser.ask("POST", "session", {"act_as": {"user": "x", "project": "p", "roles": []}})
    assert answer.json["session"]["roles"] == []
    assert answer.json["session"]["may"] == []
    assert browser.ask("GET", "v1/leases").status_code == 403


def test_every_session_has_a_cookie_of_its_own_with_all_flags(browser: Browser) -> None:
    """Rules 1 and 2: a new secret each time, and the one before opens nothing any more."""
    secrets = []
    for _ in range(2):
        answer = browser.ask("POST", "session", {"act_as": {"user": "a", "project": "p", "roles": ["member"]}})
        assert FLAGS.fullmatch(answer.headers["Set-Cookie"])
        secrets.append(browser.secret)
    assert secrets[0] != secrets[1]
    for secret, status in zip(secrets, (401, 200), strict=True):
        assert (
            browser.stranger().ask("GET", "v1/leases", headers={"Cookie": f"{COOKIE}={secret}"}).status_code == status
        )


def test_a_cookie_that_is_there_twice_is_refused(browser: Browser) -> None:
    """Rule 2: another machine of the domain, or another path, may have set one of the two."""
    browser.act_as()
    other = browser.stranger()
    other.act_as("mallory", "evil")
    for cookies in (
        f"{COOKIE}={browser.secret}; {COOKIE}={other.secret}",
        f"{COOKIE}={browser.secret};{COOKIE}={browser.secret}",
        f"{COOKIE}={browser.secret}, {COOKIE}={other.secret}",
        f"a=b; {COOKIE} = x; {COOKIE}={other.secret}",
    ):
        for method, path in (("GET", "v1/leases"), ("GET", "session"), ("GET", "sessions"), ("DELETE", "session")):
            answer = browser.ask(method, path, headers={"Cookie": cookies})
            assert code(answer) == (400, "leasehold.http.malformed"), (method, path)
            assert "twice" in answer.json["error_message"]
            assert not {browser.secret, other.secret} & set(re.findall(r"[\w-]+", answer.text))
    assert browser.who() is not None


@pytest.mark.parametrize("value", ["", "x", "x" * 43, "x" * 44, "a b", "../../etc/passwd", "\xff" * 43])
def test_a_cookie_that_nobody_was_given_opens_nothing(browser: Browser, value: str) -> None:
    answer = browser.ask("GET", "v1/leases", headers={"Cookie": f"{COOKIE}={value}"})
    assert code(answer) == (401, "leasehold.session.none")
    assert answer.json["details"] == {"ended": "none"}
    assert "WWW-Authenticate" not in answer.headers


def test_the_end_of_a_session_is_the_end_everywhere(browser: Browser) -> None:
    browser.act_as()
    copy = browser.but(jar=dict(browser.jar))
    assert copy.ask("GET", "v1/leases").status_code == 200
    answer = browser.ask("DELETE", "session")
    assert (answer.status_code, answer.headers["Clear-Site-Data"]) == (204, '"cache", "storage"')
    assert answer.headers["Set-Cookie"] == f"{COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0"
    assert browser.jar == {}
    assert copy.ask("GET", "v1/leases").status_code == 401
    assert copy.who() is None
    assert browser.ask("DELETE", "session").status_code == 204


def test_only_what_a_person_does_keeps_a_session_from_its_idle_end(browser: Browser, clock: Clock) -> None:
    """Rule 6: a page that polls for ever leaves nobody signed in for ever."""
    browser.act_as()
    for _ in range(3):
        clock.now += IDLE - timedelta(minutes=1)
        assert browser.ask("GET", "v1/leases", person=True).status_code == 200
    for _ in range(6):
        clock.now += timedelta(minutes=5)
        assert browser.ask("GET", "v1/leases").status_code == 200
    clock.now += timedelta(minutes=1)
    answer = browser.ask("GET", "v1/leases", person=True)
    assert code(answer) == (401, "leasehold.session.none")
    assert answer.json["details"] == {"ended": "idle"}


def test_the_page_is_told_why_a_session_is_over_and_the_cookie_goes(browser: Browser, clock: Clock) -> None:
    browser.act_as()
    clock.now += IDLE + timedelta(minutes=1)
    answer = browser.ask("GET", "session")
    assert (answer.json["session"], answer.json["ended"]) == (None, "idle")
    assert browser.jar == {}


@pytest.mark.slow
def test_a_session_ends_in_any_case(browser: Browser, clock: Clock) -> None:
    """Rule 7, where no token says when."""
    expires_at = browser.act_as()["expires_at"]
    assert expires_at == (clock.now + timedelta(hours=12)).strftime("%Y-%m-%dT%H:%M:%SZ")
    end = clock.now + timedelta(hours=12)
    while clock.now + IDLE < end:
        clock.now += IDLE
        assert browser.ask("GET", "v1/leases", person=True).status_code == 200
    clock.now = end
    answer = browser.ask("GET", "v1/leases", person=True)
    assert answer.json["details"] == {"ended": "expired"}


@pytest.mark.slow
def test_a_person_sees_their_sessions_and_ends_one(browser: Browser, clock: Clock) -> None:
    browser.act_as("alice", "demo")
    clock.now += timedelta(minutes=2)
    elsewhere = browser.stranger()
    elsewhere.act_as("alice", "physics")
    stranger = browser.stranger()
    stranger.act_as("bob", "demo")
    found = browser.ask("GET", "sessions").json["sessions"]
    assert [(each["current"], each["project"]) for each in found] == [
        (True, {"id": "demo", "name": "demo"}),
        (False, {"id": "physics", "name": None}),
    ]
    other = found[1]["id"]
    assert code(stranger.ask("DELETE", f"sessions/{other}")) == (404, "leasehold.not_found")
    assert elsewhere.who() is not None
    assert browser.ask("DELETE", f"sessions/{other}").status_code == 204
    assert elsewhere.who() is None
    assert stranger.who() is not None
    assert code(browser.ask("DELETE", f"sessions/{other}")) == (404, "leasehold.not_found")
    assert browser.ask("DELETE", f"sessions/{found[0]['id']}").status_code == 204
    assert browser.jar == {}


def test_the_name_of_a_session_opens_nothing(browser: Browser) -> None:
    browser.act_as()
    name = browser.ask("GET", "sessions").json["sessions"][0]["id"]
    assert digest_of(browser.secret).startswith(name)
    for secret in (name, digest_of(browser.secret), digest_of(browser.secret)[:43]):
        answer = browser.ask("GET", "v1/leases", headers={"Cookie": f"{COOKIE}={secret}"})
        assert answer.status_code == 401


@pytest.mark.slow
def test_a_person_has_only_so_many_sessions_and_what_is_over_is_removed(
    browser: Browser, service: Service, clock: Clock
) -> None:
    browser.act_as()
    for _ in range(MOST + 1):
        clock.now += timedelta(seconds=1)
        browser.stranger().act_as()

    def kept() -> int:
        with service.db.reading() as connection:
            return len(list_sessions(connection, "alice"))

    assert kept() == MOST
    assert browser.who() is None
    clock.now += IDLE + timedelta(minutes=2)
    browser.stranger().act_as("bob", "demo")
    assert kept() == 0
    browser.act_as()
    clock.now += timedelta(hours=12)
    job_of(service, "sessions").run_once()
    assert kept() == 0
    assert purge_sessions(service, timedelta(0)) == 0


def test_a_purge_that_fails_is_tried_again(
    browser: Browser, service: Service, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    browser.act_as()
    clock.now += timedelta(hours=12)
    with service.db.engine.begin() as connection:
        connection.execute(text("ALTER TABLE sessions RENAME TO away"))
    job_of(service, "sessions").run_once()
    assert "The job sessions has failed" in caplog.text
    with service.db.engine.begin() as connection:
        connection.execute(text("ALTER TABLE away RENAME TO sessions"))
    job_of(service, "sessions").run_once()
    with service.db.reading() as connection:
        assert list_sessions(connection, "alice") == []


def test_a_session_is_of_every_process(browser: Browser, service: Service, settings: ApiSettings) -> None:
    """They share the database and nothing else."""
    browser.act_as()
    other = browser.but(web=LocalClient(make_app(service, settings)))
    assert other.ask("GET", "v1/leases").status_code == 200
    assert other.ask("DELETE", "session").status_code == 204
    assert browser.ask("GET", "v1/leases").status_code == 401


def test_a_session_of_another_strategy_is_none(browser: Browser, service: Service, settings: ApiSettings) -> None:
    browser.act_as("root", "demo", "admin")
    users = replace(settings, auth_strategy="http_basic", users_file=str(users_file(service_folder(service), {})))
    other = browser.but(web=LocalClient(make_app(service, users)))
    assert other.ask("GET", "v1/leases").status_code == 401
    assert browser.who() is None


def service_folder(service: Service) -> Path:
    return Path(str(service.db.engine.url.database)).parent


@pytest.mark.parametrize(
    ("host", "site", "protocol", "named"),
    [
        ("leases.example", None, "http", "leasehold"),
        ("leases.example", None, "https", COOKIE),
        ("leases.example", "same-origin", "http", COOKIE),
        ("localhost", None, "http", COOKIE),
        ("[::1]", None, "http", COOKIE),
    ],
)
def test_without_tls_the_cookie_has_a_plain_name_if_that_is_allowed(
    service: Service, settings: ApiSettings, host: str, site: str | None, protocol: str, named: str
) -> None:
    """A browser would drop the other one. `Sec-Fetch-Site` says that it trusts the address."""
    allowed = replace(service, settings=service.settings.having(ConsoleSettings(insecure_http=True)))
    app = make_app(allowed, replace(settings, allowed_hosts=("leases.example",)))
    browser = Browser(LocalClient(app), site=site)
    way = {"act_as": {"user": "a", "project": "p", "roles": ["member"]}}
    answer = browser.ask("POST", "session", way, host=host, protocol=protocol)
    assert answer.status_code == 201
    assert answer.headers["Set-Cookie"].startswith(f"{named}=")
    assert ("; Secure;" in answer.headers["Set-Cookie"]) == (named == COOKIE)
    assert "; HttpOnly; SameSite=Strict" in answer.headers["Set-Cookie"]
    assert browser.ask("GET", "v1/leases", host=host, protocol=protocol).status_code == 200
    if named != COOKIE:
        # The plain name counts nowhere else.
        assert browser.ask("GET", "v1/leases", host=host, protocol="https").status_code == 401


def test_without_tls_nobody_signs_in_from_another_machine(service: Service, settings: ApiSettings) -> None:
    app = make_app(service, replace(settings, allowed_hosts=("leases.example",)))
    browser = Browser(LocalClient(app), site=None)
    way = {"act_as": {"user": "a", "project": "p", "roles": ["member"]}}
    answer = browser.ask("POST", "session", way, host="leases.example")
    assert code(answer) == (403, "leasehold.session.insecure")
    assert "trusted_proxies" in answer.json["error_message"]
    assert browser.ask("POST", "session", way, host="leases.example", protocol="https").status_code == 201


# ---------------------------------------------------------------- bad input

BAD: tuple[tuple[Any, str], ...] = (
    ({}, "Send one way"),
    ({"act_as": {"user": "a", "project": "p", "roles": []}, "token": {"token": "t"}}, "Send one way"),
    ({"act_as": {"user": "a", "project": "p"}}, "Missing parameter"),
    ({"act_as": {"user": "", "project": "p", "roles": []}}, "user"),
    ({"act_as": {"user": "a" * 256, "project": "p", "roles": []}}, "user"),
    ({"act_as": {"user": "a", "project": "p", "roles": ["x"] * 33}}, "roles"),
    ({"act_as": {"user": "a", "project": "p", "roles": ["a,admin"]}}, "commas"),
    ({"act_as": {"user": "\u00e4", "project": "p", "roles": []}}, "ASCII"),
    ({"act_as": {"user": "a\r\nX-Roles: admin", "project": "p", "roles": []}}, "ASCII"),
    ({"act_as": {"user": "a", "project": "p", "roles": [], "more": 1}}, "Unknown key"),
    ({"password": {"user": "a", "password": "p"}}, "Send act_as"),
)


@pytest.mark.parametrize(("body", "sentence"), BAD)
def test_a_sign_in_that_is_none_is_refused_with_a_sentence(browser: Browser, body: Any, sentence: str) -> None:
    answer = browser.ask("POST", "session", body)
    assert answer.status_code == 400
    assert sentence in answer.json["error_message"]
    assert browser.jar == {}


HEADERS = (
    *("Host", "Origin", "Referer", "Cookie", "Accept", "Accept-Encoding", "If-None-Match", "If-Match", "Content-Type"),
    *("Authorization", "X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "OpenStack-API-Version", "Range"),
    *("Idempotency-Key", "X-Roles", "X-User-Id", "X-OpenStack-Request-ID", "Sec-Fetch-Site"),
)
"""Every header that the API, the console, Falcon or the page of the metrics reads, and some that they do not."""
NO_HEADER = (
    *("a:b", "a:", ":", "[", "[::1", "[::1]:x", "localhost:b", "a:99999999999", "http://[", "http://a:b/", ";q=x"),
    *("=;,", '"', 'W/"', "*/*;q=", "Basic", "Basic !", "Basic YQ==", "Bearer", "reservation 1.", "9" * 5000, "-1"),
    *("\xff", "%", ""),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", HEADERS)
def test_no_header_is_a_server_error(service: Service, settings: ApiSettings, name: str) -> None:
    """Falcon raises a ValueError where it is asked for the host, and the port is no number."""
    web = LocalClient(make_app(service, replace(settings, metrics=True)))
    way = {"act_as": {"user": "a", "project": "p", "roles": ["member"]}}
    pages = ("/console/session", "/console/", "/console/v1/leases", "/metrics", "/", "/v1/leases", "/v1/timeline")
    asked = (("POST", "/console/session", way), ("POST", "/v1/feeds", {}), *(("GET", page, None) for page in pages))
    wrong = []
    for value in NO_HEADER:
        for method, path, body in asked:
            usual = {**SHELL, "Content-Type": "application/json", "OpenStack-API-Version": "reservation 1.3"}
            answer = web.simulate_request(method, path, json=body, headers={**usual, name: value})
            if answer.status_code >= 500:
                wrong.append((value[:40], method, path, answer.text[:80]))
    assert wrong == []


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_has_to_say_that_it_is_json(browser: Browser, kind: str | None) -> None:
    """Rule 3: forms and bodies without a type are what a page of another site may send without being asked."""
    content = '{"act_as": {"user": "a", "project": "p", "roles": []}}'
    for path in ("session", "session/project"):
        headers = {} if kind is None else {"Content-Type": kind}
        browser.act_as()
        answer = browser.ask("POST", path, content=content, headers=headers)
        assert code(answer) == (400, "leasehold.http.malformed")
        assert "application/json" in answer.json["error_message"]


@pytest.mark.parametrize(("method", "path"), [("PUT", "session"), ("GET", "session/project"), ("POST", "sessions/x")])
def test_other_methods_are_not_possible(browser: Browser, method: str, path: str) -> None:
    assert code(browser.ask(method, path)) == (405, "leasehold.http.method")


# ---------------------------------------------------------------- what the door lets through


def test_what_a_request_says_of_its_caller_stays_outside(browser: Browser) -> None:
    browser.act_as("alice", "demo", "member")
    forged = {
        "X-User-Id": "root",
        "X-Project-Id": "other",
        "X-Roles": "admin",
        "X-Auth-Token": "t",
        "X-Service-Token": "t",
        "Authorization": "Basic cm9vdDpyb290",
    }
    lease = browser.ask("POST", "v1/leases", LEASE, headers=forged).json["lease"]
    assert (lease["user_id"], lease["project_id"]) == ("alice", "demo")
    assert browser.ask("GET", "v1/os-hosts", headers=forged).status_code == 403
    # Without a session they are worth nothing either.
    assert browser.stranger().ask("GET", "v1/leases", headers=forged).status_code == 401


def test_the_api_itself_does_not_look_at_cookies(browser: Browser) -> None:
    browser.act_as("alice", "physics", "member")
    headers = {"Cookie": f"{COOKIE}={browser.secret}", "Sec-Fetch-Site": "same-origin", **SHELL}
    lease = browser.web.simulate_post("/v1/leases", json=LEASE, headers=headers).json["lease"]
    assert (lease["user_id"], lease["project_id"]) == ("admin", "demo")


def test_links_in_answers_lead_back_through_the_door(browser: Browser) -> None:
    browser.act_as("root", "demo", "admin")
    headers = {"OpenStack-API-Version": "reservation 1.3"}
    feed = browser.ask("POST", "v1/feeds", {"name": "f"}, headers=headers).json["feed"]
    assert re.match(r"http://localhost/console/v1/feeds/", feed["url"]), feed["url"]


def test_no_cache_keeps_what_depends_on_the_cookie(browser: Browser) -> None:
    browser.act_as()
    for path in ("session", "sessions", "v1/leases", "v1/nonsense"):
        assert browser.ask("GET", path).headers["Cache-Control"] == "no-store"


def test_the_door_asks_for_a_microversion_as_ever(browser: Browser) -> None:
    browser.act_as()
    assert browser.ask("GET", "v1/availability").status_code == 404
    answer = browser.ask("GET", "v1/regions", headers={"OpenStack-API-Version": "reservation 1.3"})
    assert (answer.status_code, answer.headers["OpenStack-API-Version"]) == (200, "reservation 1.3")
