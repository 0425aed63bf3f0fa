"""What the models of requests that may name a lease template say of themselves, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from leasehold.api.models.base import RequestModel

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_WORD = 255

Template = Annotated[
    Annotated[str, Field(min_length=1, max_length=LONGEST_WORD)] | None,
    Field(description="From 1.3 on: the id or name of a lease template, whose keys count where the request has none"),
]


class TemplateName(RequestModel):
    """The key that names a template."""

    template: Template = None


_AS_IT_IS: Mapping[str, tuple[str, ...]] = dict.fromkeys(("reservations", "heal_policy", "reminder_seconds"), ())
OF_SERIES: Mapping[str, tuple[str, ...]] = {**_AS_IT_IS, "duration_seconds": ("end_date",)}
OF_OFFER: Mapping[str, tuple[str, ...]] = {**OF_SERIES, "events": ()}
OF_LEASE: Mapping[str, tuple[str, ...]] = {
    **OF_OFFER,
    "duration_seconds": ("end_date", "open_ended"),
    "open_ended": ("end_date", "duration_seconds"),
    "type": (),
    "retries": ("type",),
    "retry_seconds": ("type",),
}
OF_SEARCH: Mapping[str, tuple[str, ...]] = {"reservations": ("alternatives",), "duration_seconds": ()}
"""The keys that each kind of request takes from a template, and which others of the request displace each.

An end displaces another form of it, and a type how often and when another type tries.
"""
