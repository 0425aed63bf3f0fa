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
    from datetime import datetime

    from leasehold.model.lease import Lease
    from tests.factory import World
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


def stored(world: World, lease: Lease, status: str) -> dict[str, Any]:
    """Return a lease of hosts as the contract has it sent on an update and at the end, with what it has now."""
    now = world.get(lease)
    hosts = {each.number: each for each in world.listed()}

    def made(record: Any) -> dict[str, str | None]:
        return {"created_at": as_date(record.created_at), "updated_at": as_date(record.updated_at)}

    return {
        "id": now.id,
        "name": now.name,
        "user_id": now.user_id,
        "project_id": now.project_id,
        "trust_id": None,
        "start_date": as_date(now.window.start),
        "end_date": as_date(now.window.end),
        "status": status,
        "degraded": now.degraded,
        **made(now),
        "reservations": [
            {
                **{key: part.request[key] for key in ("min", "max", "hypervisor_properties", "resource_properties")},
                "before_end": "default",
                "id": part.id,
                "lease_id": now.id,
                "resource_id": part.resource_id,
                "resource_type": part.resource_type,
                "status": part.status,
                "missing_resources": part.missing_resources,
                "resources_changed": part.resources_changed,
                **made(part),
                "allocations": [hosts[held.resource_number].values for held in part.allocations],
            }
            for part in now.reservations
        ],
        "events": [
            {
                "id": each.id,
                "lease_id": now.id,
                "event_type": each.type,
                "time": as_date(each.time),
                "status": each.status,
                **made(each),
            }
            for each in now.events
        ],
    }


def as_date(moment: datetime | None) -> str | None:
    """Return a moment in ISO 8601, in UTC without an offset, and without microseconds when these are zero."""
    return None if moment is None else moment.isoformat().removesuffix("+00:00")


@contextmanager
def approving(tls: ssl.SSLContext | None = None) -> Iterator[Approver]:
    approver = Approver()
    with serving(approver, tls) as url:
        approver.url = url
        yield approver
