"""Formats of what a lease has, from 1.2 on."""

from __future__ import annotations

from typing import Any, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from leasehold.api.models.base import answer


@with_config(ConfigDict(extra="forbid"))
class HoldingAnswer(TypedDict):
    """A resource of a reservation: `slots` times `demand` of it, or the whole if `demand` is null.

    `id` and `name` are null for callers who may not list hosts, unless the type is public. `resource_type` is the one
    that the resource is enrolled as. `left`: the reservation vacated it, and may still have servers on it.
    `substitute`: healing chose it while the reservation was active. The dates are those of this resource. Before the
    start, while another resource may still take its place, `health` is null, and capacity, attributes and properties
    are empty for callers who may not list hosts; all slots of a reservation are then in one answer. From 1.3 on,
    `expected_at` says when the cloud is expected to have it: the operators have promised what is not there yet; null
    of what is there.
    """

    id: str | None
    name: str | None
    resource_type: str
    health: str | None
    left: bool
    substitute: bool
    slots: int
    demand: dict[str, int] | None
    start_date: str
    end_date: str
    capacity: dict[str, int]
    attributes: dict[str, Any]
    properties: dict[str, str]
    expected_at: NotRequired[str | None]


class HolderAnswer(TypedDict):
    """A reservation with the resources that it has, none if it has been given none or has released all."""

    reservation_id: str
    resource_type: str
    resources: list[HoldingAnswer]


HolderList = answer("HolderList", "The answer about what a lease has.", reservations=list[HolderAnswer])


class HeldThen(TypedDict):
    """What a reservation held at a moment: `slots` times `demand` of a resource, or all of it if `demand` is null.

    `name` is null for callers who may not list hosts, unless the type is public.
    """

    reservation_id: str
    resource_type: str
    name: str | None
    slots: int
    demand: dict[str, int] | None
