"""A proxy with TLS to clients and plain HTTP to the API; it sets the headers of `etc/nginx/leasehold.conf`."""

from __future__ import annotations

import http.client
import ipaddress
import ssl
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ADDRESS = "127.0.0.1"


@dataclass(frozen=True)
class TlsProxy:
    """The proxy's URL, and the certificate that clients must trust."""

    url: str
    certificate: Path


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for the loopback address and its key, and return the paths of both."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leasehold tests")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(ADDRESS))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


@contextmanager
def running_tls_proxy(target: str, folder: Path) -> Iterator[TlsProxy]:
    """Run a proxy in front of the URL `target` until the block ends."""
    place = urlsplit(target)
    certificate, key = make_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Handler(BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            hops = [each for each in (self.headers.get("X-Forwarded-For"), self.client_address[0]) if each]
            headers |= {"X-Forwarded-Proto": "https", "X-Forwarded-For": ", ".join(hops)}
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            upstream = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
            upstream.request(self.command, self.path, body=body or None, headers=headers)
            answer = upstream.getresponse()
            content = answer.read()
            self.send_response_only(answer.status, answer.reason)
            for name, value in answer.getheaders():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
            upstream.close()

        do_GET = do_POST = do_PUT = do_DELETE = _pass_on  # noqa: N815 - the names that http.server looks for.

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer((ADDRESS, 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, name="tls-proxy")
        thread.start()
        try:
            yield TlsProxy(f"https://{ADDRESS}:{server.server_port}", certificate)
        finally:
            server.shutdown()
            thread.join()
