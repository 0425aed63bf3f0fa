"""A receiver of webhooks: an HTTP server that checks each signature by itself, and fails or hangs on request."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any

from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.serving import Answer, Asked

LONGEST_HANG = 30


@dataclass
class Receiver:
    """What arrived: `tries` has the id and the type of every request, `events` what was acknowledged.

    `answer` returns the status for an event.
    """

    url: str = ""
    secret: str = ""
    answer: Callable[[dict[str, Any]], int] = lambda _: 200
    tries: list[tuple[str, str]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    resumed: Event = field(default_factory=Event)

    def hang(self, _: dict[str, Any]) -> int:
        """Answer only when `resumed` is set."""
        self.resumed.wait(LONGEST_HANG)
        return 500

    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def take(self, asked: Asked) -> Answer:
        headers = {name.lower(): value for name, value in asked.headers.items()}
        event = json.loads(asked.body)
        assert (asked.method, asked.path, headers["content-type"]) == ("POST", "/hook", "application/cloudevents+json")
        assert headers["webhook-id"] == event["id"]
        signed = f"{event['id']}.{headers['webhook-timestamp']}.".encode() + asked.body
        key = base64.b64decode(self.secret.removeprefix("whsec_"))
        expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{expected}"
        self.tries.append((event["id"], event["type"]))
        status = self.answer(event)
        if 200 <= status < 300:
            self.events.append(event)
            self.timestamps.append(int(headers["webhook-timestamp"]))
        return status, {"Location": f"{self.url}/elsewhere"} if 300 <= status < 400 else {}, b""


@contextmanager
def receiving(*, keep_alive: bool = False) -> Iterator[Receiver]:
    """Yield a receiver on 127.0.0.1; the test sets its `secret`."""
    made = Receiver()
    with serving(made.take, keep_alive=keep_alive) as url:
        made.url = f"{url}/hook"
        yield made
        made.resumed.set()
