"""The query keys that say which leases a list shows, from 1.3 on (feature L2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from leasehold.api import dates
from leasehold.api.models.lease import LONGEST_NAME
from leasehold.model.errors import InvalidInputError
from leasehold.model.lease_filter import LeaseFilter
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from leasehold.api.call import Call

FILTERS: Final = ("name", "status", "ends_after", "starts_before")


def wanted_leases(call: Call) -> LeaseFilter:
    """Return which leases the query asks for; raises InvalidInputError with the key."""
    now, name, words = call.service.now(), call.query("name"), call.query("status")
    if name is not None and not (name.isprintable() and len(name) <= LONGEST_NAME):
        raise InvalidInputError(f"name has to be printable text of at most {LONGEST_NAME} characters.", field="name")
    known = {status.value: status for status in LeaseStatus}
    asked = [word.strip().upper() for word in (words or "").split(",") if word.strip()]
    if unknown := [word for word in asked if word not in known]:
        message = f"{unknown[0][:40]!r} is no status of a lease; these exist: {', '.join(known)}."
        raise InvalidInputError(message, field="status")
    ends_after, starts_before = (
        dates.parse_optional(call.query(key), version=call.version, now=now, field=key)
        for key in ("ends_after", "starts_before")
    )
    return LeaseFilter(name, frozenset(known[word] for word in asked), ends_after, starts_before)
