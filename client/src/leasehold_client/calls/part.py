"""Which part of a list is asked for, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from leasehold_client.calls.wire import write_time

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = str | bool | datetime


@dataclass(frozen=True, slots=True)
class ListPart:
    """At most `limit` items after the one with the id `marker`, by `sort`, such as `name` or `end_date:desc`.

    `filters` are by the API's keys: a text that an item shows, or several by commas; a truth value; an aware time.
    """

    limit: int | None = None
    marker: str | None = None
    sort: str | None = None
    filters: Mapping[str, Value] = field(default_factory=dict)

    @property
    def ordered(self) -> bool:
        """Whether the order of the list is what the request is about."""
        return any(each is not None for each in (self.limit, self.marker, self.sort))

    def query(self) -> dict[str, str]:
        """Return it as the API reads it."""
        paging = {"limit": self.limit, "marker": self.marker, "sort": self.sort}
        asked = {key: str(value) for key, value in paging.items() if value is not None}
        return asked | {key: _word(value) for key, value in self.filters.items()}


ALL = ListPart()
"""The whole list, in the order of the service."""


def _word(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return write_time(value) if isinstance(value, datetime) else value
