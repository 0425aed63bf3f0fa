"""The authentication strategies `none` and `http_basic`, and settings that prevent the start."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import bcrypt
import pytest
from falcon import testing

from leasehold.api.auth.http_basic import BasicAuthentication
from leasehold.api.auth.users import UsersFile
from leasehold.cmd.web import make_app
from leasehold.conf import ConfigurationError
from leasehold.conf.settings import ApiSettings
from leasehold.model.errors import UnauthorizedError
from tests.users import basic, hashed, users_file
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from tests.api.conftest import Client

BODY = {"name": "n", "start_date": "now", "end_date": "2031-05-02 10:00"}
HASH = "$2b$04$" + "x" * 53
ALICE = basic("alice", "wonder:land")
ROOT = basic("root", "pässword")


def identify(users: BasicAuthentication, authorization: str | None) -> Caller:
    headers = {} if authorization is None else {"Authorization": authorization}
    return users.identify(testing.create_req(headers=headers))


@pytest.fixture
def settings(settings: ApiSettings) -> ApiSettings:
    return replace(settings, allowed_hosts=("Lab.example",))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = users_file(tmp_path, {"alice": "wonder:land:demo:member, Reader", "root": "pässword:ops:admin"})
    text = path.read_text(encoding="utf-8")
    alice, root = text.splitlines()
    path.write_text(f"# who may log in\n\n{alice}\n{root.replace('$2b$', '$2y$')}\n", encoding="utf-8")
    return path


@pytest.fixture
def users(file: Path) -> BasicAuthentication:
    return BasicAuthentication(UsersFile(file))


# ---------------------------------------------------------------- none


def test_none_believes_the_headers(client: Client) -> None:
    lease = client.but(user="u1", project="p1").ask("POST", "/v1/leases", BODY).json["lease"]
    assert (lease["user_id"], lease["project_id"]) == ("u1", "p1")


def test_none_is_an_administrator_of_demo_by_default(client: Client) -> None:
    lease = client.web.simulate_post("/v1/leases", json=BODY).json["lease"]
    assert (lease["user_id"], lease["project_id"]) == ("admin", "demo")
    assert client.web.simulate_get("/v1/os-hosts").status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        *({"remote_addr": peer} for peer in ("127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1")),
        # No web page can reach a socket file, and a proxy in front of it sends its own public host name.
        *({"extras": {"REMOTE_ADDR": ""}, "host": host} for host in ("localhost", "any.example")),
        *({"host": host} for host in ("localhost", "localhost:1234", "LOCALHOST", "127.0.0.1:1234", "127.9.9.9")),
        *({"host": host} for host in ("[::1]:1234", "[::1]", "LAB.example:80")),
        {"headers": {"Origin": "http://localhost"}},
        *({"headers": {"Sec-Fetch-Site": site}} for site in ("same-origin", "none")),
    ],
    ids=str,
)
def test_none_answers_this_machine_and_names_that_the_operator_allows(client: Client, sent: dict[str, Any]) -> None:
    assert client.ask("GET", "/v1/leases", **sent).status_code == 200


FOREIGN_HOSTS = ("evil.example", "evil.example:1234", "localhost.evil.example", "x.lab.example", "192.0.2.1")
FOREIGN_ORIGINS = ("https://evil.example", "null", "http://localhost:3000", "http://127.0.0.1")


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        *(({"headers": {"X-Project-Id": bad}}, None) for bad in ("x" * 256, "\xe4", "a\x01b")),
        # Servers such as gunicorn may bind any address, so the peer address decides; headers do not change it.
        *(
            ({"remote_addr": peer, "headers": {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}}, None)
            for peer in ("192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "10.0.0.1", "nonsense")
        ),
        *(({"host": host}, "Host") for host in (*FOREIGN_HOSTS, "[2001:db8::1]", "localhost, evil", "[", ":")),
        *(({"headers": {"Origin": origin}}, "Origin") for origin in FOREIGN_ORIGINS),
        *(({"headers": {"Sec-Fetch-Site": site}}, "Sec-Fetch-Site") for site in ("cross-site", "same-site")),
    ],
    ids=str,
)
def test_none_answers_no_other_machine_and_no_page(client: Client, sent: dict[str, Any], field: str | None) -> None:
    """A page of another site reaches this machine, also under a name of its own that it made point here."""
    for method, path, body in (("GET", "/v1/leases", None), ("POST", "/v1/leases", BODY), ("GET", "/nonsense", None)):
        answer = client.ask(method, path, body, **{**sent, "headers": dict(sent.get("headers", {}))})
        assert answer.status_code == (401 if field is None else 403)
        if field is not None:
            assert (answer.json["code"], answer.json["field"]) == ("leasehold.auth.foreign_page", field)
        advice = {"Host": "[api] allowed_hosts"}.get(str(field), "auth_strategy")
        assert advice in answer.json["error_message"] or "X-Project-Id is not an id" in answer.json["error_message"]
    assert client.ask("GET", "/v1/leases").json == {"leases": []}


def test_none_wants_to_be_told_that_a_body_is_json(client: Client) -> None:
    """A page of another site may send a body without a type, and the browser sends no preflight request for it."""
    answer = client.web.simulate_post("/v1/leases", body=json.dumps(BODY))
    assert answer.status_code == 400
    assert "Send Content-Type: application/json" in answer.json["error_message"]
    assert client.ask("GET", "/v1/leases").json == {"leases": []}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_none_listens_on_loopback(service: Service, host: str) -> None:
    make_app(service, ApiSettings(auth_strategy="none", host=host))


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "192.0.2.1", "api.example", "", "::ffff:192.0.2.1", "10.0.0.1", "localhost.example"],  # noqa: S104 - they must be refused
)
def test_none_refuses_any_other_address(service: Service, host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Set \[DEFAULT\] host to 127.0.0.1"):
        make_app(service, ApiSettings(auth_strategy="none", host=host))


@pytest.mark.parametrize("found", [["192.0.2.1"], ["127.0.0.1", "2001:db8::1"], None], ids=["away", "both", "nowhere"])
def test_none_believes_the_name_localhost_only_where_it_is_this_machine(
    service: Service, monkeypatch: pytest.MonkeyPatch, found: list[str] | None
) -> None:
    def resolve(*_: object) -> list[tuple[Any, ...]]:
        if found is None:
            raise socket.gaierror
        return [(None, None, None, "", (address, 0)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(ConfigurationError, match="will not listen on localhost"):
        make_app(service, ApiSettings(auth_strategy="none", host="localhost"))


# ---------------------------------------------------------------- http_basic


def test_http_basic_over_the_whole_api(service: Service, settings: ApiSettings, file: Path) -> None:
    web = LocalClient(make_app(service, replace(settings, auth_strategy="http_basic", users_file=str(file))))
    refused = web.simulate_get("/v1/leases")
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"].startswith("Basic ")
    assert (refused.json["error"]["code"], refused.json["error"]["title"]) == (401, "Unauthorized")
    assert "x-openstack-request-id" in refused.headers
    # Unauthenticated clients learn neither the versions nor which paths exist.
    assert [web.simulate_get(path).status_code for path in ("/", "/versions", "/nonsense")] == [401, 401, 401]
    assert [web.simulate_get(path).status_code for path in ("/healthcheck", "/v1/openapi.json")] == [200, 200]
    # A body without a content type is JSON (contract http-api §2).
    granted = web.simulate_post("/v1/leases", body=json.dumps(BODY), headers={"Authorization": ALICE})
    assert (granted.status_code, granted.json["lease"]["project_id"]) == (201, "demo")
    # But not from a browser, which sends one without a type for a page of another site, and asks nobody before.
    headers = {"Authorization": ALICE, "Sec-Fetch-Mode": "no-cors"}
    refused = web.simulate_post("/v1/leases", body=json.dumps(BODY), headers=headers)
    assert (refused.status_code, refused.json["code"]) == (400, "leasehold.http.malformed")
    assert "Send Content-Type: application/json" in refused.json["error_message"]
    assert len(web.simulate_get("/v1/leases", headers={"Authorization": ALICE}).json["leases"]) == 1


def test_http_basic_tells_who_a_user_is(users: BasicAuthentication) -> None:
    caller = identify(users, ALICE)
    assert (caller.user_id, caller.project_id, caller.roles) == ("alice", "demo", frozenset({"member", "reader"}))
    assert identify(users, ROOT).roles == {"admin", "manager", "member", "reader"}


@pytest.mark.parametrize(
    ("roles", "all_of_them"),
    [
        ("", set()),
        ("reader", {"reader"}),
        ("Member", {"member", "reader"}),
        ("manager", {"manager", "member", "reader"}),
        ("admin", {"admin", "manager", "member", "reader"}),
        ("operator,member", {"operator", "member", "reader"}),
    ],
)
def test_a_role_brings_those_that_keystone_has_it_imply(
    client: Client, tmp_path: Path, roles: str, all_of_them: set[str]
) -> None:
    users = BasicAuthentication(UsersFile(users_file(tmp_path, {"alice": f"wonder:land:demo:{roles}"})))
    assert identify(users, ALICE).roles == all_of_them
    reads = client.but(roles=roles).ask("GET", "/v1/leases").status_code
    assert reads == (200 if "reader" in all_of_them else 403)


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer abc",
        "Basic",
        "Basic !!!",
        "Basic " + base64.b64encode(b"\xff:x").decode(),
        "Basic " + base64.b64encode(b"alice").decode(),
        basic("alice", ""),
        basic("alice", "wrong"),
        basic("Alice", "wonder:land"),
        basic("nobody", "wonder:land"),
        basic("# who may log in", ""),
        basic("alice", "wonder:land" * 20),
        basic("nobody", "x" * 100),
        basic("alice", "a\x00b"),
    ],
)
def test_http_basic_refuses_everybody_else(users: BasicAuthentication, authorization: str | None) -> None:
    with pytest.raises(UnauthorizedError) as caught:
        identify(users, authorization)
    assert "wonder" not in caught.value.message


def test_http_basic_follows_its_file_until_it_breaks(users: BasicAuthentication, file: Path) -> None:
    assert "admin" in identify(users, ROOT).roles
    assert identify(users, ALICE).project_id == "demo"
    # A changed role counts, although the password is remembered.
    file.write_text(file.read_text(encoding="utf-8").replace(":ops:admin", ":ops:reader"), encoding="utf-8")
    assert identify(users, ROOT).roles == {"reader"}
    file.write_text(f"alice:{hashed('new')}:other:reader\n", encoding="utf-8")
    with pytest.raises(UnauthorizedError):
        identify(users, ALICE)
    for break_ in (lambda: None, lambda: file.write_text("nonsense\n", encoding="utf-8"), file.unlink):
        break_()
        assert identify(users, basic("alice", "new")).project_id == "other"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("alice", "user:bcrypt-hash:project:role,role"),
        (f"alice:{HASH}", "user:bcrypt-hash:project:role,role"),
        (f"alice:{HASH}::member", "user:bcrypt-hash:project:role,role"),
        ("alice:plaintext-secret:demo:member", "not a bcrypt hash"),
    ],
)
def test_http_basic_names_a_bad_line_without_its_secrets(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "users"
    path.write_text(f"# first\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=f"line 2: .*{reason}") as caught:
        UsersFile(path)
    assert "plaintext" not in str(caught.value)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that collects the cost of each hash computed from now on."""
    seen: list[int] = []
    check = bcrypt.checkpw

    def note(password: bytes, expected: bytes) -> bool:
        seen.append(int(expected[4:6]))
        return check(password, expected)

    monkeypatch.setattr(bcrypt, "checkpw", note)
    return seen


@pytest.mark.parametrize("cost", [4, 5])
def test_http_basic_takes_as_long_for_unknown_names_as_for_wrong_passwords(
    tmp_path: Path, checked: list[int], cost: int
) -> None:
    """Each refusal computes one hash of equal cost, also after a file change; none for a password over 72 bytes."""
    users = BasicAuthentication(UsersFile(users_file(tmp_path, {"alice": "right:demo:member"}, cost)))

    def guess(password: str, *names: str) -> None:
        checked.clear()
        for name in names:
            with pytest.raises(UnauthorizedError):
                identify(users, basic(name, password))

    guess("wrong", "alice", "nobody", "", "alice\x00")
    assert checked == [cost] * 4
    users_file(tmp_path, {"bob": "right:demo:member"}, cost + 1)
    guess("right?", "alice", "bob", "nobody")
    assert checked == [cost + 1] * 3
    guess("x" * 73, "bob", "nobody")
    assert checked == []


def test_http_basic_remembers_success_and_never_failure(users: BasicAuthentication, checked: list[int]) -> None:
    for _ in range(3):
        assert identify(users, ALICE).user_id == "alice"
        with pytest.raises(UnauthorizedError):
            identify(users, basic("alice", "wonder:lane"))
    assert len(checked) == 1 + 3


@pytest.mark.parametrize(
    ("mode", "costs", "warning"),
    [
        (0o600, (10, 10), None),
        (0o640, (10, 10), None),
        (0o644, (10, 10), "can be read or changed by others"),
        (0o660, (10, 10), "can be read or changed by others"),
        (0o640, (9, 9), "u0, u1 have a bcrypt cost below 10"),
        (0o640, (10, 12), "costs in .* differ"),
    ],
)
def test_http_basic_warns_of_a_file_that_gives_too_much_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, costs: tuple[int, ...], warning: str | None
) -> None:
    path = tmp_path / "users"
    lines = [f"u{number}:$2b${cost:02}${'x' * 53}:demo:member\n" for number, cost in enumerate(costs)]
    path.write_text("".join(lines), encoding="utf-8")
    path.chmod(mode)
    with caplog.at_level("WARNING"):
        UsersFile(path)
    assert "xxx" not in caplog.text
    assert len(caplog.messages) == (warning is not None)
    assert re.search(warning or "", caplog.text)


# ---------------------------------------------------------------- settings that prevent the start


@pytest.mark.parametrize(
    ("strategy", "sentence"),
    [
        ("http_basic", r"Set \[api\] users_file"),
        ("noauth2", "one of: keystone, http_basic, none"),
        ("", "one of: keystone, http_basic, none"),
    ],
)
def test_what_cannot_work_ends_the_start_with_a_sentence(
    service: Service, tmp_path: Path, strategy: str, sentence: str
) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        make_app(service, ApiSettings(auth_strategy=strategy, users_file=os.fspath(tmp_path / "absent")))
