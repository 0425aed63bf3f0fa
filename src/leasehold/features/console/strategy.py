"""How people sign in at the console: the interface, and what `none` and `http_basic` do; Keystone is `keystone.py`."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from leasehold.api.auth.none import DEFAULT_PROJECT, DEFAULT_ROLES, DEFAULT_USER, read_roles, with_implied
from leasehold.features.console.bodies import ActAs, Password
from leasehold.features.console.identity import Identity, Named
from leasehold.features.console.model import Ended, FixedProjectError, SessionEndedError
from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any

    import falcon

    from leasehold.api.auth.http_basic import BasicAuthentication
    from leasehold.api.auth.none import NoAuthentication
    from leasehold.api.auth.users import User
    from leasehold.features.console.bodies import Body
    from leasehold.model.caller import Caller


@dataclass(frozen=True, slots=True)
class Admitted:
    """A person whom the strategy lets in; `until` is when what was proved ends, None for never."""

    identity: Identity
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """The first factor was right, and Keystone wants another one, with this receipt."""

    receipt: str = field(repr=False)
    user_id: str
    methods: tuple[str, ...]


class WebSso(Protocol):
    """Sign-in by an identity provider, to which the browser goes and from which it comes back with a token."""

    def sso_url(self, provider: str) -> str:
        """Return where the browser goes; raises WebSsoError for an unknown provider."""
        ...

    def check_sso_origin(self, origin: str | None) -> None:
        """Raise WebSsoError unless the page that sends the token is the right one, as far as the browser says."""
        ...

    def by_sso(self, token: str) -> Admitted:
        """Return who comes back with this token; raises UnauthorizedError."""
        ...


class Strategy(Protocol):
    """One authentication strategy at the console. Shared by all threads."""

    @property
    def websso(self) -> WebSso | None:
        """Sign-in by an identity provider, None if there is none."""
        ...

    def offers(self) -> Mapping[str, Any]:
        """Return what a page needs to know to ask for a sign-in."""
        ...

    def check(self, request: falcon.Request) -> None:
        """Raise if the strategy answers no such request at all, before anything else is looked at."""
        ...

    def sign_in(self, way: Body) -> Admitted | SecondFactor:
        """Return who signs in; raises UnauthorizedError and others with a sentence for the person."""
        ...

    def caller(self, request: falcon.Request, identity: Identity) -> Caller:
        """Return the caller of an API request of this person, whose headers and environment it completes.

        Raises SessionEndedError if the person may not work any more.
        """
        ...

    def projects(self, identity: Identity) -> Sequence[Named]:
        """Return the projects that the person can switch to, the own one included; none if there is no switch."""
        ...

    def switch(self, identity: Identity, project_id: str) -> Admitted:
        """Return the person in another project; raises ForbiddenError."""
        ...

    def left(self, identity: Identity, after: Identity | None = None) -> None:
        """Revoke what the person used, except what `after` goes on using; a failure is logged."""
        ...


class Fixed:
    """The parts of a strategy in which a person has one project, and no identity provider."""

    websso: WebSso | None = None

    def projects(self, _identity: Identity) -> Sequence[Named]:
        """There is no switch."""
        return ()

    def switch(self, _identity: Identity, _project_id: str) -> Admitted:
        """There is no switch."""
        raise FixedProjectError("A session here has one project. Sign in again for another one.", field="project")

    def left(self, _identity: Identity, _after: Identity | None = None) -> None:
        """Nothing was issued."""


class ActingAs(Fixed):
    """Strategy `none`: the person says whom to act as, on the machine itself."""

    def __init__(self, inner: NoAuthentication) -> None:
        self._inner = inner

    def offers(self) -> Mapping[str, Any]:
        """Offer to act as the strategy's default caller."""
        roles = sorted(read_roles(DEFAULT_ROLES))
        act_as = {"user": DEFAULT_USER, "project": DEFAULT_PROJECT, "roles": roles}
        return {"methods": ["act_as"], "domain": None, "websso": [], "act_as": act_as}

    def check(self, request: falcon.Request) -> None:
        """Answer this machine alone, under its own names, and no page of another site."""
        self._inner.identify(request)

    def sign_in(self, way: Body) -> Admitted:
        """Let everybody in as anybody."""
        if not isinstance(way, ActAs):
            raise InvalidInputError("Send act_as: this API does not authenticate callers.")
        for name in (way.user, way.project, *way.roles):
            if not (name.isascii() and name.isprintable()) or "," in name:
                message = "act_as takes printable ASCII characters without commas."
                raise InvalidInputError(message, field="act_as")
        roles = tuple(sorted(with_implied(read_roles(",".join(way.roles)))))
        user, project = Named(way.user, way.user), Named(way.project, way.project)
        return Admitted(Identity("none", user, project, roles))

    def caller(self, request: falcon.Request, identity: Identity) -> Caller:
        """Say in the headers who calls, as any client of this strategy does."""
        request.env["HTTP_X_USER_ID"] = identity.user.id
        request.env["HTTP_X_PROJECT_ID"] = identity.project.id
        # Without any role the strategy would give its default ones; no rule knows this one.
        request.env["HTTP_X_ROLES"] = ",".join(identity.roles) or "none"
        return self._inner.identify(request)


class ByPassword(Fixed):
    """Strategy `http_basic`: the password is checked once, and the user's line in the file at each request."""

    def __init__(self, inner: BasicAuthentication) -> None:
        self._inner = inner

    def offers(self) -> Mapping[str, Any]:
        """Ask for a name and a password."""
        return {"methods": ["password"], "domain": None, "websso": [], "act_as": None}

    def check(self, _request: falcon.Request) -> None:
        """Every request may sign in."""

    def sign_in(self, way: Body) -> Admitted:
        """Check the password; raises UnauthorizedError."""
        if not isinstance(way, Password):
            raise InvalidInputError("Send password, with the user's name and password.")
        user = self._inner.check(way.user, way.password.encode())
        caller = user.caller
        project = Named(caller.project_id, caller.project_id)
        name = Named(caller.user_id, caller.user_id)
        return Admitted(Identity("http_basic", name, project, tuple(sorted(caller.roles)), proof=_proof(user)))

    def caller(self, _request: falcon.Request, identity: Identity) -> Caller:
        """Return the caller that the file has now; who is not in it, or has another password, is signed out."""
        user = self._inner.user(identity.user.id)
        if user is None or not hmac.compare_digest(_proof(user), identity.proof):
            raise SessionEndedError(Ended.NONE)
        return user.caller


def _proof(user: User) -> str:
    return hashlib.sha256(user.password_hash).hexdigest()
