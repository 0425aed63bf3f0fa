"""Formats of planned capacity, from 1.3 on."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - read at run time
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer, one_of
from leasehold.api.models.lease import Date  # noqa: TC001 - read at run time
from leasehold.api.models.name import Name  # noqa: TC001 - read at run time
from leasehold.leasing.maintenance.model import OnConflict
from leasehold.resource_types.fields import MOST, ExpressionText

MOST_HOSTS = 1_000
WORDS = [each.value for each in OnConflict]
End = Annotated[str | None, Field(description="When it ends; null: never")]
Hosts = Annotated[list[Annotated[str, Field(min_length=1, max_length=255)]], Field(min_length=1, max_length=MOST_HOSTS)]
Size = Annotated[int, Field(ge=0, le=MOST)]
Amount = Annotated[int | None, Field(ge=1, le=MOST_HOSTS)]
Percent = Annotated[int | None, Field(ge=1, le=100)]


def _printable(names: list[str]) -> list[str]:
    wrong = next((each for each in names if not each.isprintable() or each.strip() != each), None)
    if wrong is not None:
        message = f"{wrong[:40]!r} is no name of a host: leave blanks around it and control characters out"
        raise ValueError(message)
    if len(set(names)) < len(names):
        message = "it names a host twice"
        raise ValueError(message)
    return names


class IncreaseCreation(RequestModel):
    """The body of POST /v1/capacity/increases: hosts that the cloud will have, by the names of their hypervisors.

    They are there from `start_date` on, until `end_date` if that is given. With `promise` leases may have them before
    they are there. All have the same size, and the same `properties`.
    """

    name: Name
    start_date: Date
    end_date: End = None
    promise: bool = False
    hosts: Annotated[Hosts, AfterValidator(_printable)]
    vcpus: Annotated[int, Field(ge=1, le=MOST)]
    memory_mb: Annotated[int, Field(ge=1, le=MOST)]
    local_gb: Size = 0
    availability_zone: Annotated[str, Field(max_length=255)] = ""
    traits: Annotated[Sequence[Annotated[str, Field(pattern=r"^[A-Z0-9_]{1,255}$")]], Field(max_length=100)] = ()
    properties: Annotated[dict[str, Any], Field(default_factory=dict)]


class DecreaseCreation(RequestModel):
    """The body of POST /v1/capacity/decreases: hosts that go at `start_date`, by their ids.

    They go for ever unless `end_date` is given; `on_conflict` says what becomes of leases that have them then.
    """

    name: Name
    start_date: Date
    end_date: End = None
    hosts: Hosts
    on_conflict: Annotated[str, AfterValidator(one_of(WORDS)), WithJsonSchema({"type": "string", "enum": WORDS})] = (
        OnConflict.REFUSE.value
    )


class ReserveCreation(RequestModel):
    """The body of POST /v1/capacity/reserves: so many hosts, or so many of a hundred that match, held back."""

    name: Name
    start_date: Date = "now"
    end_date: End = None
    resource_properties: ExpressionText = ""
    amount: Amount = None
    percent: Percent = None


class CapacityAmendment(RequestModel):
    """The body of PUT /v1/capacity/changes/{change_id}: the date or the promise of an increase, or a reserve's size."""

    start_date: Annotated[str | None, Field(description="When the hosts that are not there yet come")] = None
    promise: bool | None = None
    amount: Amount = None
    percent: Percent = None


class Arrival(RequestModel):
    """The body of POST /v1/capacity/changes/{change_id}/arrived: by planned names the names that the cloud has now.

    Without `hosts` all that are not there yet are looked for by their planned names.
    """

    hosts: Annotated[
        dict[str, Annotated[str, Field(min_length=1, max_length=255)]],
        Field(max_length=MOST_HOSTS, default_factory=dict),
    ]


class PlannedHostAnswer(TypedDict):
    """A host of an increase; `failure` says why it is not enrolled although the cloud was asked for it."""

    id: str
    name: str
    arrived: bool
    failure: str | None


class CapacityChangeAnswer(TypedDict):
    """A change of capacity: of the `kind` increase, decrease or reserve.

    `first_date` is the date that it had first, and `delays` how often it was put off. `state` is planned, active, over,
    or overdue: hosts are not there although they should be. `hosts` are those of an increase, and `held` the ids of
    those that are taken away or held back. `promised` are leases with hosts that are not there yet; `moved` got others
    when hosts were taken away, and `warned` were told that they have them.
    """

    id: str
    kind: str
    name: str
    project_id: str
    user_id: str
    start_date: str
    end_date: str | None
    first_date: str
    delays: int
    state: str
    promise: bool
    amount: int | None
    percent: int | None
    resource_properties: str
    hosts: list[PlannedHostAnswer]
    held: list[str]
    promised: list[str]
    moved: list[str]
    warned: list[str]
    created_at: str | None
    updated_at: str | None


OneCapacityChange = answer("OneCapacityChange", "The answer about one change of capacity.", change=CapacityChangeAnswer)
CapacityChangeList = answer("CapacityChangeList", "The answer about all changes.", changes=list[CapacityChangeAnswer])
