"""Microversions (contract http-api §2.1): which versions exist, what each brought, and which one a request asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from leasehold.api.errors import MalformedRequestError
from leasehold.model.errors import UnknownVersionError

if TYPE_CHECKING:
    from collections.abc import Mapping

PATHS = frozenset({"/", "/versions"})
"""Paths of the version document."""
SERVICE_TYPE = "reservation"
HEADER = "OpenStack-API-Version"
LATEST = "latest"


class Version(NamedTuple):
    """A microversion; compares by number."""

    major: int
    minor: int

    def __str__(self) -> str:
        """Return the form used in headers, such as `1.0`."""
        return f"{self.major}.{self.minor}"


V1_0 = Version(1, 0)
V1_1 = Version(1, 1)
V1_2 = Version(1, 2)
V1_3 = Version(1, 3)

HISTORY: Mapping[Version, str] = {
    V1_0: """
* Blazar's v1, unchanged. Unknown keys of a body and of a query are ignored.
* Beyond Blazar, and there at every version: `Idempotency-Key` on POST of a lease, and `code`, `field` and `details` in
  errors.
""",
    V1_1: """
* Dates may be ISO 8601 with a time zone, to the second, or as leases show them, in UTC: `2031-05-01T10:00:00.000000`.
  `now` is the current second, and at 1.0 the current minute.
* Leases show `status_reason`.
* Leases carry an `ETag`, and `If-Match` makes an amendment or a deletion conditional on it.
* Leases are listed in pages, with `limit` and `marker`.
* Property expressions take sizes with a unit for names that end in one: `[">=", "$memory_mb", "64G"]`.
""",
    V1_2: """
* Unknown keys are refused with 400 `leasehold.input.unknown`, in a body at any depth and in a query. The error names
  them, and the keys that are known there. So is a property of a new host that is named like a field of the answer.
* Resources of any type are enrolled, shown, changed and removed at `/v1/resources/{resource_type}`, and
  `/v1/resources` lists the types.
* Leases have a `heal_policy`: what happens when one of their resources fails. `POST /v1/leases/{lease_id}/heal` has
  failed resources replaced now. A lease is `at_risk` while a resource of it has failed and it does not begin soon.
* Leases have `reminder_seconds`: how long before their end their project is reminded of it.
* `GET /v1/leases/{lease_id}/resources` shows the resources that a lease has: their health, their capacity, and what is
  public about them. Before the start, while others may take their place, owners see only how many there are.
* `POST /v1/leases/{lease_id}/swap` swaps a host of a lease for another one.
* `GET /v1/events` shows what happened to a project's leases, in order and after a cursor, and waits for it on
  request.
* `/v1/subscriptions`: events of a project, or of a user's `own` leases, are sent to a webhook, signed and in the form
  of CloudEvents, or by e-mail.
* Leases have a `type`. `immediate` starts now; `retry` and `waitlist` are kept if they cannot be granted at once, and
  tried again. For a `best_effort` lease shared hosts are drawn into the reservation pool, if they would be enough and
  their servers have room elsewhere. Two more statuses, `IN_PROGRESS` and `TIMEDOUT`; before, they are shown as
  `PENDING` and `ERROR`.
* `/v1/alarms`: a project is told, by events, when less than it wants can be leased, and when there is enough again.
* Reservations have `on_end`, `grace_seconds` and `recycle_seconds`: what happens to their servers when the lease ends,
  and when. Those of instances and flavors have `before_end` as well. Reservations of hosts may end with `give_back`, if
  the policy `leasehold:leases:give_back` allows it: hosts with servers serve everybody from then on.
* Reservations have `images`: what became of the image of each server that `before_end` asked for.
* Reservations of hosts may have their servers shelved at the end (`before_end: shelve`). Reservations have `shelved`:
  what became of each of these servers.
* Events `server.ends_soon` and `server.stays`: a project is told before a lease needs the room of its preemptible
  servers.
* Reservations have `no_show_seconds`: so long after the start, what has no server is released, after a warning.
* `/v1/series`: leases that recur by a rule of RFC 5545 are requested, amended and deleted together.
* Administrators make maintenance windows on hosts at `/v1/maintenances`. Leases on the hosts that have not started are
  moved, if the request says so.
* Resources have `disabled` and `disabled_reason`, which administrators see and set with PUT of a host and of a
  resource. A disabled resource is leased to nobody but administrators, and `reservable` is false for it at every
  version.
* Hosts have a `pool`, a `pool_reason` and `held_for`, which administrators see. A host that serves everybody is
  enrolled with its servers by POST with `pool: shared`; PUT with `pool: reservation` draws it into the reservation
  pool, and `shared` gives it back. Only hosts of the reservation pool are leased, and `reservable` is false for all
  others at every version.
""",
    V1_3: """
* `GET /v1/availability` shows how much of a resource type is free, held back and reserved at every second of a window,
  and how much a lease of the whole window would get. Everybody may ask, and nobody learns who holds what.
* `POST /v1/availability/search` finds the first windows in which a lease would be granted, with flexible dates and
  durations and for several alternatives, and says why the others would not be.
* `GET /v1/timeline` shows what resources do in a window, past or future, as tables of numbers for programs that draw
  it: a project sees its own leases by name and what others have as taken, operators see all. An `ETag` says whether
  anything has changed.
* `GET /v1/availability/properties` lists for everybody by what leases can choose resources, with the values that occur.
* `GET /v1/regions`, `GET /v1/regions/availability` and `POST /v1/regions/availability/search`: the same of other
  regions, each of which is asked by the service with the caller's token.
* `duration_seconds` in place of `end_date` in POST of a lease, of a series and of a maintenance window: how long after
  its start it ends.
* PUT of a lease moves its dates from where they are: `extend_seconds` and `shorten_seconds` the end,
  `start_later_seconds` and `start_earlier_seconds` the start. `Idempotency-Key` on this PUT makes the change once,
  however often the request is sent; a relative one needs it, or an `If-Match` with an ETag.
* `DELETE /v1/leases/{lease_id}/reservations/{reservation_id}` drops one reservation of a lease, which keeps the others.
* `DELETE /v1/leases/{lease_id}/reservations/{reservation_id}/resources/{resource_id}` takes one host or address out of
  a reservation, if nothing uses it; the reservation then asks for so much less.
* An active reservation may ask for less: it gives up hosts without its servers. It is refused if too few are without.
* `open_ended` in POST and PUT of a lease takes the place of an end: the lease goes on until it is deleted or gets an
  end. Leases show it.
* `shared_with` in PUT of a lease: other projects whose servers may use what it has. Leases show it.
* `dry_run` in POST and PUT of a lease: the answer has the lease as it would be, and `reservations` with the resources
  that it would have; or it is the refusal. Nothing is done.
* `ready_within_seconds` in POST of a lease: it may start so much later than it is asked for, and starts as soon as what
  it asks for is there, such as hosts that have to be switched on. It keeps its length; the answer shows its dates.
* `purpose` in POST of a lease, an offer, a claim, a series, a flexible lease and a lease template, and in PUT of a
  lease, a series and a lease template: what it is for, in words. Leases, series and payloads of events that have one
  show it.
* `project_id` in POST of a lease: administrators make leases for other projects.
* Resources have `projects`, which administrators see, and set with POST of a host, a floating IP and a resource and
  with PUT of a host and a resource: the only projects that may use it, or null for all. Nobody else gets it, counts it
  or sees it.
* Resources have an `owner`, set and shown like `projects`: the project that they belong to, which is always one of
  those. `GET /v1/owned-resources` shows a project its resources, and which leases use them; `DELETE
  /v1/owned-leases/{lease_id}` ends such a lease, if it has no others.
* `/v1/published-offers`: an owner publishes a resource for a window, to all projects or to one, and others see what of
  it is free; `POST /v1/published-offers/{published_offer_id}/claims` makes a lease of a part of it. Leases have
  `published_offer`, null for all others. Deleting an offer deletes its leases.
* `/v1/offers`: an offer is decided as a lease is, and holds what it shows for some minutes; `POST
  /v1/offers/{offer_id}/accept` makes it a lease, else it lapses.
* `/v1/feeds`: the leases of a project, or of a user in it, are read by calendar programs, at a secret address in
  iCalendar. The address itself asks for no microversion.
* `/v1/lease-templates`: requests for leases are kept under a name, without dates, for a project or, by administrators,
  for all projects. `template` in POST of a lease, of an offer, of a series and of a search for windows names one: its
  keys count where the request has none.
* `before_end` may be `suspend`, for servers that outlive their lease, or a list of actions, which are done in a fixed
  order: `snapshot`, then `suspend` or `shelve`. Reservations have `suspended`: what became of each server that was to
  be suspended.
* Reservations have `default_properties`: the expression that operators prefer where a reservation names no properties,
  or null; and `default_properties_applied`: whether all that it got matches it. False: others were taken.
* Leases are listed by `name`, `purpose`, `status` (one or several, by commas), `ends_after` and `starts_before`.
* Reservations of hosts, instances and flavors may lie `together` or `apart` by a property of the hosts, such as `rack`:
  all hosts have one and the same value of it, or each that is granted has another value. Reservations show both.
* `GET /v1/leases/{lease_id}?as_of=` shows a lease as it was at a moment, with what it held then, and
  `GET /v1/leases/{lease_id}/history` all that has changed: when, by whom, before and after. Both show deleted leases
  too, which `GET /v1/leases?deleted=true` lists until they are purged, with `deleted_at`.
* All lists are paged by `limit` and `marker`, filtered by keys of their items, and sorted, as by `sort=end_date:desc`;
  those of allocations are paged alone, and those of events and of dead letters have `after` and `limit` as before.
  Events are filtered by `type`, and by when they happened (`from`).
* A query key without a value, or with several, is refused. `all` and `detail` of properties are `true` or `false`.
* `GET /v1/audit` shows administrators what the last round of the periodic audit has found, what a repair does, and what
  was done; `POST /v1/audit` asks for a round now.
* `/v1/flexible-leases`: a lease for so much time within a window, at the best place, which may be moved there until it
  is frozen; `PUT` of one changes where it may be, and `DELETE` fixes it where it is. With `piece_seconds` it is several
  leases where it fits nowhere as a whole, each at least so long.
* `GET /v1/power/hosts` shows administrators the machines of hosts that are switched off while nobody needs them; `PUT`
  and `DELETE` of one say how it is switched, and `POST .../wake` wakes it. `GET /v1/power/margins` says how long they
  take, and `GET /v1/power/report` what that saves, and how many requests it delayed. The health of a host that is off
  so is `asleep`.
* `POST /v1/capacity/increases` plans hosts that will be there from or until a date, `POST /v1/capacity/decreases` takes
  hosts away from a date on, and `POST /v1/capacity/reserves` holds some back; `GET /v1/capacity/changes` shows all of
  them. The health of a host that is not there yet is `planned`, and what a lease has says when it is expected
  (`expected_at`). `on_conflict` of a maintenance window may be `force`.
* `/v1/fillers`: a project has idle hosts until something that is promised needs them. `guaranteed_until` says until
  when its servers are let be in any case; events tell when that becomes sooner, and when a host has to go.
* `GET /v1/refusals` counts for administrators how many requests were refused in each hour, why, and how many more
  hosts, instances or addresses would have granted them.
* `GET /v1/resources/{resource_type}/candidates` shows administrators what the cloud has and could be enrolled.
* `GET /v1/forecast` shows administrators how many resources will be asked for, by what is promised, what waits and what
  past weeks let one expect, and how many will be missing.
* `POST /v1/leases/{lease_id}/published-offers` offers hosts of an active lease for a part of its window. A claim makes
  some of them a lease of the project that claims them, a sub-lease, with a `parent_id`. They come back when it ends.
* `GET /v1/leases/{lease_id}/sub-leases` lists what is lent, `DELETE /v1/leases/{lease_id}/sub-leases/{sub_lease_id}`
  takes it back, and by `POST` administrators lend without an offer.
* `GET /v1/usage` shows in hours what a project has promised, held, used, left idle and given up, by project, user,
  resource, kind, lease or day, as JSON or CSV; administrators see that of all projects.
* `notice_seconds` of a published offer and of what is lent: if it is taken back, the lease that has it ends so much
  later, or at its own end. Leases show it, and since when it runs (`taken_back_at`).
* The answer to POST and PUT of a lease, also of a dry run, has `warnings` if there are any: each with a `code`, a
  `message` and `details`, as an error has them. Such is a lease that its project's own quota does not let it use.
* Where things have prices (`/v1/prices`), `GET /v1/leases/{lease_id}` and the answer to a dry run show the `cost` of
  the lease. `/v1/budgets` says how much the leases of a project, or of a member of it, may cost, and what becomes at
  its end of leases that go on (`at_end`).
* An offer shows the `cost` of its lease, and a series that of all its leases (`together`).
* `GET /v1/charges` shows what was charged for time that is over, as JSON, CSV or rows of FOCUS 1.2;
  administrators correct it by rows of their own (`POST /v1/charges/corrections`).
* `GET /v1/leases/{lease_id}` shows where a lease stands that waits (`in_line`): its position, how many are ahead of it
  and why, and when it is expected to start, with what that assumes, or why nobody knows.
""",
}
"""What each microversion brought, as Markdown; the OpenAPI document and docs/reference/api-history.md show it."""

MINIMUM = DEFAULT = min(HISTORY)
MAXIMUM = max(HISTORY)

ISO_DATES = V1_1
STATUS_REASON = V1_1
ETAGS = V1_1
PAGES = V1_1
SIZES = V1_1
HEAL_POLICY = V1_2
REMINDERS = V1_2
LEASE_TYPES = V1_2
STRICT_KEYS = V1_2
DISABLING = V1_2
ENDINGS = V1_2
SPANS = V1_3
READY_WITHIN = V1_3
AMENDING_ONCE = V1_3
DRY_RUNS = V1_3
ON_BEHALF = V1_3
FILTERS = V1_3
SHRINKING = V1_3
OPEN_ENDS = V1_3
RESTRICTIONS = V1_3
PUBLISHED_OFFERS = V1_3
SHARING = V1_3
CHAINS = V1_3
TEMPLATES = V1_3
DEFAULT_PROPERTIES = V1_3
LAYOUTS = V1_3
PAST = V1_3
SUB_LEASES = V1_3
PLANNED = V1_3
PURPOSES = V1_3
WARNINGS = V1_3

SYNTAX = re.compile(r"([1-9]\d{0,8})\.(0|[1-9]\d{0,8})", re.ASCII)


def requested(header: str | None) -> Version:
    """Return the version that an `OpenStack-API-Version` header asks of this service, or the default.

    Entries of other services, and entries without a service type, are ignored. Raises `MalformedRequestError` (400)
    for bad syntax and `UnknownVersionError` (406) for a version that is not served.
    """
    for entry in reversed((header or "").split(",")):
        service, _, text = entry.strip().partition(" ")
        if service.lower() == SERVICE_TYPE:
            return _read(text.strip())
    return DEFAULT


def _read(text: str) -> Version:
    if text.lower() == LATEST:
        return MAXIMUM
    match = SYNTAX.fullmatch(text)
    if match is None:
        message = f"{text[:40]!r} is not a version. Ask for one such as '{SERVICE_TYPE} {MAXIMUM}' in {HEADER}."
        raise MalformedRequestError(message, field=HEADER)
    version = Version(int(match[1]), int(match[2]))
    if not MINIMUM <= version <= MAXIMUM:
        message = f"Version {version} is not served. Ask for {MINIMUM} to {MAXIMUM} in {HEADER}."
        details = {"min_version": str(MINIMUM), "max_version": str(MAXIMUM)}
        raise UnknownVersionError(message, field=HEADER, details=details)
    return version


def history(heading: str) -> str:
    """Return the history of the API as Markdown, one section for each microversion under a heading of this level."""
    return "\n".join(f"{heading} {version}\n{changes}" for version, changes in HISTORY.items())


def headers(version: Version) -> dict[str, str]:
    """Return the headers that tell clients and caches which version was served."""
    return {HEADER: f"{SERVICE_TYPE} {version}", "Vary": HEADER}
