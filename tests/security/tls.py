"""Certificates, and a proxy with TLS to clients and plain HTTP to the API.

The proxy sets the headers of `etc/nginx/leasehold.conf`.
"""

from __future__ import annotations

import http.client
import ipaddress
import ssl
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.serving import Asked


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
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
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

    def pass_on(asked: Asked) -> tuple[int, dict[str, str], bytes]:
        headers = {name: value for name, value in asked.headers.items() if name.lower() != "connection"}
        hops = [each for each in (headers.get("X-Forwarded-For"), asked.peer) if each]
        headers |= {"X-Forwarded-Proto": "https", "X-Forwarded-For": ", ".join(hops)}
        with closing(http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)) as upstream:
            upstream.request(asked.method, asked.path, body=asked.body or None, headers=headers)
            answer = upstream.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    with serving(pass_on, context) as url:
        yield TlsProxy(url, certificate)
