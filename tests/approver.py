"""A service that approves leases: a real HTTP server that records what it was sent and answers as the test says."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leasehold.conf.settings import ExternalSettings, LeaseSettings
from tests.serving import serving

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    from tests.serving import Answer, Asked

ALLOW: Answer = (204, {}, b"")


def deny(content: bytes) -> Answer:
    return 403, {"Content-Type": "application/json"}, content


@dataclass
class Approver:
    """The service; `answer` is what it answers, or makes the answer from the request."""

    url: str = ""
    answer: Answer | Callable[[Asked], Answer] = ALLOW
    asked: list[Asked] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        return self.answer(asked) if callable(self.answer) else self.answer

    @property
    def paths(self) -> list[str]:
        return [each.path for each in self.asked]

    def body(self, position: int = -1) -> Any:
        return json.loads(self.asked[position].body)

    def settings(self, **more: Any) -> LeaseSettings:
        """Return settings with which this service is asked."""
        external = ExternalSettings(**{"base": f"{self.url}/v1/", "seconds": 30.0, **more})
        return LeaseSettings(enforcement_filters=("ExternalServiceFilter",), external=external)


@contextmanager
def approving(tls: ssl.SSLContext | None = None) -> Iterator[Approver]:
    approver = Approver()
    with serving(approver, tls) as url:
        approver.url = url
        yield approver
