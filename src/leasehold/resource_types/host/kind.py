"""The kind of `physical:host`: whole compute hosts for one project (contract resources §2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from leasehold.calendar.search import earliest_free
from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError, InvalidInputError
from leasehold.model.refusal import FilterCount, Refusal
from leasehold.model.resource import HOST, HOST_POOL
from leasehold.resource_types.fields import Amount, ExpressionText, RequestBody, read
from leasehold.resource_types.kind import Explain, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Search


class HostBody(RequestBody):
    """Between `min` and `max` hosts that match both expressions."""

    min: Amount
    max: Amount
    hypervisor_properties: ExpressionText
    resource_properties: ExpressionText
    before_end: Literal["", "snapshot", "default"] = "default"


@dataclass(frozen=True, slots=True)
class HostRequest:
    """The parsed `HostBody`."""

    min: int
    max: int
    hypervisor_properties: str
    resource_properties: str
    before_end: str = "default"


class HostKind(Kind[HostRequest]):
    """Hosts, each allocated as a whole."""

    name = HOST
    pool = HOST_POOL
    noun = "hosts"
    whole = "hosts"
    schema = HostBody
    request_type = HostRequest

    def parse(self, raw: Mapping[str, Any]) -> HostRequest:
        """Read a request; raises InvalidInputError if `max` is less than `min`."""
        request = HostRequest(**read(HostBody, raw).model_dump())
        if request.max < request.min:
            message = f"The value of max ({request.max}) must not be less than min ({request.min})."
            raise InvalidInputError(message, field="max")
        return request

    def amount(self, request: HostRequest) -> int:
        """Return `max`."""
        return request.max

    def exactly(self, request: HostRequest, amount: int) -> HostRequest:
        """Return the request with `min` and `max` set to this amount."""
        return replace(request, min=amount, max=amount)

    def expressions(self, request: HostRequest) -> Mapping[str, str]:
        """Return both expressions, which share one namespace."""
        return {
            "hypervisor_properties": request.hypervisor_properties,
            "resource_properties": request.resource_properties,
        }

    def allocate(self, request: HostRequest, search: Search[HostRequest]) -> Sequence[Pick] | Refusal:
        """Keep the held hosts, then take the lowest-numbered free ones that match, up to `max`.

        First fit by number keeps the hosts at the end of the list empty as long as possible, so that large requests
        fit. An amendment that changes neither `min` nor `max` keeps the number of hosts.
        """
        snapshot = search.snapshot
        matches = self.matching(request, search)
        free = snapshot.free(search.padded)
        held = snapshot.rows(pick.resource_number for pick in search.held)
        kept = held[(matches & free)[held]]
        if search.firm and (len(kept) < len(held) or len(held) > request.max):
            raise _in_use(len(held), len(kept), request)
        candidates = matches & snapshot.bookable() & free
        candidates[held] = False
        lacking = max(0, _wanted(request, search) - len(kept))
        chosen = np.concatenate([kept[: request.max], np.flatnonzero(candidates)[:lacking]])
        if len(chosen) < request.min:
            return _refusal(request, search, matches, free, len(kept) + int(candidates.sum()))
        return [Pick(int(number)) for number in snapshot.numbers[chosen]]


def _wanted(request: HostRequest, search: Search[HostRequest]) -> int:
    before = search.before
    if before is not None and (before.min, before.max) == (request.min, request.max):
        return max(len(search.held), request.min)
    return request.max


def _in_use(held: int, kept: int, request: HostRequest) -> InUseError:
    if held > request.max:
        message = f"The active reservation uses {held} hosts, so max cannot become {request.max}; end the lease."
        return InUseError(message, field="max")
    message = (
        f"{held - kept} of the {held} hosts in use cannot be kept: they do not match the new properties or are "
        "allocated to others in the new window. Ask for an earlier end, or for properties that they have."
    )
    return InUseError(message, field="end_date")


def _refusal(
    request: HostRequest, search: Search[HostRequest], matches: NDArray[np.bool_], free: NDArray[np.bool_], largest: int
) -> Refusal:
    snapshot = search.snapshot
    healthy = matches & snapshot.bookable()
    held = np.zeros(len(matches), np.bool_)
    held[snapshot.rows(pick.resource_number for pick in search.held)] = True
    return Refusal(
        resource_type=HOST,
        noun="hosts",
        asked=request.min,
        largest=largest,
        window=search.window,
        nearest=_nearest(request, search, healthy | (matches & held)),
        steps=(
            FilterCount("enrolled", int(snapshot.enrolled().sum())),
            FilterCount("matching", int(matches.sum())),
            FilterCount("healthy", int(healthy.sum())),
            FilterCount("free in the window", int((healthy & free).sum())),
        ),
    )


def _nearest(request: HostRequest, search: Search[HostRequest], able: NDArray[np.bool_]) -> Window | None:
    if search.explain < Explain.WINDOW:
        return None
    return earliest_free(
        search.snapshot,
        able,
        request.min,
        search.window.start,
        search.length,
        margin=search.margin,
        check=search.check,
    )
