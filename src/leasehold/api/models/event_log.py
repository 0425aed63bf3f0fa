"""Formats of the event log, from 1.2 on."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict


class LogEventAnswer(TypedDict):
    """An event of a lease, a resource, an alarm or a server; `payload` is the state after it.

    `id` never changes, and is a cursor. `position` counts up by one through all events of all projects.
    """

    id: str
    position: int
    type: str
    time: str
    project_id: str | None
    lease_id: str | None
    resource_type: str | None
    resource_id: str | None
    payload: dict[str, Any]


class LogEventList(TypedDict):
    """The answer about events; `next` is the cursor to go on with."""

    events: list[LogEventAnswer]
    next: str
