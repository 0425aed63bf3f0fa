"""Capacity alarms in the API, from 1.2 on (feature D6, decision 0048)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from leasehold.api import strict
from leasehold.api.call import Reply
from leasehold.api.handlers.lease import asking_once
from leasehold.api.models.base import TEN_YEARS, RequestModel, answer
from leasehold.api.models.lease import OpenObject
from leasehold.api.models.name import OptionalName  # noqa: TC001 - read at run time
from leasehold.api.paging import ListKeys
from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.route import CREATED, EVERY, GONE, V1_2, Noun
from leasehold.api.views.shown import shown
from leasehold.features.alarm import use as alarms
from leasehold.features.alarm.model import AlarmDraft
from leasehold.resource_types.fields import MOST

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.alarm.model import Alarm

HOUR = 3_600


class WatchedReservation(OpenObject):
    """A reservation as in POST /v1/leases: its resource type reads the other keys.

    The keys that say how many are asked for (`min` and `max`, or `amount`) may be left out, and have no effect.
    """

    resource_type: Annotated[str, Field(min_length=1, max_length=66)]


class AlarmCreation(RequestModel):
    """The body of POST /v1/alarms: of what there has to be enough, and how much that is."""

    reservation: WatchedReservation
    below: Annotated[int, Field(ge=1, le=MOST, description="Low while fewer than these could be leased")]
    duration: Annotated[
        int, Field(ge=1, le=TEN_YEARS, description="Seconds for which they could be leased from now on")
    ] = HOUR
    name: OptionalName = ""


@with_config(ConfigDict(extra="allow"))
class WatchedAnswer(TypedDict):
    """What is counted: the reservation as it was sent, without the keys that say how many."""

    resource_type: str


class AlarmAnswer(TypedDict):
    """A capacity alarm, and what its last check has found.

    `available` is null while it is `unknown`; `reason` says why it is that, or why nothing at all could be leased.
    """

    id: str
    name: str
    project_id: str
    user_id: str
    reservation: WatchedAnswer
    below: int
    duration: int
    state: str
    available: int | None
    reason: str | None
    created_at: str
    changed_at: str | None
    checked_at: str | None


OneAlarm = answer("OneAlarm", "The answer about one alarm.", alarm=AlarmAnswer)
AlarmList = answer("AlarmList", "The answer about alarms.", alarms=list[AlarmAnswer])


UNCHECKED = "It was not checked yet."
LISTED = ListKeys(texts=("name", "state"), sorts=("created_at", "name", "state", "changed_at", "checked_at"))


def list_alarms(call: Call) -> Reply:
    """Show the capacity alarms of the caller's project; an administrator may ask for those of `all_projects`.

    From 1.3 on in pages, by name and state, and sorted.
    """
    found = alarms.ALARMS.page(call.service, call.listed_project(), LISTED.asked(call))
    return Reply({"alarms": list(map(show_alarm, found))})


def create(call: Call, body: AlarmCreation) -> Reply:
    """Have the caller's project told when fewer than `below` could be leased from now, and when there are enough again.

    The reservation is that of a new lease; what it says about how many it asks for has no effect. Limits of projects do
    not count. The events are `capacity.low` and `capacity.restored`, once for each crossing.
    """
    wanted = body.reservation
    type_ = call.service.types.installed(wanted.resource_type)
    strict.check_reservation(wanted, (alarms.PLACE,), type_, version=call.version)
    draft = AlarmDraft(wanted.model_dump(), body.below, body.duration, body.name)
    with asking_once(call) as service:
        made = alarms.make_alarm(service, call.caller, draft, call.sight)
    return Reply({"alarm": show_alarm(made)})


def show(call: Call, alarm: Alarm) -> Reply:  # noqa: ARG001 - as all handlers
    """Show one capacity alarm, and what its last check has found."""
    return Reply({"alarm": show_alarm(alarm)})


def delete(call: Call, alarm: Alarm) -> Reply:
    """Delete a capacity alarm; it tells nothing more."""
    alarms.ALARMS.delete(call.service, alarm.id)
    return Reply()


def show_alarm(found: Alarm) -> AlarmAnswer:
    """Return an alarm; times are in ISO 8601 with the zone."""
    return shown(AlarmAnswer, found, reason=UNCHECKED if found.checked_at is None else found.reason)


_ALARM = Noun("alarm_id", "alarm", alarms.ALARMS.get)
_ALL, _ONE = "/v1/alarms", "/v1/alarms/{alarm_id}"

GET = Rule(
    "leasehold:alarms:get",
    READER_OR_ADMIN,
    "Show the capacity alarms of a project; only administrators list those of all projects.",
)
POST = Rule("leasehold:alarms:post", MEMBER_OR_ADMIN, "Make a capacity alarm for a project.")
DELETE = Rule("leasehold:alarms:delete", MEMBER_OR_ADMIN, "Delete a capacity alarm of a project.")


ROUTES = (
    V1_2("GET", _ALL, list_alarms, (GET,), None, AlarmList, query=EVERY, filters=LISTED.query),
    V1_2("POST", _ALL, create, (POST,), AlarmCreation, OneAlarm, CREATED),
    V1_2("GET", _ONE, show, (GET,), None, OneAlarm, noun=_ALARM),
    V1_2("DELETE", _ONE, delete, (DELETE,), success=GONE, noun=_ALARM),
)
