"""Planned capacity in the API, from 1.3 on (feature G5): for administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api import dates
from leasehold.api.call import Reply
from leasehold.api.dates import to_record, to_wire, to_wire_or_none
from leasehold.api.handlers.host import DISCOVERED
from leasehold.api.models.base import one_of
from leasehold.api.models.property import check_reserved, checked_properties
from leasehold.api.policies.base import ADMIN, Rule
from leasehold.api.route import CREATED, GONE, V1_3, Parameter
from leasehold.api.views.shown import shown
from leasehold.features.planned_capacity import use
from leasehold.features.planned_capacity.bodies import (
    WORDS,
    Arrival,
    CapacityAmendment,
    CapacityChangeAnswer,
    CapacityChangeList,
    DecreaseCreation,
    IncreaseCreation,
    OneCapacityChange,
    ReserveCreation,
)
from leasehold.features.planned_capacity.increase import arrive, plan_increase
from leasehold.features.planned_capacity.model import Amendment, DecreaseDraft, IncreaseDraft, ReserveDraft
from leasehold.leasing.maintenance.model import OnConflict
from leasehold.model.errors import InvalidInputError
from leasehold.model.refused import Operation

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.api.call import Call
    from leasehold.features.planned_capacity.model import ChangeNow


def list_changes(call: Call) -> Reply:
    """Show all changes of capacity by their date, with how far each is."""
    return Reply({"changes": list(map(show_change, use.list_changes(call.service)))})


def show(call: Call, change_id: str) -> Reply:
    """Show one change of capacity."""
    return Reply({"change": show_change(use.get_change(call.service, change_id))})


def increase(call: Call, body: IncreaseCreation) -> Reply:
    """Plan hosts that the cloud will have from a date on; leases are promised on them if that is said."""
    start, end = _dates(call, body)
    check_reserved(body.properties, DISCOVERED)
    draft = IncreaseDraft(
        name=body.name,
        start=start,
        end=end,
        promise=body.promise,
        hosts=tuple(body.hosts),
        size={"VCPU": body.vcpus, "MEMORY_MB": body.memory_mb, "DISK_GB": body.local_gb},
        availability_zone=body.availability_zone,
        traits=frozenset(body.traits),
        properties=checked_properties(body.properties),
    )
    return show(call, plan_increase(call.service, call.caller, draft))


def decrease(call: Call, body: DecreaseCreation) -> Reply:
    """Take hosts away from a date on; `on_conflict` says what becomes of leases that have them then."""
    start, end = _dates(call, body)
    draft = DecreaseDraft(body.name, start, end, tuple(body.hosts), OnConflict(body.on_conflict))
    return show(call, use.make_decrease(call.service, call.caller, draft))


def reserve(call: Call, body: ReserveCreation) -> Reply:
    """Hold hosts back from a date on; what is promised stays, and hosts that become free are held then."""
    start, end = _dates(call, body)
    draft = ReserveDraft(body.name, start, end, body.resource_properties, body.amount, body.percent)
    return show(call, use.make_reserve(call.service, call.caller, draft))


def amend(call: Call, body: CapacityAmendment, change_id: str) -> Reply:
    """Put hosts off that are not there yet, say whether leases are promised on them, or change a reserve's size.

    Leases that begin before the new date get other hosts; owners are told.
    """
    start = call.date(body.start_date, "start_date")
    use.amend_change(call.service, change_id, Amendment(start, body.promise, body.amount, body.percent))
    return show(call, change_id)


def arrived(call: Call, body: Arrival, change_id: str) -> Reply:
    """Say that planned hosts are there: each is enrolled, and keeps what is promised on it."""
    arrive(call.service, change_id, body.hosts)
    return show(call, change_id)


def delete(call: Call, change_id: str) -> Reply:
    """Delete a change: planned hosts that are not there are removed, and what is held is free again.

    While leases are promised on planned hosts this is refused, unless `on_conflict` is `force`.
    """
    word = call.query("on_conflict") or OnConflict.REFUSE.value
    try:
        one_of(WORDS)(word)
    except ValueError as error:
        raise InvalidInputError(f"The value of on_conflict is wrong: {error}.", field="on_conflict") from None
    use.delete_change(call.service, change_id, OnConflict(word))
    return Reply()


def _dates(call: Call, body: IncreaseCreation | DecreaseCreation | ReserveCreation) -> tuple[datetime, datetime | None]:
    now = call.service.now()
    start = dates.parse(body.start_date, version=call.version, now=now, field="start_date")
    return start, call.date(body.end_date, "end_date", now)


def show_change(found: ChangeNow) -> CapacityChangeAnswer:
    """Return a change as the API shows it."""
    change = found.change
    requests = [each.reservations[0].request for each in found.holds]
    lists = {key: [one for each in requests for one in each.get(key, ())] for key in ("hosts", "moved", "warned")}
    return shown(
        CapacityChangeAnswer,
        change,
        start_date=to_wire(change.starts_at),
        end_date=to_wire_or_none(change.ends_at),
        first_date=to_wire(change.first_at),
        state=found.state,
        hosts=[
            {"id": each.resource.id, "name": each.resource.reference, "arrived": each.arrived, "failure": each.failure}
            for each in found.hosts
        ],
        held=lists["hosts"],
        promised=list(found.promised),
        moved=lists["moved"],
        warned=lists["warned"],
        created_at=to_record(change.created_at),
        updated_at=to_record(change.updated_at),
    )


_ALL, _ONE = "/v1/capacity/changes", "/v1/capacity/changes/{change_id}"
GET = Rule("leasehold:capacity:get", ADMIN, "Show planned changes of capacity.")
POST = Rule("leasehold:capacity:post", ADMIN, "Plan hosts, take hosts away from a date on, and hold hosts back.")
PUT = Rule("leasehold:capacity:put", ADMIN, "Amend a change of capacity, and say that planned hosts have arrived.")
DELETE = Rule("leasehold:capacity:delete", ADMIN, "Delete a change of capacity, or release a reserve.")
PARAMETERS = {
    "on_conflict": Parameter(
        "query", "What becomes of leases with hosts that are not there yet", {"type": "string", "enum": WORDS}
    )
}

ROUTES = (
    V1_3(
        "POST",
        "/v1/capacity/increases",
        increase,
        (POST,),
        IncreaseCreation,
        OneCapacityChange,
        CREATED,
    ),
    V1_3(
        "POST",
        "/v1/capacity/decreases",
        decrease,
        (POST,),
        DecreaseCreation,
        OneCapacityChange,
        CREATED,
        counts=Operation.MAINTENANCE,
    ),
    V1_3("POST", "/v1/capacity/reserves", reserve, (POST,), ReserveCreation, OneCapacityChange, CREATED),
    V1_3("GET", _ALL, list_changes, (GET,), None, CapacityChangeList),
    V1_3("GET", _ONE, show, (GET,), None, OneCapacityChange),
    V1_3("PUT", _ONE, amend, (PUT,), CapacityAmendment, OneCapacityChange),
    V1_3("DELETE", _ONE, delete, (DELETE,), success=GONE, query=("on_conflict",), parameters=PARAMETERS),
    V1_3("POST", f"{_ONE}/arrived", arrived, (PUT,), Arrival, OneCapacityChange),
)
