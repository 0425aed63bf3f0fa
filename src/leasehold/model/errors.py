"""The catalogue: the errors of the core that a client can cause, each with a stable code and its HTTP status.

The message of an error is a sentence for the person who made the request and names the next step.
Codes never change once released; clients may match on them. The API turns these into answers in
`leasehold.api.errors`; nothing else maps errors to HTTP. Errors of a feature are in its module `model`.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar

from leasehold.model.estimate import by_name
from leasehold.model.refusal import extension_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from leasehold.model.estimate import Estimate
    from leasehold.model.refusal import Refusal
    from leasehold.model.windows import Window

MOST_NAMED = 5
"""The most names that a message repeats; `details` has all of them."""


def some_of(names: Sequence[str]) -> str:
    """Return names for a sentence, the first few of many."""
    rest = len(names) - MOST_NAMED
    return (", ".join(names[:MOST_NAMED]) or "none") + (f" and {rest} more" if rest > 0 else "")


class LeaseholdError(Exception):
    """A client's request cannot be fulfilled; the message says why."""

    code: str = "leasehold.error"
    status: ClassVar[HTTPStatus] = HTTPStatus.INTERNAL_SERVER_ERROR

    def __init__(self, message: str, *, field: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.details = dict(details or {})

    def under(self, prefix: str) -> LeaseholdError:
        """Return the same error with its field placed below `prefix`, e.g. `reservations[0].min`; "" keeps it."""
        if prefix:
            self.field = prefix if self.field is None else f"{prefix}.{self.field}"
        return self


class InvalidInputError(LeaseholdError):
    """A value in the request is not acceptable; `field` names it."""

    code = "leasehold.input.invalid"
    status = HTTPStatus.BAD_REQUEST


class MissingParameterError(InvalidInputError):
    """A required key is absent."""

    code = "leasehold.input.missing"

    def __init__(self, *names: str, how: str = "") -> None:
        """Name all absent keys at once, comma separated (contract http-api §3.1); `how` says how to send them."""
        message = f"Missing parameter {', '.join(names)}{how and f'. {how}'}"
        super().__init__(message, field=names[0], details={"missing": list(names)})


class UnknownKeysError(InvalidInputError):
    """The request has keys that nothing reads, which microversion 1.2 and later refuse."""

    code = "leasehold.input.unknown"

    def __init__(self, unknown: Sequence[str], known: Iterable[str], what: str = "key") -> None:
        names = sorted(known)
        several = "" if len(unknown) == 1 else "s"
        message = (
            f"Unknown {what}{several} {', '.join(map(repr, unknown))}. "
            f"The keys that can be used there are: {', '.join(names) or 'none'}."
        )
        super().__init__(message, field=unknown[0], details={"unknown": list(unknown), "known": names})


class InvalidDateError(InvalidInputError):
    """A date is not in an accepted form."""

    code = "leasehold.input.date"


class MalformedExpressionError(InvalidInputError):
    """A property expression does not follow the grammar."""

    code = "leasehold.input.expression"


class BodyTooLargeError(InvalidInputError):
    """The request body exceeds the configured size."""

    code = "leasehold.input.too_large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class UnknownVersionError(LeaseholdError):
    """The requested microversion is well formed but not served."""

    code = "leasehold.version.not_acceptable"
    status = HTTPStatus.NOT_ACCEPTABLE


class UnauthorizedError(LeaseholdError):
    """The request carries no valid identity."""

    code = "leasehold.auth.unauthorized"
    status = HTTPStatus.UNAUTHORIZED


class IdentityUnavailableError(LeaseholdError):
    """The identity service does not answer, so no caller can be authenticated now."""

    code = "leasehold.auth.unavailable"
    status = HTTPStatus.SERVICE_UNAVAILABLE


class TooManyRequestsError(LeaseholdError):
    """The caller exceeds the rate limit; `wait` is the number of seconds until the next request is answered."""

    code = "leasehold.http.rate"
    status = HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, message: str, wait: int, limit: int) -> None:
        """Keep the seconds for `Retry-After`."""
        super().__init__(message, details={"retry_after": wait, "limit_per_minute": limit})
        self.wait = wait


class ForbiddenError(LeaseholdError):
    """A policy rule denies the operation."""

    code = "leasehold.auth.forbidden"
    status = HTTPStatus.FORBIDDEN


class ForeignPageError(ForbiddenError):
    """A web page of another site sent the request, or may have sent it, to an API without authentication."""

    code = "leasehold.auth.foreign_page"


class OutOfWindowError(ForbiddenError):
    """`before_end_date` does not lie strictly inside the lease (403 by contract http-api §3.1)."""

    code = "leasehold.lease.before_end_date"


class LimitExceededError(ForbiddenError):
    """An enforcement filter denies the lease."""

    code = "leasehold.enforcement.denied"


class TooManyLeasesError(LimitExceededError):
    """The project has as many open leases as it may have."""

    code = "leasehold.enforcement.open_leases"


class TooMuchHeldError(LimitExceededError):
    """The project would have more of a resource at one moment than a project may have."""

    code = "leasehold.enforcement.total"


class TooManyHoursError(LimitExceededError):
    """The user or the project would have more host hours ahead than they may have."""

    code = "leasehold.enforcement.hours"


class TooFarAheadError(LimitExceededError):
    """The lease starts or ends further ahead than leases may."""

    code = "leasehold.enforcement.lookahead"


class TooMuchAskedError(LimitExceededError):
    """One lease asks for more than a lease may hold."""

    code = "leasehold.enforcement.size"


class TooManyError(ForbiddenError):
    """The project has as many `things` as it may have, or there are none at all."""

    things: ClassVar[str]
    advice: ClassVar[str]
    """What makes room for another one."""
    instead: ClassVar[str] = "Ask an operator for them."
    """What to do where there are none."""

    def __init__(self, limit: int) -> None:
        message = f"A project may have {limit} {self.things}. {self.advice}"
        if not limit:
            message = f"{self.things.capitalize()} are switched off here. {self.instead}"
        super().__init__(message, details={"limit": limit})


class TooManyOffersError(TooManyError, LimitExceededError):
    """The project has as many open offers as it may have."""

    code = "leasehold.offers.too_many"
    things = "open offers"
    advice = "Accept one or give it up, or wait until one lapses."
    instead = "Ask for a lease with POST /v1/leases, or ask an operator for them."


class AmendmentDeniedError(InvalidInputError):
    """An enforcement filter denies an amendment: a 400 by contract lifecycle §10, under the code of the limit."""

    def __init__(self, limit: LimitExceededError) -> None:
        super().__init__(limit.message, field=limit.field, details=limit.details)
        self.code = limit.code


class ExternallyDeniedError(InvalidInputError):
    """The service that `[enforcement]` names denies the lease: a 400 by contract lifecycle §10."""

    code = "leasehold.enforcement.external"


class NoDecisionError(LeaseholdError):
    """The service that `[enforcement]` names gives no decision about the lease, so the request is not granted."""

    code = "leasehold.enforcement.unavailable"
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self) -> None:
        """Say what to do next; the log has the reason, which may name internal hosts."""
        super().__init__(
            "The service that approves leases gives no decision now; nothing was changed. Try again in a moment, and "
            "ask an operator if it stays so."
        )


class NotKnownNowError(LeaseholdError):
    """What another service says about the project is needed for the decision, and that service does not answer."""

    code = "leasehold.enforcement.not_known"
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, what: str) -> None:
        """Say what is not known, such as `The limits of the project`; the log has the reason."""
        super().__init__(
            f"{what} cannot be read now; nothing was changed. Try again in a moment, and ask an operator if it stays "
            "so."
        )


class NotFoundError(LeaseholdError):
    """Nothing with this id exists, or the caller may not see it."""

    code = "leasehold.not_found"
    status = HTTPStatus.NOT_FOUND

    def __init__(self, kind: str, ident: str) -> None:
        """Use the sentence that Blazar's clients know (contract http-api §5.2)."""
        super().__init__(f"Object with {{'{kind}': '{ident}'}} not found", details={kind: ident})


class NotThenError(LeaseholdError):
    """The lease exists or existed, but not at the moment that is asked for."""

    code = "leasehold.lease.not_then"
    status = HTTPStatus.NOT_FOUND

    def __init__(self, lease_id: str) -> None:
        super().__init__(
            f"There was no lease {lease_id} at the moment as_of. GET /v1/leases/{lease_id}/history says when it was "
            "made, and when it was deleted if it was.",
            field="as_of",
            details={"lease_id": lease_id},
        )


class HistoryNotKeptError(LeaseholdError):
    """An older version of Leasehold, or Blazar, kept the lease then, and recorded too little to show it."""

    code = "leasehold.history.not_kept"
    status = HTTPStatus.GONE

    def __init__(self, lease_id: str) -> None:
        super().__init__(
            f"What lease {lease_id} was at the moment as_of is not recorded: an older version of the service kept it "
            f"then. GET /v1/leases/{lease_id}/history has what was recorded; ask as_of one of its changes that are "
            "`whole`.",
            field="as_of",
            details={"lease_id": lease_id},
        )


class MethodNotAllowedError(LeaseholdError):
    """The path exists, the method does not."""

    code = "leasehold.http.method"
    status = HTTPStatus.METHOD_NOT_ALLOWED


class ConflictError(LeaseholdError):
    """The state of the object does not allow the operation now."""

    code = "leasehold.conflict"
    status = HTTPStatus.CONFLICT


class BusyError(ConflictError):
    """The lease is in the middle of an operation; the same request works a little later."""

    code = "leasehold.lease.busy"


class WaitingLeaseError(ConflictError):
    """The lease waits for resources, so what it asks for stays; its name and its dates may be changed."""

    code = "leasehold.lease.waiting"

    def __init__(self) -> None:
        super().__init__(
            "The lease waits for resources, and what it asks for cannot be changed meanwhile. Change its name or its "
            "dates only, or delete it and ask for another lease.",
            field="reservations",
        )


class NotFreeInOfferError(ConflictError):
    """A claim does not lie within what is free of a published offer."""

    code = "leasehold.published_offer.not_free"

    def __init__(self, free: Sequence[Window]) -> None:
        said = [f"from {each.start.isoformat()} until {each.end.isoformat()}" for each in free]
        rest = f"it is free {some_of(said)}; claim a part of one of these." if said else "nothing of it is free now."
        ranges = [{"start_date": each.start.isoformat(), "end_date": each.end.isoformat()} for each in free]
        message = f"The claim does not lie within what is free of the published offer: {rest}"
        super().__init__(message, field="start_date", details={"free": ranges})


class ClosedToError(ConflictError):
    """A lease is shared with projects that may use all that it has."""

    code = "leasehold.lease.closed_to"

    def __init__(self, projects: Sequence[str]) -> None:
        super().__init__(
            f"Some of what the lease has is closed to {some_of(projects)}; leave them out of `shared_with`, or ask an "
            "operator to open it to them.",
            field="shared_with",
            details={"projects": list(projects)},
        )


class StaleError(ConflictError):
    """The lease has changed since the client read it (If-Match)."""

    code = "leasehold.lease.stale"
    status = HTTPStatus.PRECONDITION_FAILED

    def __init__(self) -> None:
        super().__init__(
            "The lease has changed since you read it; read it again and repeat the change.", field="If-Match"
        )


class LendingError(ConflictError):
    """Sub-leases have something of the lease, so its dates and what it asks for stay as they are."""

    code = "leasehold.sublease.lent"

    def __init__(self, ids: Iterable[str]) -> None:
        found = sorted(ids)
        super().__init__(
            f"The lease has lent hosts, so its dates and its reservations stay as they are. End {some_of(found)} first "
            "(DELETE /v1/leases/{lease_id}/sub-leases/{sub_lease_id}), or delete the lease, which ends what it lent.",
            details={"sub_leases": found},
        )


class NotSwappableError(ConflictError):
    """The lease has nothing that can be swapped: the driver of its resource types does not vacate resources in use."""

    code = "leasehold.swap.type"

    def __init__(self, types: Iterable[str]) -> None:
        known = sorted(types)
        what = f"only resources of {', '.join(known)} can be swapped" if known else "no resource type here can do that"
        super().__init__(f"The lease has no resource that can be swapped: {what}.", details={"types": known})


class ServersNotNamedError(ConflictError):
    """A swap has to name exactly the servers that are on the resource: they stay there, and their owner has to act."""

    code = "leasehold.swap.servers"

    def __init__(self, servers: Iterable[str]) -> None:
        """List the servers that the caller may see, and say how to repeat the request."""
        found = sorted(servers)
        if found:
            what = (
                f"These servers are on the resource: {some_of(found)}. They stay until you move or delete them, or "
                "the lease ends. Send the request again with exactly these in `servers`."
            )
        else:
            what = "No servers are on the resource. Send the request again with an empty list in `servers`."
        super().__init__(f"Nothing was swapped. {what}", field="servers", details={"servers": found})


class NothingToHealError(ConflictError):
    """Every resource of the lease works, and it misses none."""

    code = "leasehold.heal.nothing"

    def __init__(self) -> None:
        super().__init__(
            "No resource of the lease has failed, so nothing was changed. To leave a host that is bad in another way, "
            "send POST /v1/leases/{lease_id}/swap."
        )


class NoReplacementError(ConflictError):
    """No other resource that fits the lease is free for one that failed."""

    code = "leasehold.heal.none_free"

    def __init__(self) -> None:
        super().__init__(
            "No other resource that fits is free to the end of the lease, so nothing was changed. Send the request "
            "again later, or amend the lease to what is free. A resource that works again comes back by itself."
        )


class SwapUnfinishedError(ConflictError):
    """The reservation has vacated a resource that is not clean yet, and may not give up a further one meanwhile."""

    code = "leasehold.swap.unfinished"

    def __init__(self, servers: Iterable[str]) -> None:
        """List the servers that the caller may see there."""
        found = sorted(servers)
        if found:
            what = (
                f"servers are left there: {some_of(found)}. Move or delete them, and send the request again in a minute"
            )
        else:
            what = "it is being given back. Send the request again in a minute"
        super().__init__(f"The reservation has vacated another resource, and {what}.", details={"servers": found})


class InUseError(ConflictError):
    """The resource is allocated to a lease, has servers on it, or something else has it in the cloud."""

    code = "leasehold.resource.in_use"

    def but_until(self, latest_end: datetime, estimates: Sequence[Estimate] = ()) -> InUseError:
        """Return the same error, which also says how late the lease could end, and what features say about that."""
        self.message = " ".join([self.message, extension_sentence(latest_end), *(each.sentence for each in estimates)])
        self.details = {**self.details, "latest_end": latest_end.isoformat()}
        if estimates:
            self.details = {**self.details, "estimates": {"latest_end": by_name(estimates)}}
        return self


class MissingPluginError(ConflictError):
    """A reservation needs the plugin of its resource type, which is missing or does not work."""

    code = "leasehold.resource.no_plugin"

    def __init__(self, resource_type: str, defect: str) -> None:
        self.resource_type = resource_type
        self.reason = f"The plugin of the resource type {resource_type[:80]!r} {defect}"
        super().__init__(
            f"{self.reason}, so a reservation of it cannot be changed now. The lease can be renamed, shortened and "
            "deleted; ask an operator to install the plugin for anything else.",
            details={"resource_type": resource_type},
        )


class DuplicateError(ConflictError):
    """The resource is enrolled already."""

    code = "leasehold.resource.duplicate"


class TakesTooLongError(ConflictError):
    """The decision takes longer than other requests may be kept waiting; nothing was stored."""

    code = "leasehold.decision.too_long"

    def __init__(self, seconds: float) -> None:
        message = (
            f"The request was not granted, because its decision takes longer than the limit of {seconds:g} seconds. "
            "Ask for less in one lease: fewer reservations, or simpler properties."
        )
        super().__init__(message, details={"seconds": seconds})


class UnsettledError(ConflictError):
    """The resources of the lease changed each time between their approval and the commit; nothing was stored."""

    code = "leasehold.enforcement.unsettled"

    def __init__(self) -> None:
        super().__init__(
            "Other requests took the chosen resources each time before the lease was approved; nothing was changed. "
            "Send the request again."
        )


class SharedServiceHostError(ConflictError):
    """Another hypervisor behind the same compute service is enrolled, and the two cannot be leased apart."""

    code = "leasehold.resource.shared_service_host"


class NotEnoughError(ConflictError):
    """The asked amount does not fit; the refusal explains what would (feature G9, idea 16)."""

    code = "leasehold.resources.not_enough"

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.sentence, details=refusal.as_details())
        self.refusal = refusal

    def but(self, sentence: str) -> NotEnoughError:
        """Return the same error with one more sentence for the user."""
        self.message = f"{self.message} {sentence}"
        return self


class NoWindowError(ConflictError):
    """No window within the bounds of a search starts on a whole minute, although there is enough."""

    code = "leasehold.resources.no_window"

    def __init__(self) -> None:
        super().__init__("No window on whole minutes lies within these bounds; start later, or allow a later end.")


class NotEnoughFloatingIpsError(NotEnoughError):
    """Too few floating IPs are free: 400 where hosts say 409 (contract http-api §3.1)."""

    code = "leasehold.floatingips.not_enough"
    status = HTTPStatus.BAD_REQUEST


class EventsMissedError(LeaseholdError):
    """The event log cannot continue from this cursor: the reader has missed events, or read some that are not there."""

    status = HTTPStatus.GONE
    reason: ClassVar[str]

    def __init__(self) -> None:
        super().__init__(
            f"{self.reason} Go on with after=latest and then list the leases, or leave `after` out and "
            "read from the oldest event.",
            field="after",
        )


class EventsPurgedError(EventsMissedError):
    """Events after the cursor were purged."""

    code = "leasehold.events.purged"
    reason = "Events after this cursor were purged, so some may be missing."


class EventsRewoundError(EventsMissedError):
    """The cursor belongs to a history that the database does not have, as after it was restored from a backup."""

    code = "leasehold.events.rewound"
    reason = "The event of this cursor is not in the log: the database went back, as when a backup is restored."


class DatabaseUnavailableError(LeaseholdError):
    """The database does not answer, or its connection broke during a commit, whose outcome is then unknown."""

    code = "leasehold.database.unavailable"
    status = HTTPStatus.SERVICE_UNAVAILABLE


class OverloadedError(LeaseholdError):
    """There are more requests than can be answered; this one was not begun."""

    code = "leasehold.overloaded"
    status = HTTPStatus.SERVICE_UNAVAILABLE


class CloudUnavailableError(LeaseholdError):
    """The cloud did not answer, so a request that needs it cannot be done now."""

    code = "leasehold.cloud.unavailable"
    status = HTTPStatus.SERVICE_UNAVAILABLE
