"""Capacity with dates: hosts that come, hosts that go and hosts that are held back, for operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel
from leasehold_client.calls.collection import Collection
from leasehold_client.calls.wire import said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class CapacityChange(AnswerModel):
    """A change of the `kind` increase, decrease or reserve over `[start, end)`; `end` None: for ever.

    `hosts` are those of an increase, `held` the ids of those that are taken away or held back, and `promised` the ids
    of leases with hosts that are not there yet.
    """

    id: str
    kind: str
    name: str
    start: datetime
    end: datetime | None
    state: str
    promise: bool
    amount: int | None
    percent: int | None
    hosts: tuple[Mapping[str, Any], ...]
    held: tuple[str, ...]
    promised: tuple[str, ...]
    values: Mapping[str, Any]


class PlannedCapacity(Collection[CapacityChange]):
    """All changes of capacity; by default for administrators."""

    PATH, ONE, MANY, NOUN = "/capacity/changes", "change", "changes", "change of capacity"
    THING = CapacityChange

    def increase(self, name: str, hosts: Sequence[str], start: datetime, **more: Any) -> CapacityChange:
        """Plan hosts by the names that they will have; `more` are keys of POST /v1/capacity/increases."""
        return self._post("increases", name=name, hosts=list(hosts), start_date=start, **more)

    def decrease(self, name: str, host_ids: Sequence[str], start: datetime, **more: Any) -> CapacityChange:
        """Take hosts away from `start` on; `more` are keys of POST /v1/capacity/decreases."""
        return self._post("decreases", name=name, hosts=list(host_ids), start_date=start, **more)

    def reserve(self, name: str, start: datetime, **more: Any) -> CapacityChange:
        """Hold hosts back from `start` on; `more` are keys of POST /v1/capacity/reserves."""
        return self._post("reserves", name=name, start_date=start, **more)

    def change(self, ident: str, **changes: Any) -> CapacityChange:
        """Change the `start_date` or the `promise` of an increase, or the `amount` or `percent` of a reserve."""
        return self._change(ident, said(**changes))

    def arrived(self, ident: str, names: Mapping[str, str]) -> CapacityChange:
        """Say that planned hosts are there, by the names that they have now; no names: as they were planned."""
        return self._one(self._transport.post(f"{self.PATH}/{ident}/arrived", {"hosts": dict(names)}))

    def withdraw(self, ident: str, on_conflict: str) -> None:
        """Delete a change; `on_conflict` says what becomes of leases with hosts that are not there yet."""
        self._transport.delete(f"{self.PATH}/{ident}?on_conflict={on_conflict}")

    def _post(self, kind: str, **keys: Any) -> CapacityChange:
        return self._one(self._transport.post(f"/capacity/{kind}", said(**keys)))
