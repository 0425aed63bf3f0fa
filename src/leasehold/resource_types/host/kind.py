"""The kind of `physical:host`: whole compute hosts for one project (contract resources §2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, WithJsonSchema

from leasehold.model.end_action import DEFAULT, EndAction
from leasehold.model.errors import InvalidInputError
from leasehold.model.resource import HOST
from leasehold.resource_types.fields import Amount, ExpressionText, RequestBody, read
from leasehold.resource_types.slots.hosts import OfHosts
from leasehold.resource_types.whole import WholeKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.ending import Ending


def _end_action(text: str) -> str:
    if text != DEFAULT and text not in set(EndAction):
        message = f"it has to be {' or '.join(repr(word) for word in _END_ACTIONS)}"
        raise ValueError(message)
    return text


_END_ACTIONS = [*(each.value for each in EndAction), DEFAULT]
EndActionText = Annotated[str, AfterValidator(_end_action), WithJsonSchema({"type": "string", "enum": _END_ACTIONS})]


class HostBody(RequestBody):
    """Between `min` and `max` hosts that match both expressions."""

    min: Amount
    max: Amount
    hypervisor_properties: ExpressionText
    resource_properties: ExpressionText
    before_end: EndActionText = DEFAULT


@dataclass(frozen=True, slots=True)
class HostRequest:
    """The parsed `HostBody`."""

    min: int
    max: int
    hypervisor_properties: str
    resource_properties: str
    before_end: str = DEFAULT


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
        return request

    def check_ending(self, request: HostRequest, ending: Ending) -> None:
        """Refuse to shelve servers that are to stay on their hosts."""
        if ending.gives_back and request.before_end == EndAction.SHELVE:
            message = (
                "With on_end 'give_back' servers stay on their hosts and are not shelved: leave on_end out, or ask for "
                "another before_end."
            )
            raise InvalidInputError(message, field="before_end")

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
        """Return both expressions, which share one namespace."""
        return {
            "hypervisor_properties": request.hypervisor_properties,
            "resource_properties": request.resource_properties,
        }
