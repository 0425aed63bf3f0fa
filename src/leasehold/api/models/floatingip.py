"""Formats of floating IPs (contract http-api §7)."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer
from leasehold.api.models.resource import SINCE_OF_RESTRICTION, Owner, Projects, unless_absent


class FloatingIpCreation(RequestModel):
    """The body of POST /v1/floatingips.

    From 1.3 on `projects` are those that alone may use it, null for all, and `owner` is the one that it belongs to.
    """

    floating_network_id: Annotated[str, Field(min_length=1, max_length=255)]
    floating_ip_address: Annotated[str, Field(min_length=1, max_length=64)]
    projects: Projects | None = Field(default=None, json_schema_extra=unless_absent)
    owner: Owner | None = Field(default=None, json_schema_extra=unless_absent)

    since = SINCE_OF_RESTRICTION


class FloatingIpAnswer(TypedDict):
    """A floating IP that can be leased."""

    id: str
    floating_network_id: str
    subnet_id: str
    floating_ip_address: str
    reservable: bool
    created_at: str | None
    updated_at: str | None
    disabled: NotRequired[bool]
    disabled_reason: NotRequired[str | None]
    projects: NotRequired[list[str] | None]
    owner: NotRequired[str | None]


OneFloatingIp = answer("OneFloatingIp", "The answer about one floating IP.", floatingip=FloatingIpAnswer)
FloatingIpList = answer("FloatingIpList", "The answer about floating IPs.", floatingips=list[FloatingIpAnswer])
