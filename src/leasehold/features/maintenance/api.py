"""Maintenance windows, from 1.2 on (feature C7, decision 0044)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.dates import to_record, to_wire
from leasehold.api.lease_filter import FILTERS as LEASE_KEYS
from leasehold.api.lease_filter import asked_part
from leasehold.api.listing import Listing
from leasehold.api.models.base import RequestModel, answer, one_of
from leasehold.api.models.lease import INSTEAD_OF_END, LASTING, SINCE_OF_WINDOW, Date, Duration
from leasehold.api.models.name import Name  # noqa: TC001 - read at run time
from leasehold.api.policies.base import ADMIN, Rule
from leasehold.api.policies.lease import CHANGE_MAINTENANCE
from leasehold.api.route import CREATED, GONE, V1_2
from leasehold.api.spans import ending_as_sent, named_as_sent, parse_window
from leasehold.api.versions import FILTERS
from leasehold.api.views.shown import shown
from leasehold.leasing.maintenance import use as windows
from leasehold.leasing.maintenance.model import MaintenanceDraft, OnConflict
from leasehold.leasing.reading import queries
from leasehold.model.refused import Operation
from leasehold.model.resource import MAINTENANCE

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.model.lease import Lease

MOST_HOSTS = 1_000
_WORDS = [each.value for each in OnConflict]


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
    on_conflict: Annotated[str, AfterValidator(one_of(_WORDS)), WithJsonSchema({"type": "string", "enum": _WORDS})] = (
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


def list_maintenances(call: Call) -> Reply:
    """Show all maintenance windows; from 1.3 on in pages, by name, status and time, and sorted, as leases are."""
    part = asked_part(call) if call.version >= FILTERS else {}
    found = queries.each_lease(call.service, None, resource_type=MAINTENANCE, **part)
    return Reply(Listing("maintenances", map(show_maintenance, found)))


def show(call: Call, maintenance_id: str) -> Reply:
    """Show one maintenance window."""
    return Reply({"maintenance": show_maintenance(windows.get_maintenance(call.service, maintenance_id))})


def create(call: Call, body: MaintenanceCreation) -> Reply:
    """Make a maintenance window: its hosts are promised to nobody else; `on_conflict` says what becomes of leases."""
    now = call.service.now()
    start, end = parse_window(body, version=call.version, now=now)
    draft = MaintenanceDraft(
        name=body.name, start=start, end=end, hosts=tuple(body.hosts), on_conflict=OnConflict(body.on_conflict)
    )
    with named_as_sent(ending_as_sent(body)):
        made = windows.make_maintenance(call.service, call.caller, draft)
    return Reply({"maintenance": show_maintenance(made)})


def delete(call: Call, maintenance_id: str) -> Reply:
    """Delete a maintenance window; the leases that were moved stay where they are."""
    windows.delete_maintenance(call.service, maintenance_id)
    return Reply()


def show_maintenance(lease: Lease) -> MaintenanceAnswer:
    """Return a window by its lease."""
    request = windows.request_of(lease)
    return shown(
        MaintenanceAnswer,
        lease,
        start_date=to_wire(lease.window.start),
        end_date=to_wire(lease.window.end),
        **{key: list(getattr(request, key)) for key in ("hosts", "moved", "warned")},
        created_at=to_record(lease.created_at),
        updated_at=to_record(lease.updated_at),
    )


_ALL, _ONE = "/v1/maintenances", "/v1/maintenances/{maintenance_id}"

GET = Rule("leasehold:maintenances:get", ADMIN, "List maintenance windows, or show one.")
POST = Rule("leasehold:maintenances:post", ADMIN, "Make a maintenance window, and move the leases on its hosts.")


ROUTES = (
    V1_2("GET", _ALL, list_maintenances, (GET,), None, MaintenanceList, filters=("limit", "marker", *LEASE_KEYS)),
    V1_2("POST", _ALL, create, (POST,), MaintenanceCreation, OneMaintenance, CREATED, counts=Operation.MAINTENANCE),
    V1_2("GET", _ONE, show, (GET,), None, OneMaintenance),
    V1_2("DELETE", _ONE, delete, (CHANGE_MAINTENANCE,), success=GONE),
)
