"""Usage in hours, from 1.3 on: members see what their project has promised, held and used, administrators all."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.models.base import answer
from leasehold.api.policies.base import READER_OR_ADMIN, Rule
from leasehold.api.policies.host import GET as GET_HOSTS
from leasehold.api.reports import as_csv, past_window, query_word, reported_project
from leasehold.api.route import EVERY, V1_3, Parameter
from leasehold.features.usage.report import Part, report
from leasehold.features.usage.sums import Group
from leasehold.model.errors import ForbiddenError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.api.call import Call, Text
    from leasehold.features.usage.report import Report, Usage
    from leasehold.resource_types.registry import ResourceTypes

FORMATS: Final = ("json", "csv")
HOURS: Final = (
    *("promised", "held", "late", "active", "used", "idle"),
    *("no_show", "missing", "given_up", "lent"),
)
_PARTS: Final = tuple(each.name for each in fields(Part) if each.name != "resource_type")
_HOUR: Final = 3_600


class UsageRow(TypedDict):
    """The usage of a project, user, lease or resource, or of a day of UTC, and of a resource type; others are null.

    All but `refused`, which are requests, are hours times hosts, instances or addresses (`unit`). `promised` is the sum
    of `held`, `missing` and `given_up`; `held` that of `late`, before the start was done, and `active`. Of this was
    `used` when something of the project ran there, and `idle` otherwise; both only for the time in which somebody
    looked. `no_show` is what of that is of reservations that have never used anything. `lent` is what other projects
    held of the leases. Null is what is not known: by resource, user or lease, or because nobody looks.
    """

    resource_type: str | None
    unit: str | None
    project_id: str | None
    user_id: str | None
    lease_id: str | None
    resource: str | None
    day: str | None
    promised: float | None
    held: float
    late: float
    active: float
    used: float | None
    idle: float | None
    no_show: float | None
    missing: float | None
    given_up: float | None
    lent: float | None
    refused: int | None


UsageAnswer = TypedDict(
    "UsageAnswer",
    {"from": str, "to": str, "group_by": str, "precision_seconds": float | None, "rows": list[UsageRow]},
)
UsageAnswer.__doc__ = """What was promised, held and used in a window, which ends at the present at the latest.

`precision_seconds` is how often somebody looks at what is used, null if that is switched off.
"""
OneUsage = answer("OneUsage", "The answer about usage.", usage=UsageAnswer)


def show(call: Call) -> Reply:
    """Show how many hours of hosts, instances and addresses were promised, held, used and idle in [`from`, `to`).

    By default these are the last 30 days of the caller's project, by project and resource type. `group_by` is
    `project`, `user`, `resource`, `kind`, `lease` or `day`; `format` is `json` or `csv`. Administrators may ask for
    another `project_id`, or for `all_projects`. All is cut exactly at the borders: windows in a row add up.
    Who may not list hosts cannot ask by resource.
    """
    group, form = Group(query_word(call, "group_by", tuple(Group))), query_word(call, "format", FORMATS)
    if group is Group.RESOURCE and not call.sight.hosts:
        message = "Only those who may list hosts see usage by resource. Ask by project, user, kind, lease or day."
        raise ForbiddenError(message, field="group_by", details={"rule": GET_HOSTS.name})
    found = report(call.service, call.api.refusals, past_window(call), group, reported_project(call, "usage"))
    rows = [_row(call.service.types, part, usage) for part, usage in found.rows]
    if form == "csv":
        return Reply(_as_csv(found, rows))
    shown = {
        "from": found.window.start.isoformat(),
        "to": found.window.end.isoformat(),
        "group_by": group.value,
        "precision_seconds": found.precision,
        "rows": rows,
    }
    return Reply({"usage": shown})


def _row(types: ResourceTypes, part: Part, usage: Usage) -> UsageRow:
    hours = {name: _hours(getattr(usage, name)) for name in HOURS}
    named = {name: getattr(part, name) for name in _PARTS if name != "day"}
    row: Any = {
        "resource_type": part.resource_type or None,
        "unit": types.noun(part.resource_type) if part.resource_type else None,
        **named,
        "day": None if part.day is None else part.day.isoformat(),
        **hours,
        "refused": usage.refused,
    }
    return row  # type: ignore[no-any-return]  # mypy does not know the keys


def _hours(seconds: int | None) -> float | None:
    return None if seconds is None else seconds / _HOUR


def _as_csv(found: Report, rows: Sequence[UsageRow]) -> Text:
    """Return the rows as CSV, with a column for each key that can differ."""
    nothing = {name for name in _PARTS if all(row.get(name) is None for row in rows)}
    names = ["from", "to", *(name for name in UsageRow.__annotations__ if name not in nothing)]
    window = {"from": found.window.start.isoformat(), "to": found.window.end.isoformat()}
    return as_csv(names, ({**window, **row} for row in rows))


PATH: Final = "/v1/usage"
GET: Final = Rule("leasehold:usage:get", READER_OR_ADMIN, "Show what a project's leases have held and used, in hours.")
PARAMETERS: Final = {
    "group_by": Parameter(
        "query", "What a row is about", {"type": "string", "enum": list(Group), "default": "project"}
    ),
    "format": Parameter(
        "query", "The form of the answer", {"type": "string", "enum": list(FORMATS), "default": "json"}
    ),
    "project_id": Parameter("query", "For administrators: of this project", {"type": "string"}),
}
ROUTES = (
    V1_3("GET", PATH, show, (GET,), None, OneUsage, query=("from", "to", *PARAMETERS, *EVERY), parameters=PARAMETERS),
)
