"""TLS to the databases with the guide's URLs: encrypted, and only to the server that the certificate names."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from leasehold.db.engine import open_engine, reading
from tests.security.tls_proxy import make_certificate
from tests.servers import MariaDB, PostgreSQL, Server

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.servers]


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
