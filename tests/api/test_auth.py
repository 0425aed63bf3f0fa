"""The authentication strategies `none` and `http_basic`, and settings that prevent the start."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import bcrypt
import pytest
from falcon import testing

from leasehold.api.app import make_app
from leasehold.api.auth.http_basic import BasicAuthentication
from leasehold.api.auth.users import UsersFile
from leasehold.conf import ConfigurationError
from leasehold.conf.settings import ApiSettings
from leasehold.model.errors import UnauthorizedError
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from tests.api.conftest import Client

BODY = {"name": "n", "start_date": "now", "end_date": "2031-05-02 10:00"}

HASH = "$2b$04$" + "x" * 53


def hashed(password: str, cost: int = 4) -> str:
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost)).decode()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def identify(users: BasicAuthentication, authorization: str | None) -> Caller:
    headers = {} if authorization is None else {"Authorization": authorization}
    return users.identify(testing.create_req(headers=headers))


@pytest.fixture
def users_file(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    path.write_text(
        f"# who may log in\n\nalice:{hashed('wonder:land')}:demo:member, Reader\n"
        f"root:{hashed('pässword').replace('$2b$', '$2y$')}:ops:admin\n",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def users(users_file: Path) -> BasicAuthentication:
    return BasicAuthentication(UsersFile(users_file))


# ---------------------------------------------------------------- none


def test_none_believes_the_headers(client: Client) -> None:
    lease = client.but(user="u1", project="p1").ask("POST", "/v1/leases", BODY).json["lease"]
    assert (lease["user_id"], lease["project_id"]) == ("u1", "p1")


def test_none_is_an_administrator_of_demo_by_default(client: Client) -> None:
    lease = client.web.simulate_post("/v1/leases", json=BODY).json["lease"]
    assert (lease["user_id"], lease["project_id"]) == ("admin", "demo")
    assert client.web.simulate_get("/v1/os-hosts").status_code == 200


@pytest.mark.parametrize("bad", ["x" * 256, "\xe4", "a\x01b"])
def test_none_refuses_ids_that_cannot_be_kept(client: Client, bad: str) -> None:
    assert client.ask("GET", "/v1/leases", headers={"X-Project-Id": bad}).status_code == 401


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_none_listens_on_loopback(service: Service, host: str) -> None:
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


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", ""])
def test_none_answers_this_machine(client: Client, peer: str) -> None:
    assert client.ask("GET", "/v1/leases", extras={"REMOTE_ADDR": peer}).status_code == 200


@pytest.mark.parametrize("peer", ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "10.0.0.1", "nonsense"])
def test_none_answers_no_other_wherever_a_server_listens(client: Client, peer: str) -> None:
    """Servers such as gunicorn may bind any address, so the peer address decides; headers do not change it."""
    forged = {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}
    answer = client.ask("GET", "/v1/leases", extras={"REMOTE_ADDR": peer}, headers=forged)
    assert answer.status_code == 401
    assert "auth_strategy" in answer.json["error_message"]


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "192.0.2.1", "api.example", "", "::ffff:192.0.2.1", "10.0.0.1", "localhost.example"],  # noqa: S104 - they must be refused
)
def test_none_refuses_any_other_address(service: Service, host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Set \[DEFAULT\] host to 127.0.0.1"):
        make_app(service, ApiSettings(auth_strategy="none", host=host))


OWN = ["localhost", "localhost:1234", "LOCALHOST", "127.0.0.1:1234", "127.9.9.9", "[::1]:1234", "[::1]"]
FOREIGN = [
    "evil.example",
    "evil.example:1234",
    "localhost.evil.example",
    "192.0.2.1",
    "[2001:db8::1]",
    "localhost, evil",
    "[",
    ":",
]


@pytest.mark.parametrize("host", OWN)
def test_none_answers_to_names_of_the_loopback(client: Client, host: str) -> None:
    assert client.ask("GET", "/v1/leases", host=host).status_code == 200


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/leases"), ("POST", "/v1/leases"), ("GET", "/nonsense")])
def test_none_answers_to_no_name_that_a_page_made_point_here(client: Client, method: str, path: str, host: str) -> None:
    answer = client.ask(method, path, BODY if method == "POST" else None, host=host)
    assert answer.status_code == 403
    assert answer.json["code"] == "leasehold.auth.foreign_page"
    assert answer.json["field"] == "Host"
    assert "[api] allowed_hosts" in answer.json["error_message"]
    assert client.ask("GET", "/v1/leases").json == {"leases": []}


def test_none_answers_to_names_that_the_operator_allows(service: Service, settings: ApiSettings) -> None:
    web = LocalClient(make_app(service, replace(settings, allowed_hosts=("Lab.example",))))
    asked = {
        host: web.simulate_get("/v1/leases", host=host).status_code for host in ("lab.example:80", "x.lab.example")
    }
    assert asked == {"lab.example:80": 200, "x.lab.example": 403}


def test_none_answers_a_socket_file_under_any_name(client: Client) -> None:
    """No web page can reach a socket file, and a proxy in front of it sends its own public host name."""
    assert client.ask("GET", "/v1/leases", host="any.example", extras={"REMOTE_ADDR": ""}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ({"Origin": "https://evil.example"}, "Origin"),
        ({"Origin": "null"}, "Origin"),
        ({"Origin": "http://localhost:3000"}, "Origin"),
        ({"Origin": "http://127.0.0.1"}, "Origin"),
        ({"Sec-Fetch-Site": "cross-site"}, "Sec-Fetch-Site"),
        ({"Sec-Fetch-Site": "same-site"}, "Sec-Fetch-Site"),
    ],
)
def test_none_answers_no_page_of_another_site(client: Client, headers: dict[str, str], field: str) -> None:
    answer = client.ask("POST", "/v1/leases", BODY, headers=headers)
    assert answer.status_code == 403
    assert (answer.json["code"], answer.json["field"]) == ("leasehold.auth.foreign_page", field)
    assert client.ask("GET", "/v1/leases").json == {"leases": []}


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}],
)
def test_none_answers_a_page_of_its_own_and_the_user_of_a_browser(client: Client, headers: dict[str, str]) -> None:
    assert client.ask("GET", "/v1/leases", headers=headers).status_code == 200


def test_none_wants_to_be_told_that_a_body_is_json(client: Client) -> None:
    """A page of another site may send a body without a type, and the browser sends no preflight request for it."""
    answer = client.web.simulate_post("/v1/leases", body=json.dumps(BODY))
    assert answer.status_code == 400
    assert "Send Content-Type: application/json" in answer.json["error_message"]
    assert client.ask("GET", "/v1/leases").json == {"leases": []}


# ---------------------------------------------------------------- http_basic


def test_2_an_absent_content_type_is_json(service: Service, settings: ApiSettings, users_file: Path) -> None:
    web = LocalClient(make_app(service, replace(settings, auth_strategy="http_basic", users_file=str(users_file))))
    headers = {"Authorization": basic("alice", "wonder:land")}
    assert web.simulate_post("/v1/leases", body=json.dumps(BODY), headers=headers).status_code == 201


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
    file = tmp_path / "users"
    file.write_text(f"alice:{hashed('wonder:land')}:demo:{roles}\n", encoding="utf-8")
    assert identify(BasicAuthentication(UsersFile(file)), basic("alice", "wonder:land")).roles == all_of_them
    reads = client.but(roles=roles).ask("GET", "/v1/leases").status_code
    assert reads == (200 if "reader" in all_of_them else 403)


def test_the_role_member_alone_makes_lists_changes_and_deletes_leases(client: Client) -> None:
    member = client.but(roles="member")
    made = member.ask("POST", "/v1/leases", BODY)
    assert made.status_code == 201
    path = f"/v1/leases/{made.json['lease']['id']}"
    assert [each["id"] for each in member.ask("GET", "/v1/leases").json["leases"]] == [made.json["lease"]["id"]]
    assert member.ask("PUT", path, {"name": "changed"}).json["lease"]["name"] == "changed"
    assert member.ask("DELETE", path).status_code == 204


def test_http_basic_over_the_whole_api(service: Service, settings: ApiSettings, users_file: Path) -> None:
    web = LocalClient(make_app(service, replace(settings, auth_strategy="http_basic", users_file=str(users_file))))
    refused = web.simulate_get("/v1/leases")
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"].startswith("Basic ")
    assert refused.json["error"]["code"] == 401
    assert refused.json["error"]["title"] == "Unauthorized"
    assert "x-openstack-request-id" in refused.headers
    # Unauthenticated clients learn neither the versions nor which paths exist.
    assert [web.simulate_get(path).status_code for path in ("/", "/versions", "/nonsense")] == [401, 401, 401]
    assert [web.simulate_get(path).status_code for path in ("/healthcheck", "/v1/openapi.json")] == [200, 200]
    granted = web.simulate_post("/v1/leases", json=BODY, headers={"Authorization": basic("alice", "wonder:land")})
    assert granted.json["lease"]["project_id"] == "demo"


def test_http_basic_tells_who_a_user_is(users: BasicAuthentication) -> None:
    caller = identify(users, basic("alice", "wonder:land"))
    assert (caller.user_id, caller.project_id, caller.roles) == ("alice", "demo", frozenset({"member", "reader"}))
    assert identify(users, basic("root", "pässword")).roles == {"admin", "manager", "member", "reader"}


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


def test_http_basic_remembers_success_and_never_failure(users: BasicAuthentication) -> None:
    for _ in range(3):
        assert identify(users, basic("alice", "wonder:land")).user_id == "alice"
        with pytest.raises(UnauthorizedError):
            identify(users, basic("alice", "wonder:lane"))


def test_http_basic_notices_a_changed_file(users: BasicAuthentication, users_file: Path) -> None:
    assert identify(users, basic("alice", "wonder:land")).project_id == "demo"
    users_file.write_text(f"alice:{hashed('new')}:other:reader\n", encoding="utf-8")
    with pytest.raises(UnauthorizedError):
        identify(users, basic("alice", "wonder:land"))
    assert identify(users, basic("alice", "new")).project_id == "other"


def test_http_basic_forgets_a_password_when_only_the_role_changed(users: BasicAuthentication, users_file: Path) -> None:
    assert "admin" in identify(users, basic("root", "pässword")).roles
    text = users_file.read_text(encoding="utf-8")
    users_file.write_text(text.replace(":ops:admin", ":ops:reader"), encoding="utf-8")
    assert identify(users, basic("root", "pässword")).roles == {"reader"}


def test_http_basic_keeps_the_users_when_the_file_breaks(users: BasicAuthentication, users_file: Path) -> None:
    users_file.write_text("nonsense\n", encoding="utf-8")
    assert identify(users, basic("alice", "wonder:land")).user_id == "alice"
    users_file.unlink()
    assert identify(users, basic("alice", "wonder:land")).user_id == "alice"


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


def test_http_basic_needs_its_file(service: Service, tmp_path: Path) -> None:
    absent = ApiSettings(auth_strategy="http_basic", users_file=os.fspath(tmp_path / "absent"))
    with pytest.raises(ConfigurationError, match=r"Set \[api\] users_file"):
        make_app(service, absent)


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
    path = tmp_path / "users"
    path.write_text(f"alice:{hashed('right', cost)}:demo:member\n", encoding="utf-8")
    users = BasicAuthentication(UsersFile(path))
    for name in ("alice", "nobody", "", "alice\x00"):
        with pytest.raises(UnauthorizedError):
            identify(users, basic(name, "wrong"))
    assert checked == [cost] * 4
    path.write_text(f"bob:{hashed('right', cost + 1)}:demo:member\n", encoding="utf-8")
    for name in ("alice", "bob", "nobody"):
        with pytest.raises(UnauthorizedError):
            identify(users, basic(name, "right?"))
    assert checked[4:] == [cost + 1] * 3
    for name in ("bob", "nobody"):
        with pytest.raises(UnauthorizedError):
            identify(users, basic(name, "x" * 73))
    assert len(checked) == 7


def test_http_basic_hashes_a_right_password_once_a_minute(users: BasicAuthentication, checked: list[int]) -> None:
    for _ in range(5):
        identify(users, basic("alice", "wonder:land"))
    assert len(checked) == 1


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
    if warning is None:
        assert caplog.messages == []
    else:
        (told,) = caplog.messages
        assert re.search(warning, told)


# ---------------------------------------------------------------- unknown strategies


@pytest.mark.parametrize("name", ["noauth2", ""])
def test_other_strategies_end_the_start_with_a_sentence(service: Service, name: str) -> None:
    with pytest.raises(ConfigurationError, match="one of: keystone, http_basic, none"):
        make_app(service, ApiSettings(auth_strategy=name))
