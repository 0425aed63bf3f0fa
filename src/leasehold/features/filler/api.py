"""Fillers in the API, from 1.3 on (feature K2, decision 0145)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from leasehold.api import strict
from leasehold.api.call import Reply
from leasehold.api.dates import parse_optional
from leasehold.api.handlers.lease import asking_once
from leasehold.api.models.base import TEN_YEARS, RequestModel, answer
from leasehold.api.models.lease import Date, OpenObject
from leasehold.api.models.name import OptionalName  # noqa: TC001 - read at run time
from leasehold.api.paging import ListKeys
from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.route import ACCEPTED, CREATED, EVERY, V1_3, Noun
from leasehold.api.views.shown import shown
from leasehold.features.filler import store as rows
from leasehold.features.filler import use
from leasehold.features.filler.model import FillerDraft
from leasehold.features.filler.rounds import standings
from leasehold.features.filler.step import job_of
from leasehold.resource_types.end_actions.awaiting import ServerAnswer  # noqa: TC001 - read at run time
from leasehold.resource_types.end_actions.chain import shown_of
from leasehold.resource_types.end_actions.snapshot import ImageAnswer  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.api.call import Call
    from leasehold.features.filler.model import Filler, Standing


class FilledReservation(OpenObject):
    """A reservation of `physical:host` as in POST /v1/leases, without what is said of a lease's end."""

    resource_type: Annotated[str, Field(min_length=1, max_length=66)]


class FillerCreation(RequestModel):
    """The body of POST /v1/fillers: what it has, guaranteed for how long, and when it ends at the latest."""

    reservation: FilledReservation
    at_least: Annotated[
        int,
        Field(
            ge=1,
            le=TEN_YEARS,
            description="Seconds for which its hosts are guaranteed, or more",
        ),
    ] = 1
    end_date: Date | None = None
    name: OptionalName = ""


@with_config(ConfigDict(extra="allow"))
class AskedAnswer(TypedDict):
    """What it has: the reservation as it was sent."""

    resource_type: str


class FilledHostAnswer(TypedDict):
    """A host of a filler. `state` is `coming`, `active`, `leaving`, `ending`, `overdue` or `ended`.

    Its servers are let be until `guaranteed_until` in any case; null: nothing is promised on it. They end at
    `leaves_at`, for the `reason`; null: that is not decided. `resource_id` is shown to administrators. `images` and
    `shelved` say what became of its servers, as in a lease.
    """

    id: str
    state: str
    granted_at: str
    guaranteed_until: str | None
    leaves_at: str | None
    ended_at: str | None
    reason: str | None
    resource_id: NotRequired[str]
    images: NotRequired[list[ImageAnswer]]
    shelved: NotRequired[list[ServerAnswer]]


class FillerAnswer(TypedDict):
    """A filler; its id is the scheduler hint `reservation` for all of its hosts, and the id of a host that for one.

    `guaranteed_until` is the earliest of its hosts: until then it has all that it has now.
    """

    id: str
    name: str
    project_id: str
    user_id: str
    reservation: AskedAnswer
    at_least: int
    end_date: str | None
    state: str
    guaranteed_until: str | None
    hosts: list[FilledHostAnswer]
    created_at: str
    ended_at: str | None


OneFiller = answer("OneFiller", "The answer about one filler.", filler=FillerAnswer)
FillerList = answer("FillerList", "The answer about fillers.", fillers=list[FillerAnswer])

LISTED = ListKeys(texts=("name", "state"), sorts=("created_at", "name", "ended_at"))


def list_fillers(call: Call) -> Reply:
    """Show the fillers of the caller's project; an administrator may ask for those of `all_projects`.

    Those that have ended are shown for 30 days; `state` is `active` or `ended`.
    """
    found = use.FILLERS.page(call.service, call.listed_project(), LISTED.asked(call))
    return Reply({"fillers": _shown(call, found)})


def create(call: Call, body: FillerCreation) -> Reply:
    """Give the caller's project idle hosts, until something that is promised needs them.

    It gets between `min` and `max` hosts on which nothing is promised for `at_least` seconds, those first that may stay
    longest. The events are `filler.guarantee`, `filler.leaves` and `filler.ended`, of each host.
    """
    wanted, service = body.reservation, call.service
    type_ = service.types.installed(wanted.resource_type)
    strict.check_reservation(wanted, (use.PLACE,), type_, version=call.version)
    ends_at = parse_optional(body.end_date, version=call.version, now=service.now(), field="end_date")
    draft = FillerDraft(wanted.model_dump(), timedelta(seconds=body.at_least), ends_at, body.name)
    with asking_once(call) as asked:
        made = use.make_filler(asked, call.caller, draft, call.sight)
    return Reply({"filler": _shown(call, [made])[0]})


def show(call: Call, filler: Filler) -> Reply:
    """Show one filler, with its hosts."""
    return Reply({"filler": _shown(call, [filler])[0]})


def delete(call: Call, filler: Filler) -> Reply:
    """End a filler: its servers end now, with the action before the end that was asked for. A manager does it."""
    return Reply({"filler": _shown(call, [use.end_filler(call.service, filler.id)])[0]})


def _shown(call: Call, found: Sequence[Filler]) -> list[FillerAnswer]:
    """Return fillers as they are shown, with what the calendar says of their hosts now."""
    with call.service.db.reading() as connection:
        hosts = rows.hosts_of(connection, [each.id for each in found])
        every = [each for mine in hosts.values() for each in mine]
        known = {each.host.id: each for each in standings(call.service, connection, every)}
    return [_show(call, each, [known[host.id] for host in hosts[each.id]]) for each in found]


def _show(call: Call, filler: Filler, hosts: Sequence[Standing]) -> FillerAnswer:
    now = call.service.now()
    until = [each.guaranteed_until(now) for each in hosts if each.host.ended_at is None]
    certain = [each for each in until if each is not None]
    return shown(
        FillerAnswer,
        filler,
        at_least=filler.at_least_seconds,
        end_date=filler.ends_at,
        state=filler.state,
        guaranteed_until=min(certain, default=None),
        hosts=[_show_host(call, each) for each in hosts],
    )


def _show_host(call: Call, each: Standing) -> FilledHostAnswer:
    now = call.service.now()
    until = each.host.leaves_at if each.host.ended_at else each.guaranteed_until(now)
    more = {"resource_id": each.resource.id} if call.is_admin else {}
    results = shown_of([job_of(call.service, each).reservation])
    return shown(FilledHostAnswer, each.host, state=each.host.stage(now), guaranteed_until=until, **more, **results)


_FILLER = Noun("filler_id", "filler", use.FILLERS.get)
_ALL, _ONE = "/v1/fillers", "/v1/fillers/{filler_id}"

GET = Rule(
    "leasehold:fillers:get",
    READER_OR_ADMIN,
    "Show the fillers of a project; only administrators list those of all projects.",
)
POST = Rule("leasehold:fillers:post", MEMBER_OR_ADMIN, "Have idle hosts until something that is promised needs them.")
DELETE = Rule("leasehold:fillers:delete", MEMBER_OR_ADMIN, "End a filler of a project.")

ROUTES = (
    V1_3("GET", _ALL, list_fillers, (GET,), None, FillerList, query=EVERY, filters=LISTED.query),
    V1_3("POST", _ALL, create, (POST,), FillerCreation, OneFiller, CREATED),
    V1_3("GET", _ONE, show, (GET,), None, OneFiller, noun=_FILLER),
    V1_3("DELETE", _ONE, delete, (DELETE,), None, OneFiller, ACCEPTED, noun=_FILLER),
)
