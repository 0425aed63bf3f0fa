"""TLS: the API behind a proxy that speaks it, and the databases with the URLs of the guide.

With the proxy: links, client addresses, and trusted proxies. With a database: encrypted, and only to the server that
the certificate names.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import requests
from requests.adapters import HTTPAdapter
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from leasehold.db.engine import open_engine, reading
from tests.processes import wait_for
from tests.security.programs import api_with_passwords
from tests.security.tls import make_certificate, running_tls_proxy
from tests.servers import MariaDB, PostgreSQL, Server
from tests.users import basic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.processes import Program
    from tests.security.tls import TlsProxy

pytestmark = pytest.mark.slow

LEASE = {"name": "n", "start_date": "2040-01-01 10:00", "end_date": "2040-01-01 11:00"}
SPOOFED = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "evil.example",
    "Forwarded": "for=203.0.113.9;proto=https;host=evil.example",
}
RIGHT = "right"
CLIENT = "127.0.0.2"
"""The source address of clients; the proxy connects from 127.0.0.1."""


class From(HTTPAdapter):
    """An adapter that connects from this source address."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        super().init_poolmanager(*args, **more, source_address=(self._address, 0))


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Yield an API with passwords that trusts the proxy and limits failed logins."""
    folder = tmp_path_factory.mktemp("tls")
    with api_with_passwords(folder, trusted_proxies="127.0.0.1", max_failed_logins_per_minute=3) as started:
        yield started


@pytest.fixture(scope="module")
def proxy(api: Program, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsProxy]:
    with running_tls_proxy(api.root, tmp_path_factory.mktemp("proxy")) as started:
        yield started


def ask(url: str, method: str = "GET", *, address: str = CLIENT, password: str = RIGHT, **more: Any) -> Any:
    """Send a request from this source address; `verify` in `more` is the certificate to trust."""
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, From(address))
        headers = {"Authorization": basic("alice", password), **more.pop("headers", {})}
        return session.request(method, url, headers=headers, timeout=60, **more)


def link(answer: Any) -> str:
    return str(answer.json()["versions"][0]["links"][0]["href"])


def last_failure(api: Program) -> str:
    """Return the address of the last failed login in the log; empty if there is none."""
    lines = [line for line in api.log.read_text(errors="replace").splitlines() if "A login from" in line]
    return lines[-1].partition("A login from ")[2].partition(" ")[0] if lines else ""


@pytest.mark.parametrize("headers", [{}, SPOOFED], ids=["plain", "spoofed"])
def test_links_lead_through_the_proxy_by_tls(proxy: TlsProxy, headers: dict[str, str]) -> None:
    answer = ask(f"{proxy.url}/versions", headers=headers, verify=proxy.certificate)
    assert link(answer) == f"{proxy.url}/v1"


def test_the_whole_api_works_through_it(proxy: TlsProxy) -> None:
    made = ask(f"{proxy.url}/v1/leases", "POST", json=LEASE, verify=proxy.certificate)
    assert made.status_code == 201, made.text
    lease = f"{proxy.url}/v1/leases/{made.json()['lease']['id']}"
    assert ask(lease, verify=proxy.certificate).json()["lease"]["project_id"] == "demo"
    assert ask(lease, "DELETE", verify=proxy.certificate).status_code == 204


def test_who_is_no_proxy_is_not_believed(api: Program) -> None:
    """The API ignores the scheme and address in headers of an untrusted peer, even on this machine."""
    answer = ask(f"{api.root}/versions", headers=SPOOFED)
    assert link(answer) == f"{api.url}"
    address = "127.0.0.3"
    assert ask(f"{api.url}/leases", headers=SPOOFED, address=address, password="wrong").status_code == 401
    wait_for(lambda: last_failure(api) == address)


def test_the_log_and_the_limit_know_the_client_behind_the_proxy(api: Program, proxy: TlsProxy) -> None:
    """The proxy appends the peer's address to the client's header; the limit does not affect other clients."""
    guesses, other = "127.0.0.4", "127.0.0.5"
    statuses = []
    for number in range(4):
        spoofed = {**SPOOFED, "X-Forwarded-For": f"203.0.113.{number}"}
        answer = ask(
            f"{proxy.url}/v1/leases", headers=spoofed, address=guesses, password="wrong", verify=proxy.certificate
        )
        statuses.append(answer.status_code)
    assert statuses == [401, 401, 401, 429]
    wait_for(lambda: last_failure(api) == guesses)
    assert ask(f"{proxy.url}/v1/leases", address=guesses, verify=proxy.certificate).status_code == 429
    assert ask(f"{proxy.url}/v1/leases", address=other, verify=proxy.certificate).status_code == 200


# ---------------------------------------------------------------- databases


def certify(server: Server) -> list[Path]:
    """Create a certificate and key in the server's folder, readable by the server, and return their paths."""
    paths = list(make_certificate(server.folder))
    for path in paths:
        path.chmod(0o600)
        if server._user is not None:
            os.chown(path, server._user.pw_uid, server._user.pw_gid)
    return paths


class TlsMariaDB(MariaDB):
    def _run_command(self) -> list[str]:
        certificate, key = certify(self)
        return [*super()._run_command(), f"--ssl-cert={certificate}", f"--ssl-key={key}"]


class TlsPostgreSQL(PostgreSQL):
    def _run_command(self) -> list[str]:
        certificate, key = certify(self)
        secured = ["-c", "ssl=on", "-c", f"ssl_cert_file={certificate}", "-c", f"ssl_key_file={key}"]
        return [*super()._run_command(), *secured]


SERVERS: dict[str, tuple[type[Server], str, dict[str, str]]] = {
    "mariadb": (TlsMariaDB, "SHOW STATUS LIKE 'Ssl_cipher'", {"ssl_ca": "{ca}"}),
    "postgresql": (
        TlsPostgreSQL,
        "SELECT pid, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
        {"sslmode": "verify-full", "sslrootcert": "{ca}"},
    ),
}


@pytest.mark.servers
@pytest.mark.parametrize("kind", SERVERS)
def test_the_books_are_read_over_tls_from_nobody_else(kind: str, tmp_path: Path) -> None:
    make, question, options = SERVERS[kind]
    with make() as server:
        plain = make_url(server.create_database())
        trusted = tmp_path / "ca.pem"
        shutil.copy(server.folder / "certificate.pem", trusted)
        (tmp_path / "other").mkdir()
        stranger, _ = make_certificate(tmp_path / "other")

        def cipher(ca: Path, host: str) -> str:
            query = {name: value.format(ca=ca) for name, value in options.items()}
            url = plain.set(host=host).update_query_dict(query).render_as_string(hide_password=False)
            engine = open_engine(url)
            try:
                with reading(engine) as connection:
                    return str(connection.exec_driver_sql(question).one()[1])
            finally:
                engine.dispose()

        assert cipher(trusted, "127.0.0.1")
        for ca, host in ((stranger, "127.0.0.1"), (trusted, "localhost")):
            with pytest.raises(OperationalError):
                cipher(ca, host)
