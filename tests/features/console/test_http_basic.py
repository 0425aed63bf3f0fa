"""Sign-in with a password of the users file: checked once, and ended by a change of the file (rule 8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.cmd.web import make_app
from leasehold.conf.settings import RateSettings
from tests.features.console.browser import Browser
from tests.users import basic, users_file
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service

ALICE = {"password": {"user": "alice", "password": "wonder:land"}}
USERS = {"alice": "wonder:land:demo:member", "root": "pass:ops:admin"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return users_file(tmp_path, USERS)


@pytest.fixture
def browser(service: Service, settings: ApiSettings, file: Path) -> Browser:
    mine = replace(settings, auth_strategy="http_basic", users_file=str(file), rates=RateSettings(failures=3))
    return Browser(LocalClient(make_app(service, mine)))


def test_a_password_begins_a_session_as_the_user_of_the_file(browser: Browser) -> None:
    offered = browser.ask("GET", "session").json["sign_in"]
    assert (offered["methods"], offered["domain"], offered["act_as"]) == (["password"], None, None)
    session = browser.ask("POST", "session", ALICE).json["session"]
    assert (session["user"]["id"], session["project"]["id"], session["roles"]) == (
        "alice",
        "demo",
        ["member", "reader"],
    )
    assert browser.ask("GET", "v1/leases").status_code == 200
    assert browser.ask("GET", "v1/os-hosts").status_code == 403
    answer = browser.ask("POST", "session/project", {"project": "ops"})
    assert (answer.status_code, answer.json["code"]) == (403, "leasehold.session.fixed")


@pytest.mark.parametrize(
    "line", [None, "other:demo:member", "wonder:land:alt:reader"], ids=["gone", "other password", "other project"]
)
def test_the_file_has_the_last_word(browser: Browser, file: Path, line: str | None) -> None:
    browser.ask("POST", "session", ALICE)
    users_file(file.parent, {"root": USERS["root"]} | ({} if line is None else {"alice": line}))
    # Another hash of the same password is another password: who changes one wants the old sessions to end.
    answer = browser.ask("GET", "v1/leases")
    assert (answer.status_code, answer.json["code"]) == (401, "leasehold.session.none")
    assert browser.who() is None


def test_no_answer_has_the_browser_ask_for_a_password(browser: Browser) -> None:
    """Otherwise it remembers the password, and sends it with requests of other sites."""
    wrong = {"password": {"user": "alice", "password": "wrong"}}
    refused = browser.ask("POST", "session", wrong)
    assert (refused.status_code, refused.json["code"]) == (401, "leasehold.auth.unauthorized")
    for answer in (refused, browser.ask("GET", "v1/leases"), browser.ask("GET", "sessions")):
        assert answer.status_code == 401
        assert "WWW-Authenticate" not in answer.headers
    # A password in the header signs nobody in at the console; the API itself goes on taking it.
    headers = {"Authorization": basic("alice", "wonder:land")}
    assert browser.ask("GET", "v1/leases", headers=headers).status_code == 401
    assert browser.web.simulate_get("/v1/leases", headers=headers).status_code == 200
    assert "WWW-Authenticate" in browser.web.simulate_get("/v1/leases").headers


def test_failed_sign_ins_count_in_the_limit_of_logins(browser: Browser) -> None:
    """Rule 10; a session that is over is no failed login."""
    for _ in range(5):
        assert browser.ask("GET", "v1/leases").status_code == 401
    assert browser.ask("POST", "session", ALICE).status_code == 201
    for user, status in (("alice", 401), ("nobody", 401), ("alice", 401), ("alice", 429)):
        wrong = {"password": {"user": user, "password": "wrong"}}
        assert browser.ask("POST", "session", wrong).status_code == status
    answer = browser.ask("POST", "session", ALICE)
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
    assert browser.web.simulate_get("/v1/leases", headers={"Authorization": basic("root", "pass")}).status_code == 429
