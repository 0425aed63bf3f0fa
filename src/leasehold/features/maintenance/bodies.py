"""Formats of maintenance windows, from 1.2 on."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer
from leasehold.api.models.lease import (
    INSTEAD_OF_END,
    LASTING,
    SINCE_OF_WINDOW,
    Date,
    Duration,
)
from leasehold.api.models.name import Name  # noqa: TC001 - read at run time
from leasehold.features.maintenance.model import OnConflict

MOST_HOSTS = 1_000
_WORDS = [each.value for each in OnConflict]


def _on_conflict(word: str) -> str:
    if word not in _WORDS:
        message = f"it has to be {' or '.join(map(repr, _WORDS))}"
        raise ValueError(message)
    return word


class MaintenanceCreation(RequestModel):
    """The body of POST /v1/maintenances; `hosts` are ids of hosts."""

    model_config = LASTING
    name: Name
    start_date: Date
    end_date: Date
    duration_seconds: Duration = None
    hosts: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=36)]], Field(min_length=1, max_length=MOST_HOSTS)
    ]
    on_conflict: Annotated[str, AfterValidator(_on_conflict), WithJsonSchema({"type": "string", "enum": _WORDS})] = (
        OnConflict.REFUSE.value
    )

    since = SINCE_OF_WINDOW
    instead = INSTEAD_OF_END


class MaintenanceAnswer(TypedDict):
    """A maintenance window: its lease has the same id. `moved` and `warned` are ids of other leases."""

    id: str
    name: str
    project_id: str
    user_id: str
    start_date: str
    end_date: str
    status: str
    hosts: list[str]
    moved: list[str]
    warned: list[str]
    created_at: str | None
    updated_at: str | None


OneMaintenance = answer("OneMaintenance", "The answer about one window.", maintenance=MaintenanceAnswer)
MaintenanceList = answer("MaintenanceList", "The answer about windows.", maintenances=list[MaintenanceAnswer])
