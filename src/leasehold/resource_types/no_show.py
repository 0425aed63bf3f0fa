"""Read when a reservation releases what it does not use: a key of resource types with servers, from 1.2 on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from leasehold.model.errors import InvalidInputError
from leasehold.resource_types.fields import RequestBody, Size, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.conf.settings import LeaseSettings


class NoShowBody(RequestBody):
    """When a reservation releases what it does not use; from 1.2 on."""

    no_show_seconds: Annotated[
        Size | None,
        Field(
            description="So many seconds after the start, hosts on which the reservation has no server are released; "
            "its project is warned at half of the time. 0: never"
        ),
    ] = None


KEYS = frozenset(NoShowBody.model_fields)


def read_no_show(
    raw: Mapping[str, Any], before: timedelta, settings: LeaseSettings, *, gives_up: bool, noun: str
) -> timedelta:
    """Return after which time a reservation releases what it does not use, by the keys of a request.

    What it does not mention stays as `before`. Raises InvalidInputError for a time that is too short, and for a type
    of which nothing can be released.
    """
    if KEYS.isdisjoint(raw):
        return before
    if not gives_up:
        message = f"Reservations of {noun} keep what they do not use; leave no_show_seconds out."
        raise InvalidInputError(message, field="no_show_seconds")
    seconds = read(NoShowBody, raw).no_show_seconds
    if seconds is None:
        return before
    after, least = timedelta(seconds=seconds), settings.shortest_no_show
    if after and after < least:
        message = (
            f"The value of no_show_seconds is {seconds}, and this cloud asks for {least.total_seconds():.0f} at least "
            "(shortest_no_show_seconds), so that servers have time to boot; ask for more, or for 0, which means never."
        )
        raise InvalidInputError(message, field="no_show_seconds")
    return after
