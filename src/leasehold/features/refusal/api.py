"""How many requests were refused, and why, from 1.3 on (decision 0105)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.models.base import answer
from leasehold.api.policies.base import ADMIN, Rule
from leasehold.api.route import V1_3
from leasehold.api.views.shown import shown
from leasehold.features.refusal.store import read_refusals
from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from leasehold.api.call import Call


class RefusalCountAnswer(TypedDict):
    """How many requests were refused in one hour for one reason, by how many projects.

    `resource_type` is null where no resource was short. `missing` is how many more hosts, instances or addresses would
    have been enough for each of these requests by itself; 0 where none would have helped; 1000 stands for more as well.
    """

    hour: str
    operation: str
    code: str
    resource_type: str | None
    missing: int
    refused: int
    projects: int


RefusalList = answer("RefusalList", "The answer about refused requests.", refusals=list[RefusalCountAnswer])


_PATH: Final = "/v1/refusals"
GET: Final = Rule("leasehold:refusals:get", ADMIN, "Show how many requests of all projects were refused, and why.")
USUAL: Final = timedelta(days=30)
"""The length of the window if none is asked for."""
LONGEST: Final = timedelta(days=400)


def list_refusals(call: Call) -> Reply:
    """Show how many requests for leases were refused in each hour, by reason, and what was missing.

    The hours begin in the window [`from`, `to`): by default the last 30 days. Requests that waited or were only tried
    (`dry_run`), and occurrences of series, are not counted; what was counted within the last seconds may come later.
    """
    now = call.service.now()
    end = call.query_date("to", now) or now
    start = call.query_date("from", now) or end - USUAL
    if not timedelta(0) < end - start <= LONGEST:
        message = f"to has to be after from, by at most {LONGEST.days} days."
        raise InvalidInputError(message, field="to")
    found = read_refusals(call.api.refusals, start, end)
    return Reply(
        {"refusals": [shown(RefusalCountAnswer, each, resource_type=each.resource_type or None) for each in found]}
    )


ROUTES = (V1_3("GET", _PATH, list_refusals, (GET,), None, RefusalList, query=("from", "to")),)
