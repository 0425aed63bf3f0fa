"""The format of what a lease held at a moment, from 1.3 on."""

from __future__ import annotations

from typing_extensions import TypedDict


class HeldThen(TypedDict):
    """What a reservation held at a moment: `slots` times `demand` of a resource, or all of it if `demand` is null.

    `name` is null for callers who may not list hosts, unless the type is public.
    """

    reservation_id: str
    resource_type: str
    name: str | None
    slots: int
    demand: dict[str, int] | None
