"""The requests of a storm's clients: leases of every kind and type, on few hosts and addresses, soon and far ahead."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold.cloud.sandbox.seed import NETWORK_ID, HostSpec

if TYPE_CHECKING:
    import random

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03")
SHARED = tuple(HostSpec(90 + n, f"shared-{n}", f"shared-{n}", 4, 3072, 30) for n in range(4))
"""Hosts that serve everybody at first. They are too small for most requests, so that they can go back; best-effort
leases get them while the others are taken.
"""
ADDRESSES = ("203.0.113.200", "203.0.113.201", "203.0.113.202", "203.0.113.203")
FAR_HOURS = 40
"""Windows far ahead begin within this many hours of one moment, so that they overlap."""
ANYTHING = {"hypervisor_properties": "", "resource_properties": ""}
ROOMY = '[">=", "$memory_mb", "4096"]'
"""The property filter of most requests, so that the smaller host is sometimes allocated and sometimes free."""


def hosts(rng: random.Random) -> dict[str, Any]:
    least, where = rng.randint(1, 2), rng.choice([ROOMY] * 30 + [""])
    asked = {"min": least, "max": least + rng.randint(0, 1), **ANYTHING}
    return {"resource_type": "physical:host", **asked, "hypervisor_properties": where}


def instances(rng: random.Random) -> dict[str, Any]:
    return {
        "resource_type": "virtual:instance",
        "amount": rng.randint(1, 4),
        "vcpus": rng.randint(1, 4),
        "memory_mb": 512,
        "disk_gb": 1,
        "affinity": rng.choice([None, None, True, False]),
        "resource_properties": ROOMY,
    }


def flavors(rng: random.Random) -> dict[str, Any]:
    flavor = rng.choice(["m1.medium", "m1.large"])
    return {"resource_type": "flavor:instance", "flavor_id": flavor, "amount": rng.randint(1, 3), "affinity": None}


def addresses(rng: random.Random) -> dict[str, Any]:
    return {"resource_type": "virtual:floatingip", "network_id": NETWORK_ID, "amount": rng.randint(1, 2)}


def ending(rng: random.Random) -> dict[str, Any]:
    """Return what becomes of the servers of a reservation: sometimes they live on for seconds."""
    return rng.choice(
        [
            *[{}] * 8,
            {"grace_seconds": rng.randint(1, 3)},
            {"on_end": "recycle", "recycle_seconds": rng.randint(1, 4), "grace_seconds": rng.randint(0, 2)},
            {"before_end": "snapshot"},
        ]
    )


def afterwards(kind: str, rng: random.Random, *, soon: bool) -> dict[str, Any]:
    """Return how a reservation of this kind ends: sometimes because nobody uses it, or with its hosts given back.

    What may be given back is reserved for good, so that of leases far ahead few are to end so.
    """
    if kind == "addresses":
        return {}
    if kind == "hosts" and rng.random() < (0.15 if soon else 0.01):
        return {"on_end": "give_back"}
    watched = {"no_show_seconds": rng.randint(2, 5)} if rng.random() < 0.15 else {}
    shelved = {"before_end": "shelve"} if kind == "hosts" and rng.random() < 0.15 else {}
    return ending(rng) | watched | shelved


KINDS = {"hosts": hosts, "instances": instances, "flavors": flavors, "addresses": addresses}
GROWS_BY = {
    "physical:host": "max",
    "virtual:instance": "amount",
    "flavor:instance": "amount",
    "virtual:floatingip": "amount",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A window in the form of a client's request."""

    start: datetime
    end: datetime

    def moved(self, *, start: float = 0, end: float = 0) -> Span:
        """Return the window with its start and end moved by this many seconds."""
        return Span(self.start + timedelta(seconds=start), self.end + timedelta(seconds=end))

    @property
    def body(self) -> dict[str, str]:
        return {"start_date": self.start.isoformat(), "end_date": self.end.isoformat()}


@dataclass(frozen=True, slots=True)
class Times:
    """Draws the windows and their changes. `soon` is the share of windows that begin within seconds."""

    soon: float = 0.3
    stays: float = 0.0
    """The share of windows that begin within seconds and end hours later, so that their leases outlive the storm."""
    retry: float = 0.0
    """The share of leases that are tried again once if they are refused, which takes ten seconds at least."""
    base: datetime = field(
        default_factory=lambda: datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=2)
    )

    def draw(self, rng: random.Random) -> Span:
        chance = rng.random()
        if chance >= self.soon:
            start = self.base + timedelta(hours=rng.randrange(FAR_HOURS))
            return Span(start, start + timedelta(hours=rng.randint(1, 6)))
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=rng.randint(0, 3))
        if chance < self.soon * self.stays:
            return Span(start, start + timedelta(hours=rng.randint(6, 8)))
        return Span(start, start + timedelta(seconds=rng.randint(4, 10)))

    def step(self, span: Span, rng: random.Random) -> float:
        """Return the number of seconds by which to move the start or end of this window."""
        return rng.randint(1, 3) * (3600 if span.start >= self.base else 1)


def typed(rng: random.Random, times: Times, span: Span) -> tuple[str, dict[str, Any]]:
    """Return the type of a lease, and its keys: who waits does so for seconds, so that all is decided at the end."""
    chance = rng.random()
    if chance < times.retry:
        return "retry", {"type": "retry", "retries": 1, "retry_seconds": 10, **span.body}
    if chance < 0.2:
        deadline = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=rng.randint(2, 6))
        return "waitlist", {"type": "waitlist", "deadline": deadline.isoformat(), **span.body}
    now = datetime.now(UTC).replace(microsecond=0)
    soon = Span(now, now + timedelta(seconds=rng.randint(4, 10)))
    if chance < 0.25:
        return "immediate", {"type": "immediate", **soon.body}
    if chance < 0.35:
        # A lease far ahead keeps the hosts that are drawn for it in the reservation pool until it is over.
        where = span if rng.random() < 0.1 else soon
        deadline = now + timedelta(seconds=rng.randint(2, 8))
        return "best effort", {"type": "best_effort", "deadline": deadline.isoformat(), **where.body}
    return "", span.body


@dataclass(slots=True)
class Known:
    """A granted lease, which clients can amend and delete."""

    lease_id: str
    span: Span
    parts: list[dict[str, Any]]

    @classmethod
    def of(cls, lease: dict[str, Any]) -> Known:
        start, end = (datetime.fromisoformat(lease[key]).replace(tzinfo=UTC) for key in ("start_date", "end_date"))
        return cls(lease["id"], Span(start, end), lease["reservations"])


def creation(rng: random.Random, times: Times) -> tuple[str, dict[str, Any]]:
    """Return a lease request with a unique name, and its kind: mostly one reservation, sometimes two."""
    kinds = rng.sample(list(KINDS), 2 if rng.random() < 0.2 else 1)
    span = times.draw(rng)
    type_, keys = typed(rng, times, span)
    if type_ == "best effort":
        kinds = ["hosts"]
    soon = datetime.fromisoformat(keys["start_date"]) < times.base
    parts = [KINDS[kind](rng) | afterwards(kind, rng, soon=soon) for kind in kinds]
    kind = "several" if len(kinds) > 1 else kinds[0]
    if any(part.get("on_end") == "give_back" for part in parts):
        kind = "given back"
    if type_ == "best effort" or (soon and kind == "given back"):
        # The small hosts will do, on which hardly anything is promised for later.
        parts = [part | ANYTHING if part["resource_type"] == "physical:host" else part for part in parts]
    if type_ == "best effort" and rng.random() < 0.4:
        # Nothing is promised for later on hosts that were just drawn.
        parts = [{**KINDS["hosts"](rng), **ANYTHING, "on_end": "give_back"}]
    where = "soon" if soon else "ahead"
    return f"create {type_ or f'{kind} {where}'}", {"name": uuid4().hex, "reservations": parts, **keys}


def offering(rng: random.Random, times: Times) -> dict[str, Any]:
    """Return a request for an offer with a unique name, which is held for seconds."""
    span, kinds = times.draw(rng), rng.sample(list(KINDS), rng.randint(1, 2))
    parts = [KINDS[kind](rng) for kind in kinds]
    return {"name": uuid4().hex, "reservations": parts, "hold_seconds": rng.randint(1, 6), **span.body}


AMENDMENTS = ("prolong", "shorten", "move", "grow", "shrink", "end otherwise", "share")


def amendment(known: Known, rng: random.Random, times: Times) -> tuple[str, dict[str, Any]]:
    """Return an amendment and its kind. It also renames the lease, so that the name identifies the last change."""
    kind = rng.choice(AMENDMENTS)
    by = times.step(known.span, rng)
    body: dict[str, Any] = {"name": uuid4().hex}
    if kind == "prolong":
        body |= known.span.moved(end=by).body
    elif kind == "shorten":
        body |= known.span.moved(end=-by).body
    elif kind == "move":
        body |= known.span.moved(start=by, end=by).body
    elif kind == "share":
        body["shared_with"] = rng.sample(["lab", "class", "guests"], rng.randint(0, 2))
    elif kind == "end otherwise":
        part = rng.choice(known.parts)
        whole = {"on_end": "delete", "grace_seconds": 0, **ending(rng)}
        body["reservations"] = [{"id": part["id"], **(whole if "on_end" in part else {})}]
    else:
        part = rng.choice(known.parts)
        key = GROWS_BY[part["resource_type"]]
        amount = max(1, part[key] + (1 if kind == "grow" else -1))
        body["reservations"] = [{"id": part["id"], key: amount}]
    return f"amend {kind}", body
