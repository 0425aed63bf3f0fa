"""Times and paths as the API writes and reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any


def read_time(text: str) -> datetime:
    """Return a time of an answer, aware and in UTC; one without a zone is in UTC. Raises ValueError for other text."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def write_time(moment: datetime) -> str:
    """Return an aware time in ISO 8601, in UTC and to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def said(**values: Any) -> dict[str, Any]:
    """Return the keys of a request without those that say nothing: None, and no members.

    Aware times are written as the API reads them, and durations in seconds.
    """
    return {key: _written(value) for key, value in values.items() if value is not None and value not in ([], ())}


def _written(value: Any) -> Any:
    if isinstance(value, timedelta):
        return int(value.total_seconds())
    return write_time(value) if isinstance(value, datetime) else value


def under(resource_type: str | None) -> str:
    """Return the path after `/v1` of the resources of a type; None means hosts, by their path of Blazar's API."""
    return "/os-hosts" if resource_type is None else f"/resources/{resource_type}"
