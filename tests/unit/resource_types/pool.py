"""Small pools of hosts or addresses with their allocations, and searches in them; times are hours after `DAY`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from leasehold.calendar.index import Calendar
from leasehold.model.refusal import Refusal
from leasehold.model.reservation import Reservation
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL, HOST, HOST_POOL, Resource
from leasehold.model.states import ReservationStatus
from leasehold.model.windows import Window, to_seconds
from leasehold.resource_types.kind import Kind, Search
from tests.unit.calendar.oracle import Row, columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.allocation import Pick

R = TypeVar("R")

DAY = datetime(2031, 5, 1, tzinfo=UTC)
OTHER = "00000000-0000-0000-0000-00000000000f"
OURS = "00000000-0000-0000-0000-000000000001"
NETWORK = "public"

_ids = count(1)


def hours(start: float, end: float) -> Window:
    """Return the window between two moments, given in hours after `DAY`."""
    return Window(DAY + timedelta(hours=start), DAY + timedelta(hours=end))


def host(number: int, vcpus: int = 8, **fields: Any) -> Resource:
    """Return a host named `cmp-<number>` with this many VCPUs, and ample memory and disk."""
    name = f"cmp-{number}"
    values: dict[str, Any] = {
        "id": str(number),
        "type": HOST,
        "pool": HOST_POOL,
        "capacity": {"VCPU": vcpus, "MEMORY_MB": 65536, "DISK_GB": 1000},
        "max_unit": {},
        "attributes": {"hypervisor_hostname": name, "service_name": name, "vcpus": vcpus},
    }
    return Resource(number=number, **{**values, **fields})


def address(last: int, network: str = NETWORK, **fields: Any) -> Resource:
    """Return the address 203.0.113.`last` of a network, as the resource with the number `last`."""
    values: dict[str, Any] = {
        "id": str(last),
        "type": FLOATING_IP,
        "pool": FLOATING_IP_POOL,
        "capacity": {},
        "max_unit": {},
        "attributes": {
            "floating_network_id": network,
            "subnet_id": "subnet",
            "floating_ip_address": f"203.0.113.{last}",
        },
    }
    return Resource(number=last, **{**values, **fields})


def booked(number: int, window: Window, slots: int = 1, demand: Mapping[str, int] | None = None) -> Row:
    """Return an allocation of another reservation: of the whole resource, or of slots when a demand is given."""
    start, end = (to_seconds(moment) for moment in (window.start, window.end))
    return Row(next(_ids), number, start, end, slots, demand, OTHER, released=False)


def pool_of(resources: Iterable[Resource], promises: Sequence[Row] = (), now: datetime = DAY) -> Snapshot:
    """Return a snapshot of these resources with these allocations, at `now`."""
    calendar = Calendar("pool")
    calendar.update(1, tuple(resources), columns(promises))
    return calendar.snapshot(now)


def search(snapshot: Snapshot, window: Window | None = None, **more: Any) -> Search[Any]:
    """Return a search in a window, by default from hour 1 to hour 2."""
    wanted = window or hours(1, 2)
    return Search(snapshot, wanted, more.pop("length", wanted.duration), **more)


def reservation(kind: Kind[R], request: R, **fields: Any) -> Reservation:
    """Return a pending reservation with this request."""
    return Reservation(OURS, "lease", kind.name, "resource", kind.store(request), **fields)


def from_database(kind: Kind[R], request: R) -> dict[str, Any]:
    """Return a stored request after a round trip through JSON, which must not change it."""
    stored = kind.store(request)
    kept: dict[str, Any] = json.loads(json.dumps(stored))
    assert kept == stored
    return kept


def active(kind: Kind[R], request: R) -> Reservation:
    """Return an active reservation with this request."""
    return reservation(kind, request, status=ReservationStatus.ACTIVE)


def numbers(answer: Sequence[Pick] | Refusal) -> list[int]:
    """Return the numbers of the picked resources, in the order of the picks."""
    return [pick.resource_number for pick in granted(answer)]


def placed(answer: Sequence[Pick] | Refusal | None) -> dict[int, int]:
    """Return the picked slots by resource number; fails if a resource is picked twice."""
    picks = granted(answer)
    found = {pick.resource_number: pick.slots for pick in picks}
    assert len(found) == len(picks)
    return found


def granted(answer: Sequence[Pick] | Refusal | None) -> Sequence[Pick]:
    """Return the picks of an answer; fails if it is a refusal."""
    assert answer is not None
    assert not isinstance(answer, Refusal), answer.sentence
    return answer


def refused(answer: Sequence[Pick] | Refusal) -> Refusal:
    """Return the refusal; fails if the answer is a grant."""
    assert isinstance(answer, Refusal), answer
    return answer


def steps(refusal: Refusal) -> list[int]:
    """Return how many resources remain after each filter."""
    return [step.remaining for step in refusal.steps]
