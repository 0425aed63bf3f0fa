"""What a reservation of devices asks for. All of it is pure: no file, no network, no clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.resource_types.fields import Amount, ExpressionText, RequestBody, read
from leasehold.resource_types.whole import WholeKind

if TYPE_CHECKING:
    from collections.abc import Mapping


class DeviceBody(RequestBody):
    """`amount` devices that match an expression, such as '["==", "$model", "zcu102"]'."""

    amount: Amount
    resource_properties: ExpressionText = ""


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """The parsed `DeviceBody`."""

    amount: int
    resource_properties: str = ""


class DeviceKind(WholeKind[DeviceRequest]):
    """Devices, each allocated as a whole, in a pool of their own."""

    name = "site:device"
    pool = "devices"
    noun = "devices"
    singular = "device"
    most_field = "amount"
    schema = DeviceBody
    request_type = DeviceRequest

    def parse(self, raw: Mapping[str, Any]) -> DeviceRequest:
        """Read a request; raises InvalidInputError with the field's name."""
        return DeviceRequest(**read(DeviceBody, raw).model_dump())

    def expressions(self, request: DeviceRequest) -> Mapping[str, str]:
        """Return the expression that the devices have to match."""
        return {"resource_properties": request.resource_properties}
