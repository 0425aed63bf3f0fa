"""The query keys that say which leases a list shows, from 1.3 on (feature L2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from leasehold.api.models.name import LONGEST_NAME, LONGEST_PURPOSE
from leasehold.api.paging import asked_page, asked_sort, asked_words
from leasehold.api.policies import lease as lease_rules
from leasehold.api.versions import FILTERS as FILTERED
from leasehold.api.versions import PAGES
from leasehold.model.errors import InvalidInputError
from leasehold.model.lease_filter import LeaseFilter
from leasehold.model.paging import LEASE_SORTS
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from typing import Any

    from leasehold.api.call import Call

FILTERS: Final = ("name", "status", "ends_after", "starts_before", "sort")
DELETED, PURPOSE = "deleted", "purpose"
"""The query keys that maintenance windows do not have: deleted leases, and what leases are for."""


def asked_part(call: Call) -> dict[str, Any]:
    """Return the part of a list of leases that the query asks for, as arguments of `queries.each_lease`.

    Raises InvalidInputError with the key. Pages are from 1.1 on, filters and sorting from 1.3 on.
    """
    part: dict[str, Any] = {}
    if call.version >= PAGES:
        part["limit"], part["marker"] = asked_page(call)
    if call.version >= FILTERED:
        part["wanted"] = replace(wanted_leases(call), deleted=asks_deleted(call))
        sort = asked_sort(call, LEASE_SORTS)
        part |= {} if sort is None else {"sort": sort}
    return part


def asks_deleted(call: Call) -> bool:
    """Say whether the query asks for the deleted leases; raises InvalidInputError and ForbiddenError."""
    wanted = bool(call.query_switch(DELETED))
    if wanted:
        call.api.policies.require(lease_rules.GET_DELETED, call.caller, call.caller)
    return wanted


def wanted_leases(call: Call) -> LeaseFilter:
    """Return which leases the query asks for; raises InvalidInputError with the key."""
    now, name, purpose = call.service.now(), _text(call, "name", LONGEST_NAME), _text(call, PURPOSE, LONGEST_PURPOSE)
    statuses = asked_words(call, "status", [status.value for status in LeaseStatus], "status of a lease")
    ends_after, starts_before = (call.query_date(key, now) for key in ("ends_after", "starts_before"))
    return LeaseFilter(name, frozenset(map(LeaseStatus, statuses)), ends_after, starts_before, purpose=purpose)


def _text(call: Call, key: str, longest: int) -> str | None:
    text = call.query(key)
    if text is not None and not (text.isprintable() and len(text) <= longest):
        raise InvalidInputError(f"{key} has to be printable text of at most {longest} characters.", field=key)
    return text
