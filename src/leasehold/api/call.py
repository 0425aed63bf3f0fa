"""The input and the output of a handler."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leasehold.api import dates
from leasehold.api.policies import host as host_rules
from leasehold.api.policies import lease as lease_rules
from leasehold.api.policies import resource as resource_rules
from leasehold.api.policies.enforcer import ADMIN
from leasehold.api.versions import DISABLING, RESTRICTIONS, STRICT_KEYS
from leasehold.model.caller import Caller, Sight
from leasehold.model.errors import ForbiddenError, InvalidInputError

if TYPE_CHECKING:
    from datetime import datetime
    from http import HTTPStatus

    import falcon

    from leasehold.api.auth.base import Authenticator
    from leasehold.api.health import HealthCheck
    from leasehold.api.lease_field import LeaseField, ShowField, ShowTogether
    from leasehold.api.lease_texts import LeaseTexts
    from leasehold.api.limits.admission_control import AdmissionControl, Permit
    from leasehold.api.limits.cloud_waits import CloudWaits
    from leasehold.api.limits.delete_waits import DeleteWaits
    from leasehold.api.limits.event_waits import EventWaits
    from leasehold.api.limits.rate_limit import RateLimit
    from leasehold.api.listing import Listing
    from leasehold.api.policies.enforcer import Owned, Policies
    from leasehold.api.versions import Version
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.refusals import RefusalCounts
    from leasehold.leasing.service import Service

LONGEST_ID = 255
NUMBER = re.compile(r"0|[1-9]\d{0,5}", re.ASCII)
SWITCH = {"true": True, "1": True, "false": False, "0": False}
NOBODY = Caller(user_id="", project_id="")
"""The caller of a route that asks for no identity."""


@dataclass(frozen=True, slots=True)
class Api:
    """What all requests share, built once at start; `document` builds the OpenAPI description on its first call."""

    service: Service
    settings: ApiSettings
    authenticator: Authenticator
    policies: Policies
    rates: RateLimit
    admission: AdmissionControl
    delete_waits: DeleteWaits
    cloud_waits: CloudWaits
    event_waits: EventWaits
    health: HealthCheck
    refusals: RefusalCounts
    lease_texts: LeaseTexts
    document: Callable[[], Mapping[str, Any]]
    additions: Mapping[str, Addition]
    lease_fields: Sequence[tuple[LeaseField, ShowField]] = ()
    tried_fields: Sequence[tuple[LeaseField, ShowField]] = ()
    together_fields: Sequence[tuple[LeaseField, ShowTogether]] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One request, authenticated and authorized, on its way to a handler."""

    api: Api
    request: falcon.Request
    caller: Caller
    version: Version
    permit: Permit

    @property
    def service(self) -> Service:
        """The context of the use cases."""
        return self.api.service

    @property
    def strict(self) -> bool:
        """Whether what nothing reads is refused: unknown keys of the body and of the query, from 1.2 on."""
        return self.version >= STRICT_KEYS

    @property
    def is_admin(self) -> bool:
        """Whether the caller administers the service."""
        return self.api.policies.is_admin(self.caller)

    @property
    def sight(self) -> Sight:
        """What the caller may see of resources."""
        hosts = self.api.policies.allows(host_rules.GET, self.caller, self.caller)
        disabled = self.api.policies.allows(resource_rules.GET, self.caller, self.caller)
        return Sight(hosts=hosts, private=self.is_admin, disabled=disabled)

    @property
    def shows_disabled(self) -> bool:
        """Whether the answer says which resources are disabled, and why: from 1.2 on, to who may list them."""
        return self.version >= DISABLING and self.sight.disabled

    @property
    def shows_projects(self) -> bool:
        """Whether the answer says which projects alone may use a resource: from 1.3 on, to who may list them."""
        return self.version >= RESTRICTIONS and self.sight.disabled

    @property
    def closed_to(self) -> str | None:
        """The project that sees nothing of what is for other projects; None for who may list hosts."""
        return None if self.sight.hosts else self.caller.project_id

    def may_use_disabled(self, owner: Owned) -> bool:
        """Say whether a lease of this owner may get disabled resources in this request: only the caller's own lease."""
        own = self.version >= DISABLING and owner.user_id == self.caller.user_id
        return own and self.api.policies.allows(lease_rules.USE_DISABLED, self.caller, owner)

    @property
    def token(self) -> str | None:
        """The caller's Keystone token, for calls to the cloud in the caller's name; None without Keystone."""
        header: str | None = self.request.get_header("X-Auth-Token")
        return header if self.api.settings.auth_strategy == "keystone" else None

    def query(self, key: str) -> str | None:
        """Return the value of a query key, the last one of several; None when it is absent or empty."""
        value: str | None = self.request.get_param(key)
        return value or None

    def query_date(self, key: str, now: datetime) -> datetime | None:
        """Return the date that a query key holds; None when it is absent or empty. Raises InvalidDateError."""
        return self.date(self.query(key), key, now)

    def date(self, text: str | None, field: str, now: datetime | None = None) -> datetime | None:
        """Return the date that a client wrote; None for an absent, null or empty one. Raises InvalidDateError."""
        return dates.parse_optional(text, version=self.version, now=now or self.service.now(), field=field)

    def query_number(self, key: str, least: int, most: int) -> int | None:
        """Return the whole number that a query key holds; None when it is absent or empty.

        Raises InvalidInputError for anything else than a number from `least` to `most`.
        """
        text = self.query(key)
        if text is None:
            return None
        if not NUMBER.fullmatch(text) or not least <= int(text) <= most:
            raise InvalidInputError(f"{key} has to be a whole number from {least} to {most}.", field=key)
        return int(text)

    def query_switch(self, key: str) -> bool | None:
        """Return what a query key switches on or off, None when it is absent or empty; raises InvalidInputError."""
        text = self.query(key)
        if text is None:
            return None
        if text.lower() not in SWITCH:
            raise InvalidInputError(f"{key} has to be true or false.", field=key)
        return SWITCH[text.lower()]

    def listed_project(self) -> str | None:
        """Return whose things a list shows: the caller's project's, or with `all_projects` those of all (None).

        Raises InvalidInputError and ForbiddenError.
        """
        if not self.query_switch("all_projects"):
            return self.caller.project_id
        self.require_admin("Only administrators ask for what all projects have; leave all_projects out.")
        return None

    def require_admin(self, sentence: str) -> None:
        """Raise ForbiddenError with this sentence about `all_projects`, unless the caller administers the service."""
        if not self.is_admin:
            raise ForbiddenError(sentence, field="all_projects", details={"rule": ADMIN})

    def query_id(self, key: str) -> str | None:
        """Return the id that a query key holds; None when it is absent or empty.

        Raises InvalidInputError for text that cannot be an id: databases cannot compare a NUL or half a character.
        """
        value = self.query(key)
        if value is not None and not (len(value) <= LONGEST_ID and value.isascii() and value.isprintable()):
            raise InvalidInputError(f"{key} is not an id. Send an id from an answer of this API.", field=key)
        return value


Addition = Callable[["Call", Mapping[str, Any], Mapping[str, Collection[str]]], Mapping[str, Any]]
"""Returns what is added to a body that was sent, for the value of its key there (`leasehold.api.additions`).

The last argument has the keys that this kind of request takes, each with others that displace it.
"""


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is not JSON."""

    content: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A handler's answer. `status` replaces the route's.

    `wait` runs before the answer is sent, after the request has released its permit.
    """

    body: Mapping[str, Any] | Listing | Text | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: HTTPStatus | None = None
    wait: Callable[[], None] | None = None
