"""What the models of requests that may name a lease template say of themselves, from 1.3 on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

LONGEST_WORD = 255

Template = Annotated[
    Annotated[str, Field(min_length=1, max_length=LONGEST_WORD)] | None,
    Field(description="From 1.3 on: the id or name of a lease template, whose keys count where the request has none"),
]


_Keys = Mapping[str, tuple[str, ...]]
_AS_IT_IS: _Keys = dict.fromkeys(("reservations", "heal_policy", "reminder_seconds", "purpose"), ())
_SERIES: _Keys = {**_AS_IT_IS, "duration_seconds": ("end_date",)}
_OFFER: _Keys = {**_SERIES, "events": ()}
_LEASE: _Keys = {
    **_OFFER,
    "duration_seconds": ("end_date", "open_ended"),
    "open_ended": ("end_date", "duration_seconds"),
    "type": (),
    "retries": ("type",),
    "retry_seconds": ("type",),
}
_SEARCH: _Keys = {"reservations": ("alternatives",), "duration_seconds": ()}
OF_SERIES, OF_OFFER, OF_LEASE, OF_SEARCH = ({"template": each} for each in (_SERIES, _OFFER, _LEASE, _SEARCH))
"""The keys that each kind of request takes from a template, and which others of the request displace each.

An end displaces another form of it, and a type how often and when another type tries.
"""
