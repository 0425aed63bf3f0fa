"""A mail server in a thread: it speaks SMTP, keeps what it takes, and refuses or hangs on request."""

from __future__ import annotations

import base64
import socketserver
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import default
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from email.message import EmailMessage


@dataclass
class Mailbox:
    """What the server has taken, with the addresses of the envelope, and each line that a client has sent.

    `replies` has the reply to a command, by its first word, instead of the usual one; `message` is the reply to the
    end of a message. `account` is the user and the password that it asks for. A client waits for a command in `hangs`
    until `resumed` is set.
    """

    port: int = 0
    tls: ssl.SSLContext | None = None
    at_once: bool = False
    account: tuple[str, str] | None = None
    replies: dict[str, str] = field(default_factory=dict)
    hangs: set[str] = field(default_factory=set)
    resumed: threading.Event = field(default_factory=threading.Event)
    lines: list[str] = field(default_factory=list)
    taken: list[tuple[str, list[str], EmailMessage]] = field(default_factory=list)

    def subjects(self) -> list[str]:
        return [message["Subject"] for _, _, message in self.taken]


class _Talk(socketserver.StreamRequestHandler):
    box: Mailbox

    def handle(self) -> None:
        self.secure, self.sender, self.receivers = False, "", list[str]()
        self.known = self.box.account is None
        try:
            if self.box.at_once:
                self._secure()
            self._say(self.box.replies.get("GREETING", "220 mail.example ESMTP"))
            while line := self.rfile.readline(1000).decode("latin-1").rstrip("\r\n"):
                self._obey(line)
        except OSError:
            # The client has left, or does not like the certificate: what several tests are about.
            return

    def finish(self) -> None:
        super().finish()
        self.connection.close()

    def _obey(self, line: str) -> None:
        self.box.lines.append(line)
        word = line.split(" ", maxsplit=1)[0].upper()
        if word in self.box.hangs:
            self.box.resumed.wait(30)
        if word in self.box.replies:
            self._say(self.box.replies[word])
            return
        if not self.known and word in ("MAIL", "RCPT", "DATA"):
            self._say("530 who are you")
            return
        commands = {"EHLO": self._hello, "STARTTLS": self._start_tls, "AUTH": self._log_in, "DATA": self._take}
        if word == "MAIL":
            self.sender = line
        if word == "RCPT":
            self.receivers.append(line)
        commands.get(word, self._agree)(line)

    def _agree(self, _: str) -> None:
        self._say("250 OK")

    def _hello(self, _: str) -> None:
        offers = ["STARTTLS"] if self.box.tls and not self.secure else []
        logins = ["AUTH PLAIN"] if self.box.account else []
        self._say(*(f"250-{each}" for each in ("mail.example", *offers, *logins)), "250 OK")

    def _start_tls(self, _: str) -> None:
        self._say("220 go ahead")
        self._secure()

    def _log_in(self, line: str) -> None:
        given = base64.b64decode(line.split(" ")[2]).decode().split("\0")[1:]
        self.known = tuple(given) == self.box.account
        self._say("235 welcome" if self.known else "535 no")

    def _take(self, _: str) -> None:
        self._say("354 go on")
        lines = []
        while (line := self.rfile.readline(2000)) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b"."))
        reply = self.box.replies.get("MESSAGE", "250 taken")
        if reply.startswith("2"):
            message: Any = message_from_bytes(b"".join(lines), policy=default)
            self.box.taken.append((self.sender, self.receivers, message))
        self._say(reply)

    def _secure(self) -> None:
        assert self.box.tls is not None
        self.connection = self.box.tls.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", buffering=0)
        self.secure = True

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode("ascii"))


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextmanager
def mail_server(**settings: Any) -> Iterator[Mailbox]:
    """Yield a mail server on a free port of 127.0.0.1; the settings are those of `Mailbox`."""
    box = Mailbox(**settings)
    handler = type("Talk", (_Talk,), {"box": box})
    with _Server(("127.0.0.1", 0), handler) as server:
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, name="mail")
        thread.start()
        try:
            yield box
        finally:
            box.resumed.set()
            server.shutdown()
            thread.join()
