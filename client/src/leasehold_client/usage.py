"""Usage in hours: what was promised, held, used and idle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.transport import Calls
from leasehold_client.calls.wire import read_time, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

GROUPS = ("project", "user", "resource", "kind", "lease", "day")


@dataclass(frozen=True, slots=True)
class UsageRow(AnswerModel):
    """The usage of what the row names, of a resource type: hours times hosts or others; None is what is not known.

    `day` is a day of UTC as `2031-05-01`, and `refused` are requests.
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


@dataclass(frozen=True, slots=True)
class Usage(AnswerModel):
    """The usage of `[begin, until)`, and to how many seconds it is known what was used; None: nobody looks."""

    begin: datetime
    until: datetime
    group_by: str
    precision_seconds: float | None
    rows: tuple[UsageRow, ...]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Usage:
        begin, until = (read_time(values[key]) for key in ("from", "to"))
        return read_as(cls, values, begin=begin, until=until, rows=tuple(map(UsageRow.read, values["rows"])))


class Usages(Calls):
    """The usage of the own project; for administrators of others as well."""

    def show(
        self,
        start: datetime | None = None,
        end: datetime | None = None,
        *,
        group_by: str | None = None,
        project_id: str | None = None,
        all_projects: bool = False,
    ) -> Usage:
        """Return the usage from start to end; by default of the last 30 days, by project."""
        window = {"from": start, "to": end}
        more = said(group_by=group_by, project_id=project_id, all_projects=all_projects or None, **window)
        return Usage.read(self._transport.get("/usage", more)["usage"])
