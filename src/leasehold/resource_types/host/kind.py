"""The kind of `physical:host`: whole compute hosts for one project (contract resources §2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from leasehold.model.errors import InvalidInputError
from leasehold.model.resource import HOST
from leasehold.model.terms.end_action import DEFAULT
from leasehold.resource_types.ending import BeforeEndOfHosts, check_fit
from leasehold.resource_types.fields import Amount, ExpressionText, read
from leasehold.resource_types.layout import LaidOut, Layout, in_store
from leasehold.resource_types.slots.hosts import OfHosts
from leasehold.resource_types.whole import WholeKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.terms.ending import Ending


class HostBody(LaidOut):
    """Between `min` and `max` hosts that match both expressions, and lie together or apart."""

    min: Amount
    max: Amount
    hypervisor_properties: ExpressionText
    resource_properties: ExpressionText
    before_end: BeforeEndOfHosts = DEFAULT


@dataclass(frozen=True, slots=True)
class HostRequest:
    """The parsed `HostBody`."""

    min: int
    max: int
    hypervisor_properties: str
    resource_properties: str
    before_end: str = DEFAULT
    together: str | None = None
    apart: str | None = None


class HostKind(OfHosts, WholeKind[HostRequest]):
    """Hosts, each allocated as a whole."""

    name = HOST
    noun = "hosts"
    id_name = "host_id"
    counts = frozenset({"min", "max"})
    unconditional: ClassVar[Mapping[str, Any]] = {"hypervisor_properties": "", "resource_properties": ""}
    whole = "hosts"
    most_field = "max"
    schema = HostBody
    request_type = HostRequest

    def parse(self, raw: Mapping[str, Any]) -> HostRequest:
        """Read a request; raises InvalidInputError if `max` is less than `min`."""
        request = HostRequest(**read(HostBody, raw).model_dump())
        if request.max < request.min:
            message = f"The value of max ({request.max}) must not be less than min ({request.min})."
            raise InvalidInputError(message, field="max")
        self.layout(request).check()
        return request

    def store(self, request: HostRequest) -> dict[str, Any]:
        """Return the fields as JSON values; those of no layout are absent."""
        return in_store(super().store(request))

    def layout(self, request: HostRequest) -> Layout:
        """Return how the hosts lie to each other."""
        return Layout(request.together, request.apart)

    def check_ending(self, request: HostRequest, ending: Ending) -> None:
        """Raise InvalidInputError for an end action that a reservation which ends so cannot have."""
        check_fit(request.before_end, ending)

    def amount(self, request: HostRequest) -> int:
        """Return `max`."""
        return request.max

    def least(self, request: HostRequest) -> int:
        """Return `min`."""
        return request.min

    def exactly(self, request: HostRequest, amount: int) -> HostRequest:
        """Return the request with `min` and `max` set to this amount."""
        return replace(request, min=amount, max=amount)

    def expressions(self, request: HostRequest) -> Mapping[str, str]:
        """Return both expressions, and those of the layout; they share one namespace."""
        return {
            "hypervisor_properties": request.hypervisor_properties,
            "resource_properties": request.resource_properties,
            **self.layout(request).expressions(),
        }
