"""Sign-in at the console with Keystone: every way, the projects, the switch, the end, what Keystone is asked for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from leasehold.conf.settings import RateSettings
from leasehold.features.console.options import ConsoleSettings
from tests.api.conftest import NOW
from tests.api.keystone.people import Credential, People, Person
from tests.api.keystone.server import serving_keystone
from tests.features.console.browser import Browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falcon import testing

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Clock
    from tests.api.keystone.conftest import Served
    from tests.api.keystone.people import Reply

pytestmark = pytest.mark.slow

PASSWORD = "wonder-land-9"
ALICE = {"password": {"user": "alice", "password": PASSWORD}}
ROLES = {"demo": ("member", "reader"), "alt": ("reader",)}
LEASE = {"name": "l", "start_date": "2031-05-01 10:00", "end_date": "2031-05-01 11:00"}
RULES = [{"id": "1", "service": "reservation", "method": "GET", "path": "/v1/leases"}]


@pytest.fixture
def keystone() -> Iterator[People]:
    with serving_keystone(People("")) as keystone:
        keystone.now = NOW
        keystone.add("alice", PASSWORD, ROLES)
        yield keystone


@pytest.fixture
def settings(settings: ApiSettings) -> ApiSettings:
    return replace(settings, rates=RateSettings(failures=4))


@pytest.fixture
def browser(serve: Served) -> Browser:
    return Browser(serve())


def signed_in(browser: Browser, way: Any = ALICE) -> dict[str, Any]:
    answer = browser.ask("POST", "session", way)
    assert answer.status_code == 201, answer.text
    session: dict[str, Any] = answer.json["session"]
    return session


def refused(answer: testing.Result) -> tuple[int, str]:
    assert "WWW-Authenticate" not in answer.headers
    return answer.status_code, answer.json["code"]


# ---------------------------------------------------------------- password


def test_a_password_opens_the_projects_and_the_api(browser: Browser, keystone: People) -> None:
    assert browser.ask("GET", "session").json["sign_in"] == {
        "strategy": "keystone",
        "methods": ["password", "application_credential", "token"],
        "domain": "Default",
        "websso": [],
        "act_as": None,
    }
    session = signed_in(browser)
    assert session["user"] == {"id": "user-of-alice", "name": "alice", "domain": "Default"}
    # By name, and without the one that is switched off.
    assert [each["id"] for each in session["projects"]] == ["alt", "demo"]
    assert (session["project"]["id"], session["can_switch"]) == ("alt", True)
    assert session["roles"] == ["reader"]
    assert session["expires_at"] == (NOW + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert browser.ask("GET", "v1/leases").json == {"leases": []}
    assert refused(browser.ask("POST", "v1/leases", LEASE)) == (403, "leasehold.auth.forbidden")
    # Without the word, Keystone issues a token for the default project, which it may then not exchange.
    assert [auth.get("scope") for auth in keystone.sent] == ["unscoped", {"project": {"id": "alt"}}]


def test_the_project_may_be_named_at_the_sign_in(browser: Browser) -> None:
    session = signed_in(browser, {"password": {**ALICE["password"], "project": "demo"}})
    assert (session["project"]["id"], session["roles"]) == ("demo", ["member", "reader"])
    lease = browser.ask("POST", "v1/leases", LEASE).json["lease"]
    assert (lease["user_id"], lease["project_id"]) == ("user-of-alice", "demo")


def test_what_keystone_does_not_know_is_one_sentence(browser: Browser, keystone: People) -> None:
    wrong = [
        {**ALICE["password"], "password": "wrong"},
        {**ALICE["password"], "user": "nobody"},
        {**ALICE["password"], "domain": "Other"},
    ]
    sentences = set()
    for way in wrong:
        answer = browser.ask("POST", "session", {"password": way})
        assert refused(answer) == (401, "leasehold.auth.unauthorized")
        sentences.add(answer.json["error_message"])
    assert len(sentences) == 1
    assert browser.jar == {}
    assert keystone.revoked == []


def test_failed_sign_ins_are_limited(browser: Browser) -> None:
    """Rule 10: by address, in the same limit as failed logins of the API."""
    wrong = {"password": {"user": "alice", "password": "wrong"}}
    assert [browser.ask("POST", "session", wrong).status_code for _ in range(5)] == [401] * 4 + [429]
    assert browser.ask("POST", "session", ALICE).status_code == 429
    assert browser.web.simulate_get("/v1/leases", headers={"X-Auth-Token": "x"}).status_code == 429


@pytest.mark.slow
def test_an_expired_password_has_a_sentence_of_its_own_and_is_replaced(browser: Browser, keystone: People) -> None:
    keystone.people["alice"] = replace(keystone.people["alice"], expired=True)
    answer = browser.ask("POST", "session", ALICE)
    assert refused(answer) == (401, "leasehold.session.password_expired")
    assert "expired" in answer.json["error_message"]
    short = {"password": {**ALICE["password"], "new_password": "short"}}
    answer = browser.ask("POST", "session", short)
    assert refused(answer) == (400, "leasehold.input.invalid")
    assert "at least 7 characters" in answer.json["error_message"]
    assert answer.json["field"] == "new_password"
    assert signed_in(browser, {"password": {**ALICE["password"], "new_password": "wonder-land-10"}})
    assert keystone.people["alice"].password == "wonder-land-10"
    # A password that has not expired stays.
    assert signed_in(
        browser, {"password": {**ALICE["password"], "password": "wonder-land-10", "new_password": "another-one"}}
    )
    assert keystone.people["alice"].password == "wonder-land-10"


@pytest.mark.parametrize("roles", [{}, {"demo": ("reader",)}], ids=["none", "one without a token"])
def test_somebody_without_a_project_is_told_so(browser: Browser, keystone: People, roles: Any) -> None:
    keystone.add("bob", PASSWORD, roles)
    keystone.refuses = frozenset({"demo"})
    answer = browser.ask("POST", "session", {"password": {"user": "bob", "password": PASSWORD}})
    assert refused(answer) == (403, "leasehold.session.no_project")
    assert browser.jar == {}


def test_a_project_that_keystone_refuses_is_passed_over(browser: Browser, keystone: People) -> None:
    keystone.refuses = frozenset({"alt"})
    assert signed_in(browser)["project"]["id"] == "demo"
    answer = browser.ask("POST", "session", {"password": {**ALICE["password"], "project": "alt"}})
    assert refused(answer) == (403, "leasehold.session.no_project")


@pytest.mark.parametrize("status", [500, 503])
def test_a_keystone_that_fails_is_no_failed_login(browser: Browser, keystone: People, status: int) -> None:
    keystone.failing = status
    for _ in range(6):
        answer = browser.ask("POST", "session", ALICE)
        assert refused(answer) == (503, "leasehold.auth.unavailable")
    keystone.failing = None
    assert signed_in(browser)


# ---------------------------------------------------------------- second factor


def test_a_second_factor_is_asked_for_and_ends_the_sign_in(browser: Browser, keystone: People) -> None:
    keystone.people["alice"] = replace(keystone.people["alice"], passcode="123456")
    answer = browser.ask("POST", "session", ALICE)
    assert (answer.status_code, answer.json["session"]) == (200, None)
    factor = answer.json["second_factor"]
    assert (factor["user_id"], factor["methods"]) == ("user-of-alice", ["totp"])
    assert browser.jar == {}
    totp = {"receipt": factor["receipt"], "user_id": factor["user_id"], "passcode": "000000", "project": "demo"}
    assert refused(browser.ask("POST", "session", {"totp": totp})) == (401, "leasehold.auth.unauthorized")
    assert refused(browser.ask("POST", "session", {"totp": {**totp, "receipt": "a b"}})) == (
        401,
        "leasehold.auth.unauthorized",
    )
    assert signed_in(browser, {"totp": {**totp, "passcode": "123456"}})["project"]["id"] == "demo"
    assert keystone.sent[-2]["scope"] == "unscoped"


# ---------------------------------------------------------------- token


def test_a_pasted_token_is_left_alone_and_exchanged(browser: Browser, keystone: People) -> None:
    pasted = keystone._issued(keystone.people["alice"], "demo")
    session = signed_in(browser, {"token": {"token": f" {pasted}\n"}})
    assert (session["project"]["id"], session["can_switch"]) == ("demo", True)
    assert browser.ask("POST", "session/project", {"project": "alt"}).json["session"]["project"]["id"] == "alt"
    assert browser.ask("DELETE", "session").status_code == 204
    # What the person had before goes on; what was issued for the session does not.
    assert pasted in keystone.tokens
    assert set(keystone.tokens) & set(keystone.revoked) == set()
    assert len(keystone.revoked) == 3


def test_a_pasted_token_that_is_not_exchanged_has_one_project(browser: Browser, keystone: People) -> None:
    keystone.rescopes_scoped = False
    pasted = keystone._issued(keystone.people["alice"], "demo")
    session = signed_in(browser, {"token": {"token": pasted}})
    assert (session["project"]["id"], session["can_switch"], session["projects"]) == ("demo", False, [])
    assert browser.ask("GET", "v1/leases").status_code == 200
    answer = browser.ask("POST", "session/project", {"project": "alt"})
    assert refused(answer) == (403, "leasehold.session.fixed")


@pytest.mark.parametrize("token", ["nonsense", "a b", "x\r\ny", "\u00e4", " "])
def test_a_pasted_text_that_is_no_token_is_refused(browser: Browser, token: str) -> None:
    answer = browser.ask("POST", "session", {"token": {"token": token}})
    assert refused(answer) == (401, "leasehold.auth.unauthorized")


def test_an_unscoped_token_is_as_good_as_a_password(browser: Browser, keystone: People) -> None:
    token = keystone.federated("alice")
    assert signed_in(browser, {"token": {"token": token, "project": "demo"}})["project"]["id"] == "demo"


# ---------------------------------------------------------------- application credential


@pytest.mark.parametrize("way", [{"id": "key"}, {"name": "mine", "user": "alice"}], ids=["id", "name"])
def test_an_application_credential_has_one_project(browser: Browser, keystone: People, way: dict[str, str]) -> None:
    for key in ("key", "alice/mine"):
        keystone.credentials[key] = Credential("hush", keystone.people["alice"], "demo")
    wrong = {"application_credential": {**way, "secret": "wrong"}}
    assert refused(browser.ask("POST", "session", wrong)) == (401, "leasehold.auth.unauthorized")
    session = signed_in(browser, {"application_credential": {**way, "secret": "hush"}})
    assert (session["project"]["id"], session["can_switch"], session["access_rules"]) == ("demo", False, None)
    assert browser.ask("POST", "v1/leases", LEASE).status_code == 201
    assert browser.ask("DELETE", "session").status_code == 204
    assert len(keystone.revoked) == 1


def test_the_rules_of_an_application_credential_are_about_the_paths_of_the_api(
    browser: Browser, keystone: People
) -> None:
    """The middleware compares them with the path that clients of `/v1` use, and not with the console's."""
    keystone.credentials["key"] = Credential("hush", keystone.people["alice"], "demo", RULES)
    session = signed_in(browser, {"application_credential": {"id": "key", "secret": "hush"}})
    assert session["access_rules"] == [{"method": "GET", "path": "/v1/leases"}]
    assert browser.ask("GET", "v1/leases").status_code == 200
    for method, path in (("POST", "v1/leases"), ("GET", "v1/floatingips")):
        answer = browser.ask(method, path, LEASE if method == "POST" else None)
        assert refused(answer) == (403, "leasehold.auth.forbidden")
        assert "application credential" in answer.json["error_message"]
    # What it does not allow is no reason to be signed out.
    assert browser.who() is not None


@pytest.mark.parametrize("way", [{}, {"name": "mine"}, {"id": "key", "name": "mine", "user": "alice"}])
def test_an_application_credential_is_named_in_one_way(browser: Browser, way: dict[str, str]) -> None:
    answer = browser.ask("POST", "session", {"application_credential": {**way, "secret": "hush"}})
    assert refused(answer) == (400, "leasehold.input.invalid")


# ---------------------------------------------------------------- switch and end


def test_a_switch_revokes_the_token_before_and_gives_another_secret(browser: Browser, keystone: People) -> None:
    first = signed_in(browser)
    copy = browser.but(jar=dict(browser.jar))
    before = [token for token in keystone.tokens if token.startswith("scoped")]
    answer = browser.ask("POST", "session/project", {"project": "demo"})
    assert (answer.status_code, answer.json["session"]["project"]["id"]) == (200, "demo")
    assert keystone.revoked == before
    assert copy.ask("GET", "v1/leases").status_code == 401
    assert browser.ask("POST", "v1/leases", LEASE).json["lease"]["project_id"] == "demo"
    # Keystone keeps the end of the first token, and so does the session.
    assert answer.json["session"]["expires_at"] == first["expires_at"]


def test_a_switch_to_a_project_of_others_changes_nothing(browser: Browser, keystone: People) -> None:
    signed_in(browser)
    answer = browser.ask("POST", "session/project", {"project": "theirs"})
    assert refused(answer) == (403, "leasehold.session.no_project")
    assert keystone.revoked == []
    assert browser.ask("GET", "v1/leases").status_code == 200


def test_signing_out_revokes_both_tokens(browser: Browser, keystone: People) -> None:
    signed_in(browser)
    issued = {token for token in keystone.tokens if "scoped" in token}
    assert len(issued) == 2
    copy = browser.but(jar=dict(browser.jar))
    assert browser.ask("DELETE", "session").status_code == 204
    assert set(keystone.revoked) == issued
    assert refused(copy.ask("GET", "v1/leases")) == (401, "leasehold.session.none")


def test_signing_in_again_ends_the_session_before(browser: Browser, keystone: People) -> None:
    """As a page does five minutes before the end: nothing that was typed is lost, and nothing is left over."""
    signed_in(browser)
    issued = {token for token in keystone.tokens if "scoped" in token}
    signed_in(browser)
    assert set(keystone.revoked) == issued
    assert len(browser.ask("GET", "sessions").json["sessions"]) == 1


def test_signing_out_succeeds_without_keystone(
    browser: Browser, keystone: People, caplog: pytest.LogCaptureFixture
) -> None:
    signed_in(browser)
    copy = browser.but(jar=dict(browser.jar))
    keystone.failing = 503
    assert browser.ask("DELETE", "session").status_code == 204
    assert "could not be revoked" in caplog.text
    assert copy.who() is None


def test_a_session_ends_with_its_token(browser: Browser, clock: Clock) -> None:
    """Rule 7, for a person who is there all the time."""
    signed_in(browser)
    for _ in range(3):
        clock.now += timedelta(minutes=15)
        assert browser.ask("GET", "v1/leases", person=True).status_code == 200
    clock.now = NOW + timedelta(hours=1)
    answer = browser.ask("GET", "v1/leases", person=True)
    assert (answer.status_code, answer.json["details"]) == (401, {"ended": "expired"})


def test_a_token_that_keystone_revokes_ends_the_session(browser: Browser, keystone: People) -> None:
    signed_in(browser)
    keystone.tokens = {name: token for name, token in keystone.tokens.items() if not name.startswith("scoped")}
    for _ in range(6):
        assert refused(browser.ask("GET", "v1/leases")) == (401, "leasehold.session.none")
    assert browser.who() is None
    # That was no failed login.
    assert signed_in(browser)


def test_the_page_is_told_that_the_tokens_are_revoked(browser: Browser, keystone: People) -> None:
    signed_in(browser)
    for name in [name for name in keystone.tokens if "scoped" in name]:
        del keystone.tokens[name]
    answer = browser.ask("GET", "session")
    assert (answer.status_code, answer.json["session"], answer.json["ended"]) == (200, None, "expired")
    assert browser.jar == {}


def test_a_sign_out_during_a_switch_wins(browser: Browser, keystone: People, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the session would come back under a secret that nobody has ended."""
    signed_in(browser)
    other_tab = browser.but(jar=dict(browser.jar))
    scoped = People._token

    def slow(keystone: People, person: Person, scope: Any, **more: Any) -> Reply:
        assert other_tab.ask("DELETE", "session").status_code == 204
        return scoped(keystone, person, scope, **more)

    monkeypatch.setattr(People, "_token", slow)
    monkeypatch.setattr(People, "_rescoped", lambda self, _before, scope: self._token(self.people["alice"], scope))
    answer = browser.ask("POST", "session/project", {"project": "demo"})
    assert refused(answer) == (401, "leasehold.session.none")
    assert "Set-Cookie" not in answer.headers
    assert browser.who() is None
    assert not [token for token in keystone.tokens if "scoped" in token]


def test_while_keystone_does_not_answer_the_session_stays(browser: Browser, keystone: People) -> None:
    signed_in(browser)
    keystone.failing = 503
    assert refused(browser.ask("GET", "v1/leases")) == (503, "leasehold.auth.unavailable")
    session = browser.who()
    assert session is not None
    assert [each["id"] for each in session["projects"]] == ["alt"]
    assert refused(browser.ask("POST", "session/project", {"project": "demo"})) == (503, "leasehold.auth.unavailable")
    keystone.failing = None
    assert browser.ask("GET", "v1/leases").status_code == 200


# ---------------------------------------------------------------- what is kept, and what is said


def test_the_row_and_the_log_say_nothing_about_tokens(
    browser: Browser, keystone: People, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        session = browser.ask("POST", "session", ALICE)
        browser.ask("GET", "v1/leases")
        browser.ask("POST", "session/project", {"project": "demo"})
    tokens = [*keystone.tokens, *keystone.revoked]
    assert len([token for token in tokens if "scoped" in token]) == 3
    with service.db.reading() as connection:
        rows = connection.execute(text("SELECT * FROM sessions")).all()
    kept = repr(rows)
    assert len(rows) == 1
    assert "user-of-alice" in kept
    for secret in (*tokens, PASSWORD, browser.secret):
        assert secret not in kept
        assert secret not in caplog.text
        assert secret not in session.text


# ---------------------------------------------------------------- an identity provider

PUBLIC = "https://leases.example/console"
TAKEN = {"Content-Type": "application/x-www-form-urlencoded"}


class Sso:
    """A browser on its way to an identity provider and back."""

    def __init__(self, browser: Browser, keystone: People) -> None:
        self.browser = browser
        self.origin = keystone.url.removesuffix("/v3")

    def start(self, provider: str = "openid") -> testing.Result:
        navigating = self.browser.but(site="same-origin", shell=False)
        return navigating.ask("GET", "sso/start", query_string=f"provider={provider}")

    def back(self, token: str, *, origin: str | None = None, cookies: bool = True, **more: Any) -> testing.Result:
        """Send the form of Keystone's page. The session's cookie does not come along: it is for the same site alone."""
        jar = {name: value for name, value in self.browser.jar.items() if name.endswith("-sso")} if cookies else {}
        page = self.browser.but(site="cross-site", shell=False, jar=jar)
        headers = {**TAKEN, "Origin": origin or self.origin}
        answer = page.ask("POST", "sso", content=f"token={token}", headers={**headers, **more.pop("headers", {})})
        # What the answer sets and takes back holds for the whole browser.
        for name in set(self.browser.jar) - set(page.jar):
            if name.endswith("-sso"):
                del self.browser.jar[name]
        self.browser.jar.update(page.jar)
        return answer


@pytest.fixture
def sso(service: Service, settings: ApiSettings, configured: Any, keystone: People) -> Sso:
    from leasehold.cmd.web import make_app  # noqa: PLC0415
    from leasehold.features.console.options import WebSsoChoice  # noqa: PLC0415
    from tests.web import LocalClient  # noqa: PLC0415

    ways = (WebSsoChoice("openid", None, "University"), WebSsoChoice("saml2", "acme", "ACME"))
    console = ConsoleSettings(public_url=PUBLIC, websso=ways)
    mine = replace(service, settings=service.settings.having(console))
    app = make_app(mine, replace(settings, auth_strategy="keystone"), configured())
    return Sso(Browser(LocalClient(app)), keystone)


def test_an_identity_provider_signs_somebody_in(sso: Sso, keystone: People) -> None:
    offered = sso.browser.ask("GET", "session").json["sign_in"]["websso"]
    assert offered == [
        {"id": "openid", "name": "University", "href": "sso/start?provider=openid"},
        {"id": "acme/saml2", "name": "ACME", "href": "sso/start?provider=acme%2Fsaml2"},
    ]
    away = sso.start()
    assert away.status_code == 303
    origin = "origin=https%3A%2F%2Fleases.example%2Fconsole%2Fsso"
    assert away.headers["Location"] == f"{keystone.url}/auth/OS-FEDERATION/websso/openid?{origin}"
    assert "SameSite=None; Max-Age=600" in away.headers["Set-Cookie"]
    assert "; Secure; HttpOnly;" in away.headers["Set-Cookie"]
    back = sso.back(keystone.federated("alice"))
    assert (back.status_code, back.headers["Location"]) == (303, "./")
    session = sso.browser.who()
    assert session is not None
    assert (session["user"]["name"], session["can_switch"]) == ("alice", True)
    assert sso.browser.ask("DELETE", "session").status_code == 204
    assert len(keystone.revoked) == 2
    other = sso.start("acme%2Fsaml2").headers["Location"]
    assert "/OS-FEDERATION/identity_providers/acme/protocols/saml2/websso?" in other


def test_a_page_that_hides_where_it_was_is_believed(sso: Sso, keystone: People) -> None:
    sso.start()
    assert sso.back(keystone.federated("alice"), origin="null").headers["Location"] == "./"


def test_what_did_not_begin_here_signs_nobody_in(sso: Sso, keystone: People) -> None:
    """Otherwise anybody can sign somebody else in as themselves, and see what they enter."""
    token = keystone.federated("alice")
    without = sso.back(token, cookies=False)
    assert without.headers["Location"] == "./?refused=leasehold.session.websso"
    sso.start()
    elsewhere = sso.back(token, origin="https://evil.example")
    assert elsewhere.headers["Location"] == "./?refused=leasehold.session.websso"
    assert sso.browser.who() is None
    # The cookie of the beginning counts once.
    sso.start()
    assert sso.back(token).headers["Location"] == "./"
    assert list(sso.browser.jar) == ["__Host-leasehold"]
    assert sso.back(token).headers["Location"] == "./?refused=leasehold.session.websso"
    twice = "__Host-leasehold-sso=" + "x" * 43
    answer = sso.back(token, headers={"Cookie": f"{twice}; {twice}"})
    assert answer.headers["Location"] == "./?refused=leasehold.session.websso"


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        ("token=nonsense", "leasehold.auth.unauthorized"),
        ("token=a%0d%0ab", "leasehold.auth.unauthorized"),
        ("", "leasehold.http.malformed"),
        ("token=a&token=b", "leasehold.http.malformed"),
        ("token=" + "x" * 70_000, "leasehold.http.malformed"),
    ],
)
def test_a_form_without_a_token_signs_nobody_in(sso: Sso, content: str, refused: str) -> None:
    sso.start()
    page = sso.browser.but(site="cross-site", shell=False)
    answer = page.ask("POST", "sso", content=content, headers={**TAKEN, "Origin": sso.origin})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"./?refused={refused}")


@pytest.mark.parametrize(
    ("site", "referrer", "status"),
    [
        ("same-origin", None, 303),
        ("none", None, 303),
        ("same-site", "http://localhost/console/", 403),
        ("cross-site", None, 403),
        (None, "http://localhost/console/", 303),
        (None, "http://localhost.evil.example/", 403),
        (None, "https://evil.example/", 403),
        (None, None, 403),
    ],
)
def test_no_other_site_begins_a_sign_in(sso: Sso, site: str | None, referrer: str | None, status: int) -> None:
    """It would end it with a token of its own; where Keystone's proxy hides the origin, nothing else tells."""
    page = sso.browser.but(site=site, shell=False)
    headers = {} if referrer is None else {"Referer": referrer}
    answer = page.ask("GET", "sso/start", query_string="provider=openid", headers=headers)
    assert answer.status_code == status
    assert bool(answer.cookies) == (status == 303)


def test_there_is_no_way_to_a_provider_that_is_not_configured(sso: Sso, browser: Browser) -> None:
    for each in (sso.start("other"), sso.start("")):
        assert refused(each) == (403, "leasehold.session.websso")
    assert refused(browser.ask("GET", "sso/start", query_string="provider=openid")) == (403, "leasehold.session.websso")
