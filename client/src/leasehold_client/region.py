"""The regions of the cloud, and what is free in each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from leasehold_client.availability import Availability, FreeWindows, asked_of
from leasehold_client.calls.answer import AnswerModel
from leasehold_client.calls.transport import Calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from leasehold_client.availability import Wish

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Region(AnswerModel):
    """A region, and the URL at which its service takes requests; `here` is true of the one that was asked."""

    name: str
    endpoint: str
    here: bool


@dataclass(frozen=True, slots=True)
class InRegion(Generic[Found]):
    """What the service of a region says: what it `found`, or None and the `reason`, a sentence."""

    region: str
    endpoint: str
    found: Found | None
    reason: str | None


class Regions(Calls):
    """Questions about all regions, which the service asks of its peers; every member of a project may ask."""

    def list(self) -> Sequence[Region]:
        """Return the regions that the service knows, its own first."""
        return [Region.read(each) for each in self._transport.get("/regions")["regions"]]

    def availability(
        self, reservation: Mapping[str, Any], start: datetime, end: datetime, names: Iterable[str] | None = None
    ) -> Sequence[InRegion[Availability]]:
        """Return how much is free in the regions of these names, None for all; as `availability.show` does for one."""
        query = asked_of(reservation, start, end) | ({} if names is None else {"region": ",".join(names)})
        answer = self._transport.get("/regions/availability", query)
        return [_in_region(each, each["availability"], Availability.read) for each in answer["regions"]]

    def search(self, wish: Wish, names: Iterable[str] | None = None) -> Sequence[InRegion[FreeWindows]]:
        """Return the first windows in each region, or of which alternatives there are none."""
        body = wish.body() | ({} if names is None else {"regions": [*names]})
        answer = self._transport.post("/regions/availability/search", body)
        return [
            _in_region(each, None if each["error_message"] else each, FreeWindows.read) for each in answer["regions"]
        ]


def _in_region(each: Mapping[str, Any], values: Any, read: Callable[[Any], Found]) -> InRegion[Found]:
    found = None if values is None else read(values)
    return InRegion(each["region"], each["endpoint"], found, each["error_message"])
