"""Series of leases, from 1.2 on (idea 1, decision 0054)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.before_end import check_before_end
from leasehold.api.call import Reply
from leasehold.api.dates import to_record, to_wire
from leasehold.api.handlers.lease import added_to_all, asking_once, check_giving_back, check_giving_more
from leasehold.api.once import fingerprint, idempotency_key
from leasehold.api.paging import ListKeys
from leasehold.api.policies import lease as lease_rules
from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.purpose import new_purpose, purpose_of
from leasehold.api.route import CREATED, EVERY, GONE, V1_2, Noun
from leasehold.api.spans import ending_as_sent, named_as_sent, parse_window
from leasehold.api.strict import KEYS, check_reservation, check_reservations
from leasehold.api.versions import PURPOSES
from leasehold.api.views.shown import shown
from leasehold.features.series import use as many
from leasehold.features.series.bodies import OneSeries, SeriesAmendment, SeriesAnswer, SeriesCreation, SeriesList
from leasehold.features.series.model import SeriesChanges, SeriesDraft
from leasehold.leasing.callers_name import act_in_callers_name
from leasehold.leasing.requests import place_of
from leasehold.model.errors import InvalidDateError
from leasehold.model.terms.ending import OnEnd
from leasehold.model.terms.heal_policy import chosen
from leasehold.model.windows import Window

LISTED = ListKeys(texts=("name",), sorts=("created_at", "name", "updated_at"))

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.call import Call
    from leasehold.api.versions import Version
    from leasehold.features.series.bodies import OccurrenceAnswer, PlannedAnswer
    from leasehold.features.series.model import Granted, Occurrence, Series
    from leasehold.leasing.service import Service


def list_series(call: Call) -> Reply:
    """Show the series of the caller's project; an administrator may ask for those of `all_projects`.

    From 1.3 on in pages, by name, and sorted.
    """
    found = many.SERIES.page(call.service, call.listed_project(), LISTED.asked(call))
    granted = many.granted_of(call.service, found)
    return Reply({"series": [show_series(each, granted, call.version) for each in found]})


def create(call: Call, body: SeriesCreation) -> Reply:
    """Create a series: a lease for each occurrence of a rule; those that are refused are listed with the reason.

    With the same `Idempotency-Key` again, what was not decided is decided.
    """
    check_reservations(body.reservations, lambda each: call.service.types.installed(each.resource_type), call.version)
    for position, each in enumerate(body.reservations or ()):
        check_before_end(call.version, each.model_dump(), place_of(position))
    now = call.service.now()
    start, end = parse_window(body, version=call.version, now=now)
    if end <= start:
        message = "End date must be later than start date."
        raise InvalidDateError(message, field="end_date")
    draft = SeriesDraft(
        name=body.name,
        window=Window(start, end),
        rule=body.rule,
        time_zone=body.time_zone,
        reservations=tuple(each.model_dump() for each in body.reservations or ()),
        heal_policy=chosen(body.heal_policy),
        reminders=tuple(body.reminder_seconds) if isinstance(body.reminder_seconds, list) else None,
        purpose=purpose_of(call, body.purpose),
        use_disabled=call.may_use_disabled(call.caller),
        fingerprint=fingerprint(body),
    )
    check_giving_back(call, call.caller, draft.reservations)
    with asking_once(call) as service, named_as_sent(ending_as_sent(body)):
        made = many.make_series(service, call.caller, draft, idempotency_key(call), call.sight)
        return _reply(call, service, made)


def show(call: Call, series: Series) -> Reply:
    """Show one series."""
    return Reply({"series": _one(call, call.service, series)})


def amend(call: Call, series: Series, body: SeriesAmendment) -> Reply:
    """Amend each lease of a series that has not begun, and ask again for occurrences that were refused.

    What cannot be changed stays as it is, and is listed with the reason.
    """
    types = [each["resource_type"] for each in series.draft["reservations"]]
    for position, (sent, type_) in enumerate(zip(body.reservations or (), types, strict=False)):
        check_reservation(sent, ("reservations", position), call.service.types.installed(type_), KEYS, call.version)
        check_before_end(call.version, sent.model_dump(), place_of(position))
    now = call.service.now()
    changes = SeriesChanges(
        name=body.name,
        start=call.date(body.start_date, "start_date", now),
        end=call.date(body.end_date, "end_date", now),
        reservations=None if body.reservations is None else tuple(each.model_dump() for each in body.reservations),
        purpose=new_purpose(call, body.purpose),
        use_disabled=call.may_use_disabled(series),
    )
    giving = [each if each.get("on_end") == OnEnd.GIVE_BACK else None for each in series.draft["reservations"]]
    check_giving_more(call, series, zip(changes.reservations or (), giving, strict=False))
    with asking_once(call) as service:
        amended = many.amend_series(service, call.caller, series.id, changes, call.sight)
        return _reply(call, service, amended)


def delete(call: Call, series: Series) -> Reply:
    """Delete a series and all its leases; those that are active end."""
    many.delete_series(call.service, series.id)
    return Reply()


def _reply(call: Call, service: Service, series: Series) -> Reply:
    """Show a series that was granted. All is committed, so the answer needs no permit any more."""
    call.permit.needed = False
    for lease in many.pending_leases(service, series):
        act_in_callers_name(service, lease, call.token, call.caller.project_id)
    return Reply({"series": _one(call, service, series)})


def _one(call: Call, service: Service, series: Series) -> SeriesAnswer:
    """Return a series with what features add to the answer about all its leases."""
    answer = show_series(series, many.granted_of(service, [series]), call.version)
    more = added_to_all(call, series.lease_ids)
    if more:
        answer["together"] = dict(more)
    return answer


def show_series(series: Series, granted: Mapping[str, Granted], version: Version) -> SeriesAnswer:
    """Return a series; `granted` has those of its leases that are not deleted, by id."""
    purpose = series.purpose if version >= PURPOSES else None
    return shown(
        SeriesAnswer,
        series,
        **({} if purpose is None else {"purpose": purpose}),
        created_at=to_record(series.created_at) or "",
        updated_at=to_record(series.updated_at),
        occurrences=[_show_occurrence(each, granted) for each in series.occurrences],
    )


def _show_occurrence(each: Occurrence, granted: Mapping[str, Granted]) -> OccurrenceAnswer:
    lease, refusal = granted.get(each.lease_id or ""), each.refusal
    window = each.window if lease is None else lease.window
    return {
        **_dates(window),
        "planned": None if window == each.window else _dates(each.window),
        "lease_id": each.lease_id,
        "status": None if lease is None else lease.status.value,
        "refused": None
        if refusal is None
        else {"code": refusal.code, "error_message": refusal.message, "details": dict(refusal.details)},
    }


def _dates(window: Window) -> PlannedAnswer:
    return {"start_date": to_wire(window.start), "end_date": to_wire(window.end)}


_SERIES = Noun("series_id", "series", many.SERIES.get)
_ALL, _ONE = "/v1/series", "/v1/series/{series_id}"

GET = Rule(
    "leasehold:series:get",
    READER_OR_ADMIN,
    "Show the series of leases of a project; only administrators list those of all projects.",
)
POST = Rule("leasehold:series:post", MEMBER_OR_ADMIN, "Create a series of leases; blazar:leases:post is needed too.")
PUT = Rule("leasehold:series:put", MEMBER_OR_ADMIN, "Amend a series of leases; blazar:leases:put is needed too.")
DELETE = Rule(
    "leasehold:series:delete", MEMBER_OR_ADMIN, "Delete a series and its leases; blazar:leases:delete is needed too."
)


_GRANTS, _AMENDS = (POST, lease_rules.POST), (GET, PUT, lease_rules.PUT)
_KEY, _GIVES = ("Idempotency-Key",), (lease_rules.GIVE_BACK,)
_DELETES = (GET, DELETE, lease_rules.DELETE)
ROUTES = (
    V1_2("GET", _ALL, list_series, (GET,), None, SeriesList, query=EVERY, filters=LISTED.query),
    V1_2("POST", _ALL, create, _GRANTS, SeriesCreation, OneSeries, CREATED, headers=_KEY, within=_GIVES),
    V1_2("GET", _ONE, show, (GET,), None, OneSeries, noun=_SERIES),
    V1_2("PUT", _ONE, amend, _AMENDS, SeriesAmendment, OneSeries, noun=_SERIES, within=_GIVES),
    V1_2("DELETE", _ONE, delete, _DELETES, success=GONE, noun=_SERIES),
)
