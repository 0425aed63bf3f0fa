"""The console's own requests: who is signed in, sign in, switch the project, sign out, and sessions elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from threading import Semaphore
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlencode

from leasehold.api import body as bodies
from leasehold.api.call import Reply
from leasehold.api.errors import MalformedRequestError
from leasehold.api.limits.admission_control import overloaded
from leasehold.api.models.base import read
from leasehold.api.versions import MAXIMUM
from leasehold.features.console import browser, views
from leasehold.features.console.bodies import ProjectChoice, SignIn
from leasehold.features.console.door import Opened
from leasehold.features.console.identity import seal
from leasehold.features.console.model import (
    SECRET,
    Ended,
    Session,
    SessionEndedError,
    WebSsoError,
    digest_of,
    new_secret,
)
from leasehold.features.console.paths import LONGEST_BODY
from leasehold.features.console.strategy import SecondFactor
from leasehold.features.console.use import begin_session, end_named, end_session, list_sessions
from leasehold.metrics.request import CLOUD
from leasehold.model.errors import IdentityUnavailableError, LeaseholdError, UnauthorizedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import falcon

    from leasehold.api.call import Api
    from leasehold.api.models.base import RequestModel
    from leasehold.features.console.door import Sessions
    from leasehold.features.console.strategy import Admitted, Strategy, WebSso

SET_COOKIE: Final = "Set-Cookie"
FORM_TYPE: Final = "application/x-www-form-urlencoded"


class Console:
    """What all requests of the console share."""

    def __init__(self, api: Api, sessions: Sessions, strategy: Strategy) -> None:
        """Keep the parts. A quarter of the requests that run at the same time may sign somebody in."""
        self.api = api
        self.sessions = sessions
        self.strategy = strategy
        self._places = Semaphore(max(2, api.settings.threads // 4))

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Ask the strategy, which may take as long as Keystone does; raises OverloadedError if too many do."""
        if not self._places.acquire(blocking=False):
            raise overloaded(CLOUD)
        try:
            yield
        finally:
            self._places.release()


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a page."""

    console: Console
    request: falcon.Request
    response: falcon.Response

    def opened(self) -> Opened:
        """Return the session; raises SessionEndedError."""
        found = self.console.sessions.open(self.request)
        if isinstance(found, Ended):
            raise SessionEndedError(found)
        return found

    def read(self, model: type[RequestModel]) -> Any:
        """Return the body, which has to say that it is JSON."""
        sent = bodies.read(self.request, LONGEST_BODY, typed=True)
        return read(model, sent, MAXIMUM, strict=True)

    def hand_over(self, secret: str) -> None:
        """Give the browser the secret of its session; an empty one takes it back."""
        name = browser.cookie_name(self.request, self.console.sessions.settings)
        self.response.append_header(SET_COOKIE, browser.session_cookie(name, secret))


def show(visit: Visit) -> Reply:
    """Say who is signed in, or how one can sign in: always with 200, because a browser logs each 401."""
    found = visit.console.sessions.open(visit.request)
    if isinstance(found, Opened):
        try:
            return Reply(_document(visit, found))
        except UnauthorizedError:
            # Its tokens were revoked elsewhere.
            end_session(visit.console.api.service, found.secret)
            found = Ended.EXPIRED
    if browser.secret_in(visit.request, visit.console.sessions.settings) is not None:
        visit.hand_over("")
    return Reply({"session": None, "ended": found, "sign_in": _sign_in(visit)})


def sign_in(visit: Visit) -> Reply:
    """Begin a session, in place of the one that the browser has. Failures count against the address."""
    browser.check_secure(visit.request, visit.console.sessions.settings)
    way = visit.read(SignIn).way
    with visit.console.asking(), visit.console.api.rates.login(visit.request):
        found = visit.console.strategy.sign_in(way)
    if isinstance(found, SecondFactor):
        factor = {"receipt": found.receipt, "user_id": found.user_id, "methods": list(found.methods)}
        return Reply({"session": None, "second_factor": factor})
    return Reply(_document(visit, _begin(visit, found)), status=HTTPStatus.CREATED)


def sign_out(visit: Visit) -> Reply:
    """End the session, and revoke what it held; without a session there is nothing to do."""
    found = visit.console.sessions.open(visit.request)
    if isinstance(found, Opened):
        end_session(visit.console.api.service, found.secret)
        visit.console.strategy.left(found.identity)
    visit.hand_over("")
    return Reply(headers={"Clear-Site-Data": '"cache", "storage"'}, status=HTTPStatus.NO_CONTENT)


def switch(visit: Visit) -> Reply:
    """Go on in another project, under another secret."""
    before = visit.opened()
    choice = visit.read(ProjectChoice)
    with visit.console.asking():
        admitted = visit.console.strategy.switch(before.identity, choice.project)
    return Reply(_document(visit, _begin(visit, admitted, before)))


def list_own(visit: Visit) -> Reply:
    """Show where the person is signed in."""
    opened = visit.opened()
    found = list_sessions(visit.console.api.service, opened.identity.user.id, visit.console.sessions.settings.idle)
    return Reply({"sessions": [views.show_row(each, opened) for each in found]})


def end_other(visit: Visit, name: str) -> Reply:
    """End a session of the person by its name; its tokens are sealed, so they end by themselves."""
    opened = visit.opened()
    end_named(visit.console.api.service, opened.identity.user.id, name)
    if name == opened.session.name:
        visit.console.strategy.left(opened.identity)
        visit.hand_over("")
    return Reply(status=HTTPStatus.NO_CONTENT)


# ---------------------------------------------------------------- by an identity provider


def begin_sso(visit: Visit) -> Reply:
    """Send the browser to Keystone, with a cookie that shows later that it began here."""
    browser.check_begin(visit.request)
    provider = visit.request.get_param("provider") or ""
    place = _websso(visit).sso_url(provider)
    visit.response.append_header(SET_COOKIE, browser.sso_cookie(new_secret()))
    return Reply(headers={"Location": place}, status=HTTPStatus.SEE_OTHER)


def end_sso(visit: Visit) -> Reply:
    """Take the token that Keystone's page sends, begin a session, and lead to the console; on failure with the code."""
    visit.response.append_header(SET_COOKIE, browser.sso_cookie(""))
    try:
        websso = _websso(visit)
        websso.check_sso_origin(visit.request.get_header("Origin"))
        begun = browser.values(visit.request.get_header("Cookie") or "", browser.SSO_COOKIE)
        if len(begun) != 1 or not SECRET.fullmatch(begun[0]):
            raise WebSsoError("This sign-in did not begin in this browser. Open the console, and begin there.")
        token = _form_token(visit.request)
        with visit.console.asking(), visit.console.api.rates.login(visit.request):
            admitted = websso.by_sso(token)
    except LeaseholdError as error:
        place = f"./?{urlencode({'refused': error.code})}"
    else:
        _begin(visit, admitted)
        place = "./"
    return Reply(headers={"Location": place}, status=HTTPStatus.SEE_OTHER)


def _websso(visit: Visit) -> WebSso:
    found = visit.console.strategy.websso
    if found is None:
        raise WebSsoError("There is no identity provider to sign in with. Open the console, and choose another way.")
    return found


def _form_token(request: falcon.Request) -> str:
    """Return the token in the form of Keystone's page; raises MalformedRequestError."""
    kind = (request.content_type or "").split(";", 1)[0].strip().lower()
    content = request.bounded_stream.read(LONGEST_BODY + 1)
    if kind != FORM_TYPE or len(content) > LONGEST_BODY:
        raise MalformedRequestError("The request is not the form of Keystone's page.")
    tokens = parse_qs(content.decode("latin-1")).get("token", [])
    if len(tokens) != 1:
        raise MalformedRequestError("The form of Keystone's page has no token.")
    return tokens[0]


# ---------------------------------------------------------------- parts


def _begin(visit: Visit, admitted: Admitted, before: Opened | None = None) -> Opened:
    """Write a session under a new secret in place of the one that the browser has, which ends with its tokens."""
    sessions = visit.console.sessions
    service, now = visit.console.api.service, visit.console.api.service.now()
    found = before or sessions.open(visit.request)
    old = found if isinstance(found, Opened) else None
    begun, end = now, now + sessions.settings.longest
    if before is not None:
        begun, end = before.session.created_at, before.session.expires_at
    if admitted.until is not None:
        end = min(end, admitted.until)
    identity, secret = admitted.identity, new_secret()
    new = Session(
        digest=digest_of(secret),
        user_id=identity.user.id,
        project_id=identity.project.id,
        created_at=begun,
        seen_at=now,
        expires_at=end,
        sealed=seal(identity, secret),
    )
    try:
        begin_session(
            service, new, None if old is None else old.secret, sessions.settings.idle, continues=before is not None
        )
    except SessionEndedError:
        # Signed out meanwhile, and a session that was ended does not come back under another secret.
        visit.console.strategy.left(identity)
        raise
    if old is not None:
        visit.console.strategy.left(old.identity, identity)
    visit.hand_over(secret)
    return Opened(secret, new, identity)


def _document(visit: Visit, opened: Opened) -> dict[str, Any]:
    api = visit.console.api
    caller = views.caller_of(opened.identity)
    try:
        projects = visit.console.strategy.projects(opened.identity)
    except IdentityUnavailableError:
        # The strategy has logged it; the page is of use without the others.
        projects = [opened.identity.project]
    session = views.show_session(
        opened,
        projects,
        api.policies.granted(caller),
        idle_seconds=int(visit.console.sessions.settings.idle.total_seconds()),
        region=api.settings.region,
    )
    return {"session": session, "sign_in": _sign_in(visit)}


def _sign_in(visit: Visit) -> Mapping[str, Any]:
    """Return how one can sign in."""
    return {"strategy": visit.console.sessions.strategy, **visit.console.strategy.offers()}


HANDLERS: Final[Mapping[str, Mapping[str, Callable[[Visit], Reply]]]] = {
    "session": {"GET": show, "POST": sign_in, "DELETE": sign_out},
    "session/project": {"POST": switch},
    "sessions": {"GET": list_own},
    "sso/start": {"GET": begin_sso},
    "sso": {"POST": end_sso},
}
"""The handlers by the path below `/console/` and the method; `sessions/{name}` has one more."""
NAVIGATED: Final = frozenset({"sso/start", "sso"})
"""What a browser goes to, instead of a page of the console asking for it."""
