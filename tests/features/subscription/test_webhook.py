"""Webhooks: URLs, signatures, and connections that go only where they may, and not for long."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_network
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from leasehold.features.subscription import connection as connections
from leasehold.features.subscription.channel import DeliveryError
from leasehold.features.subscription.connection import Connection
from leasehold.features.subscription.model import ChannelName, Subscription
from leasehold.features.subscription.settings import DeliverySettings
from leasehold.features.subscription.webhook import Url, WebhookSender, new_secret, read_url, sign
from leasehold.model.event_log import Cursor, LogEvent
from tests.security.tls import make_certificate
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.serving import Answer, Asked

pytestmark = pytest.mark.slow

NOW = datetime(2031, 5, 1, 9, tzinfo=UTC)
LOOPBACK = ip_network("127.0.0.0/8")
SETTINGS = DeliverySettings(connect_seconds=5.0, answer_seconds=10.0, http=True, allowed_networks=(LOOPBACK,))
IMPATIENT = replace(SETTINGS, answer_seconds=0.3)


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """The example of the specification."""
    secret, ident = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    found = sign(secret, ident, 1614265330, b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert len({new_secret() for _ in range(10)}) == 10


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://hooks.example.org", Url(secure=True, host="hooks.example.org", port=443, path="/")),
        (
            "HTTPS://Hooks.example.org:8443/a/b?c=d",
            Url(secure=True, host="hooks.example.org", port=8443, path="/a/b?c=d"),
        ),
        ("http://[2606:4700::1111]/x", Url(secure=False, host="2606:4700::1111", port=80, path="/x")),
    ],
)
def test_urls(text: str, url: Url) -> None:
    assert read_url(text) == url


@contextmanager
def talking(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """Accept connections on 127.0.0.1 and let `talk` answer each in a thread; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    accepted, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=run, args=(accepted,), daemon=True).start()

        def run(accepted: socket.socket) -> None:
            with accepted:
                try:
                    talk(accepted)
                except OSError:
                    # The other side has gone, which several of these tests are about.
                    return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def posted(host: str, port: int, settings: DeliverySettings = SETTINGS, *, secure: bool = False) -> int:
    with closing(Connection(host, port, settings, secure=secure)) as made:
        return made.post("/hook", b"{}", {"Content-Type": "application/json"})


def test_what_is_private_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an address, nor a name of one; of several addresses those that are public are used."""
    asked: list[str] = []

    def note(asked_for: Asked) -> Answer:
        asked.append(asked_for.path)
        return 200, {}, b""

    with serving(note) as url:
        port = int(url.rpartition(":")[2])
        default = replace(SETTINGS, allowed_networks=())
        for name in ("127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "::1", "::ffff:127.0.0.1"):
            with pytest.raises(DeliveryError, match="no address that webhooks may reach"):
                posted(name, port, default)
        with pytest.raises(DeliveryError, match="no address that webhooks may reach"):
            posted("no-such-name.invalid", port)
        assert asked == []
        answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in ("10.0.0.1", "127.0.0.1")]
        lookups: list[str] = []

        def look_up(host: str, *_: object, **_more: object) -> object:
            lookups.append(host)
            return answers if host == "hooks.example" else real(host, port, type=socket.SOCK_STREAM)

        real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        assert posted("hooks.example", port) == 200
    # The name is resolved once; what follows is the address.
    assert lookups == ["hooks.example", "127.0.0.1"]
    assert asked == ["/hook"]


def test_redirects_and_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def redirect(asked_for: Asked) -> Answer:
        asked.append(asked_for.path)
        return 307, {"Location": "/elsewhere"}, b""

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with serving(redirect) as url:
        assert posted("127.0.0.1", int(url.rpartition(":")[2])) == 307
    assert asked == ["/hook"]


def hang(_: socket.socket) -> None:
    threading.Event().wait(5)


def drip(accepted: socket.socket) -> None:
    accepted.sendall(b"HTTP/1.1 200 OK\r\n")
    for _ in range(1000):
        accepted.sendall(b"x: y\r\n")
        threading.Event().wait(0.02)


def drip_continues(accepted: socket.socket) -> None:
    for _ in range(1000):
        accepted.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        threading.Event().wait(0.02)


@pytest.mark.parametrize("talk", [hang, drip, drip_continues])
@pytest.mark.parametrize("secure", [False, True])
def test_a_receiver_that_hangs_or_drips_is_left_in_time(talk: Callable[[socket.socket], None], secure: bool) -> None:  # noqa: FBT001 - a parameter.
    with talking(talk) as port:
        begun = monotonic()
        with pytest.raises(DeliveryError):
            posted("127.0.0.1", port, IMPATIENT, secure=secure)
        assert monotonic() - begun < 3


def test_the_status_counts_whatever_becomes_of_the_rest() -> None:
    def talk(accepted: socket.socket) -> None:
        accepted.recv(65536)
        accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
        hang(accepted)

    with talking(talk) as port:
        assert posted("127.0.0.1", port, IMPATIENT) == 200


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 100_000, b"HTTP/1.1 abc x\r\n\r\n"]
)
def test_an_answer_that_is_not_http_is_a_failure(answer: bytes) -> None:
    def talk(accepted: socket.socket) -> None:
        accepted.recv(65536)
        accepted.sendall(answer)

    with talking(talk) as port, pytest.raises(DeliveryError):
        posted("127.0.0.1", port)


def test_a_head_that_is_hard_to_parse_holds_no_thread() -> None:
    """As the head of an e-mail, such a field takes a time that grows with the square of its length."""

    def talk(accepted: socket.socket) -> None:
        accepted.recv(65536)
        more = b"".join(b" " + b";" * 60_000 + b"\r\n" for _ in range(2))
        accepted.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: multipart/mixed; a="' + more + b"\r\n")

    with talking(talk) as port:
        begun = monotonic()
        with pytest.raises(DeliveryError):
            posted("127.0.0.1", port, IMPATIENT)
        assert monotonic() - begun < 3


@pytest.mark.parametrize("boundary", [b"idna''%ff", b"a\x00b''x", b"punycode''%ff"])
def test_no_field_of_an_answer_raises_an_error_of_its_own(boundary: bytes) -> None:
    def talk(accepted: socket.socket) -> None:
        accepted.recv(65536)
        accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: multipart/mixed; boundary*=" + boundary + b"\r\n\r\n")

    with talking(talk) as port:
        assert posted("127.0.0.1", port) == 200


def test_a_connection_is_kept_and_made_again_when_the_receiver_closed_it() -> None:
    met: list[int] = []

    def talk(accepted: socket.socket) -> None:
        met.append(0)
        while met[-1] < 2 and accepted.recv(65536):
            met[-1] += 1
            accepted.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    with talking(talk) as port, closing(Connection("127.0.0.1", port, SETTINGS, secure=False)) as made:
        assert [made.post("/hook", b"", {}) for _ in range(5)] == [204] * 5
    assert met == [2, 2, 1]


def test_a_large_answer_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "LARGEST_ANSWER", 1000)
    with serving(lambda _: (200, {}, b"x" * 10_000_000)) as url:
        assert posted("127.0.0.1", int(url.rpartition(":")[2])) == 200


def test_a_body_in_chunks_is_not_read() -> None:
    """A chunk of -1 bytes is everything that comes until the time is over."""
    sent = [0]

    def talk(accepted: socket.socket) -> None:
        accepted.recv(65536)
        accepted.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
        while sent[0] < 10**9:
            accepted.sendall(b"x" * 10**6)
            sent[0] += 10**6

    with talking(talk) as port:
        assert posted("127.0.0.1", port, IMPATIENT) == 200
    assert sent[0] < 20 * 10**6


def test_what_an_operator_has_forbidden_since_is_not_used() -> None:
    made = Subscription(
        id="x",
        project_id="p",
        user_id="u",
        secret=new_secret(),
        all_projects=False,
        channel=ChannelName.WEBHOOK,
        target="http://127.0.0.1:1/",
        event_types=(),
        lease_id=None,
        created_at=NOW,
        position=0,
    )
    event = LogEvent(Cursor(1, "0" * 16), "lease.create", NOW, "p", "l", None, None, {})
    with pytest.raises(DeliveryError, match="without TLS"):
        WebhookSender(made, replace(SETTINGS, http=False)).send(event, NOW)


def test_the_certificate_has_to_be_of_the_name_and_of_a_known_authority(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    known = replace(SETTINGS, cafile=str(certificate))
    with serving(lambda _: (200, {}, b""), tls=context) as url:
        port = int(url.rpartition(":")[2])
        assert posted("127.0.0.1", port, known, secure=True) == 200
        for host, settings in (("127.0.0.1", SETTINGS), ("localhost", known)):
            with pytest.raises(DeliveryError, match="certificate of the receiver was not accepted"):
                posted(host, port, settings, secure=True)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\x00b", "a b"])
def test_no_line_can_be_injected_by_a_path(value: str) -> None:
    """`read_url` refuses such a path; the connection does so as well."""
    with pytest.raises(ValueError, match="ASCII"):
        read_url(f"https://h/{value}")
    with talking(hang) as port, pytest.raises(DeliveryError, match="not HTTP"):
        Connection("127.0.0.1", port, SETTINGS, secure=False).post(f"/{value}", b"", {})
