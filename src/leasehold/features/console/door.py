"""The console's way to the API: `/console/v1/...` is the table of routes of `/v1`, behind a session.

The cookie is looked at here and nowhere else. The door takes the request's own proofs of identity away, and has the
strategy put in those of the session.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from leasehold.features.console.browser import PERSON, check_page, secret_in
from leasehold.features.console.identity import unseal
from leasehold.features.console.model import Ended, SessionEndedError
from leasehold.features.console.paths import API, ROOT
from leasehold.features.console.use import end_session, find_session, note_seen

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    import falcon

    from leasehold.api.auth.base import Authenticator
    from leasehold.features.console.identity import Identity
    from leasehold.features.console.model import Session
    from leasehold.features.console.options import ConsoleSettings
    from leasehold.features.console.strategy import Strategy
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller

DOOR: Final = "leasehold.door"
"""The key in a request's environment that says that it came through the console's door."""
IDENTITY_HEADERS: Final = ("HTTP_AUTHORIZATION", "HTTP_X_AUTH_TOKEN", "HTTP_X_STORAGE_TOKEN", "HTTP_X_SERVICE_TOKEN")
IDENTITY_PREFIXES: Final = ("HTTP_X_USER", "HTTP_X_PROJECT", "HTTP_X_ROLE", "HTTP_X_TENANT", "HTTP_X_DOMAIN")
"""Headers by which some strategy knows a caller; all that begins so goes."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that goes on, with the secret that opened it and who is signed in."""

    secret: str = field(repr=False)
    session: Session
    identity: Identity


class Sessions:
    """Opens sessions by the cookies of requests."""

    def __init__(self, service: Service, settings: ConsoleSettings, strategy: str) -> None:
        self.service = service
        self.settings = settings
        self.strategy = strategy

    def open(self, request: falcon.Request) -> Opened | Ended:
        """Return the session of a request, or why there is none; notes that its person is there.

        Raises MalformedRequestError for two cookies.
        """
        secret = secret_in(request, self.settings)
        if secret is None:
            return Ended.NONE
        found = find_session(self.service, secret, self.settings.idle)
        if isinstance(found, Ended):
            return found
        identity = unseal(found.sealed, secret)
        if identity is None or identity.strategy != self.strategy:
            # Of another version of the code, or from before the strategy was changed.
            end_session(self.service, secret)
            return Ended.NONE
        if request.get_header(PERSON) == "1":
            note_seen(self.service, found)
        return Opened(secret, found, identity)


class Door:
    """Middleware that leads `/console/v1/...` to the routes of `/v1`."""

    def process_request(self, request: falcon.Request, _response: falcon.Response) -> None:
        """Move the first part of the path away, as if the API were mounted there, so that its links lead back here."""
        if not request.path.startswith(API):
            return
        environ = request.env
        strip_identity(environ)
        environ[DOOR] = True
        environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + ROOT
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix(ROOT)
        request.path = request.path.removeprefix(ROOT)

    def process_response(self, request: falcon.Request, response: falcon.Response, *_more: object) -> None:
        """Have no cache keep an answer that depends on the cookie."""
        if DOOR in request.env:
            response.set_header("Cache-Control", "no-store")
            response.set_header("X-Content-Type-Options", "nosniff")


class DoorKeeper:
    """Identifies the callers of all requests: those that came through the door by their session, others as ever."""

    def __init__(self, inner: Authenticator, sessions: Sessions, strategy: Strategy) -> None:
        self._inner = inner
        self._sessions = sessions
        self._strategy = strategy
        self.challenge = inner.challenge

    def identify(self, request: falcon.Request) -> Caller:
        """Return the caller; raises SessionEndedError for a request through the door without a session."""
        if DOOR not in request.env:
            return self._inner.identify(request)
        check_page(request)
        opened = self._sessions.open(request)
        # Nothing behind the door sees the cookie.
        request.env.pop("HTTP_COOKIE", None)
        if isinstance(opened, Ended):
            raise SessionEndedError(opened)
        prefix = request.env["SCRIPT_NAME"]
        # The access rules of application credentials name the paths of the API, not those of the console.
        request.env["SCRIPT_NAME"] = prefix.removesuffix(ROOT)
        try:
            return self._strategy.caller(request, opened.identity)
        except SessionEndedError:
            end_session(self._sessions.service, opened.secret)
            raise
        finally:
            request.env["SCRIPT_NAME"] = prefix


def strip_identity(environ: MutableMapping[str, Any]) -> None:
    """Take away what a request says of its caller."""
    for name in [name for name in environ if name in IDENTITY_HEADERS or name.startswith(IDENTITY_PREFIXES)]:
        del environ[name]
