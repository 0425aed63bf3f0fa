"""Sign-in at the console with Keystone: password and second factor, token, application credential, identity provider.

A person gets an unscoped token first, which opens their projects, and one for the chosen project. Keystone limits both
to the time of the first, so no session renews itself.
"""

from __future__ import annotations

import logging
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

from keystoneauth1 import exceptions as errors
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from leasehold.conf.keystone import MIDDLEWARE_GROUP, load_login
from leasehold.features.console.bodies import ApplicationCredential, Password, PastedToken, Totp
from leasehold.features.console.identity import AccessRule, Identity, Named
from leasehold.features.console.model import (
    Ended,
    FixedProjectError,
    NoProjectError,
    PasswordExpiredError,
    SessionEndedError,
    WebSsoError,
)
from leasehold.features.console.strategy import Admitted, SecondFactor
from leasehold.model.errors import ForbiddenError, IdentityUnavailableError, InvalidInputError, UnauthorizedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import falcon
    from keystoneauth1.identity.v3.base import AuthMethod
    from oslo_config import cfg

    from leasehold.api.auth.base import Authenticator
    from leasehold.features.console.bodies import Body
    from leasehold.features.console.options import ConsoleSettings
    from leasehold.features.console.strategy import WebSso
    from leasehold.model.caller import Caller

LOG = logging.getLogger(__name__)

SECONDS: Final = 10.0
"""For one call to Keystone."""
MOST_TRIED: Final = 5
"""Projects that are tried for a person who has named none; Keystone lists some that it then refuses."""
EXPIRED: Final = re.compile(r"password is expired\b.*?user: ([\w-]{1,255})", re.IGNORECASE | re.ASCII | re.DOTALL)
"""Keystone's message about a password that has to be changed, with the user's id: no other mark tells it from a wrong
one."""
SAME_SECOND: Final = 1.0
"""Keystone counts in whole seconds, and refuses every token of the second in which a password was changed."""
LONGEST_REASON: Final = 300
"""In characters, of what Keystone says about a new password."""
TOKEN: Final = re.compile(r"[!-~]{1,4096}", re.ASCII)
WRONG: Final = "Keystone does not know this user with this password. Check the name, the domain and the password."
WRONG_CODE: Final = "Keystone does not take this code. Type the one shown now, or begin again with the password."
NOT_VALID: Final = "The token is not valid: it is wrong, expired or revoked. Get a new one from Keystone."
UNAVAILABLE: Final = "Keystone does not answer now. Try again in a moment."


@dataclass(frozen=True, slots=True)
class Issued:
    """A token and what Keystone says about it."""

    token: str = field(repr=False)
    until: datetime
    user: Named
    project: Named | None
    roles: tuple[str, ...]
    document: Mapping[str, Any] = field(repr=False)


class WithKeystone:
    """Strategy `keystone`."""

    def __init__(self, inner: Authenticator, raw: cfg.ConfigOpts, settings: ConsoleSettings) -> None:
        """Read where Keystone is, without calling it; `inner` validates the token of each API request."""
        self._inner = inner
        self._settings = settings
        section = raw[MIDDLEWARE_GROUP]
        login = load_login(raw, MIDDLEWARE_GROUP)
        # The strategy of the API has refused to start without either.
        url = str(getattr(login, "auth_url", None) or section.www_authenticate_uri).rstrip("/")
        self._url = url if url.endswith("/v3") else f"{url}/v3"
        public = (settings.keystone_url or section.www_authenticate_uri or url).rstrip("/")
        self._public = public if public.endswith("/v3") else f"{public}/v3"
        self._verify: Any = False if section.insecure else section.cafile or True
        self.websso: WebSso | None = self if settings.websso else None
        self._cert = (section.certfile, section.keyfile) if section.certfile and section.keyfile else section.certfile

    def offers(self) -> Mapping[str, Any]:
        """Ask for a password, an application credential or a token, or lead to an identity provider."""
        websso = [
            {"id": each.id, "name": each.label, "href": f"sso/start?{urlencode({'provider': each.id})}"}
            for each in self._settings.websso
        ]
        return {
            "methods": ["password", "application_credential", "token"],
            "domain": self._settings.domain,
            "websso": websso,
            "act_as": None,
        }

    def check(self, _request: falcon.Request) -> None:
        """Every request may sign in."""

    def sign_in(self, way: Body) -> Admitted | SecondFactor:
        """Let Keystone decide."""
        if isinstance(way, Password):
            try:
                return self._by_password(way, way.password)
            except PasswordExpiredError as error:
                if way.new_password is None:
                    raise
                self._change_password(error.details["user_id"], way.password, way.new_password)
                return self._by_password(way, way.new_password)
        if isinstance(way, Totp):
            self._check_token(way.receipt)
            methods = [v3.TOTPMethod(user_id=way.user_id, passcode=way.passcode), v3.ReceiptMethod(receipt=way.receipt)]
            return self._by_factor(methods, way.project, WRONG_CODE)
        if isinstance(way, PastedToken):
            return self._by_token(way.token.strip(), way.project)
        if isinstance(way, ApplicationCredential):
            return self._by_credential(way)
        raise InvalidInputError("Send password, totp, token or application_credential.")

    def caller(self, request: falcon.Request, identity: Identity) -> Caller:
        """Have the token of the session validated as that of any request is."""
        request.env["HTTP_X_AUTH_TOKEN"] = identity.token
        try:
            return self._inner.identify(request)
        except UnauthorizedError as error:
            if identity.access_rules is None:
                raise SessionEndedError(Ended.EXPIRED) from error
            # The middleware does not say whether the credential is over or has no rule for this path.
            raise ForbiddenError(
                "The application credential does not allow this, or was deleted. Sign in with another one, or with a "
                "password."
            ) from error

    def projects(self, identity: Identity) -> Sequence[Named]:
        """Ask Keystone, by name; none if there is no switch."""
        return self._projects(identity.unscoped) if identity.unscoped else ()

    def switch(self, identity: Identity, project_id: str) -> Admitted:
        """Get a token for the other project."""
        if not identity.unscoped:
            raise FixedProjectError(
                "This session has one project, because of the way in which you signed in. Sign in with a password for "
                "another one.",
                field="project",
            )
        found = self._scoped(identity.unscoped, project_id)
        if found is None:
            raise NoProjectError("Keystone gives you no token for this project. Choose another one.", field="project")
        kept = tuple(token for token in identity.revoke if token != identity.token)
        return self._admit(found, identity.unscoped, (*kept, found.token))

    def left(self, identity: Identity, after: Identity | None = None) -> None:
        """Revoke the tokens that were issued here."""
        goes_on = () if after is None else after.revoke
        self._revoke(token for token in identity.revoke if token not in goes_on)

    # ------------------------------------------------------------ the browser's way to an identity provider

    def sso_url(self, provider: str) -> str:
        """Return where the browser goes to sign in by an identity provider; raises WebSsoError for an unknown one."""
        found = next((each for each in self._settings.websso if each.id == provider), None)
        if found is None:
            raise WebSsoError("There is no such way to sign in. Open the console, and choose one there.")
        protocol = quote(found.protocol, safe="")
        path = f"websso/{protocol}"
        if found.provider is not None:
            path = f"identity_providers/{quote(found.provider, safe='')}/protocols/{protocol}/websso"
        origin = urlencode({"origin": f"{self._settings.public_url}/sso"})
        return f"{self._public}/auth/OS-FEDERATION/{path}?{origin}"

    def check_sso_origin(self, origin: str | None) -> None:
        """Raise WebSsoError unless Keystone's page sent the form, or one whose browser hides where it was."""
        parts = urlsplit(self._public)
        if origin not in (f"{parts.scheme}://{parts.netloc}".lower(), "null"):
            raise WebSsoError("The form did not come from Keystone. Open the console, and begin to sign in there.")

    def by_sso(self, token: str) -> Admitted:
        """Return who has this unscoped token of Keystone's page."""
        self._check_token(token)
        return self._first_project(token, None, (token,))

    # ------------------------------------------------------------ calls to Keystone

    def _session(self) -> Session:
        return Session(verify=self._verify, cert=self._cert, timeout=SECONDS, user_agent="leasehold-console")

    def _issue(self, methods: list[AuthMethod], wrong: str, **scope: Any) -> Issued:
        """Return a new token; raises UnauthorizedError with the sentence, or as `_translated` does."""
        with _translated(wrong):
            found = v3.Auth(self._url, methods, include_catalog=False, **scope).get_auth_ref(self._session())
            return _issued(str(found.auth_token), found._data["token"])  # noqa: SLF001 - it shows no access rules.

    def _by_password(self, way: Password, password: str) -> Admitted | SecondFactor:
        domain = way.domain or self._settings.domain
        method = v3.PasswordMethod(username=way.user, password=password, user_domain_name=domain)
        return self._by_factor([method], way.project)

    def _change_password(self, user_id: str, old: str, new: str) -> None:
        """Replace an expired password, for which Keystone wants no token; raises InvalidInputError with its reason.

        Returns when Keystone accepts the tokens that it issues.
        """
        place = f"{self._url}/users/{quote(user_id, safe='')}/password"
        body = {"user": {"original_password": old, "password": new}}
        with _translated(WRONG):
            try:
                self._session().post(place, json=body, authenticated=False, log=False)
            except errors.BadRequest as error:
                why = "".join(each for each in str(error.message) if each.isprintable())[:LONGEST_REASON]
                raise InvalidInputError(f"Keystone refuses the new password: {why}", field="new_password") from None
        time.sleep(SAME_SECOND)

    def _by_factor(self, methods: list[AuthMethod], project: str | None, wrong: str = WRONG) -> Admitted | SecondFactor:
        try:
            found = self._issue(methods, wrong, unscoped=True)
        except errors.MissingAuthMethods as error:
            return _second_factor(error)
        return self._first_project(found.token, project, (found.token,))

    def _by_credential(self, way: ApplicationCredential) -> Admitted:
        if bool(way.id) == bool(way.name and way.user):
            message = "Send the id of the application credential, or its name with the user's."
            raise InvalidInputError(message, field="application_credential")
        method = v3.ApplicationCredentialMethod(
            application_credential_secret=way.secret,
            application_credential_id=way.id,
            application_credential_name=None if way.id else way.name,
            username=None if way.id else way.user,
            user_domain_name=None if way.id else way.domain or self._settings.domain,
        )
        wrong = "Keystone does not know this application credential. Check its id and its secret."
        found = self._issue([method], wrong)
        return self._admit(found, "", (found.token,))

    def _by_token(self, token: str, project: str | None) -> Admitted:
        """Take a person's own token, which stays valid after the session: only what is issued here is revoked."""
        self._check_token(token)
        pasted = self._validate(token)
        if pasted.project is None:
            return self._first_project(token, project, ())
        fixed = self._admit(pasted, "", ())
        if "application_credential" in pasted.document:
            return fixed
        try:
            unscoped = self._issue([v3.TokenMethod(token=token)], NOT_VALID, unscoped=True).token
        except UnauthorizedError:
            LOG.debug("Keystone gives no unscoped token for a scoped one, so the session has one project.")
            return fixed
        return self._first_project(unscoped, project or pasted.project.id, (unscoped,))

    def _validate(self, token: str) -> Issued:
        headers = {"X-Auth-Token": token, "X-Subject-Token": token, "Accept": "application/json"}
        with _translated(NOT_VALID):
            answer = self._session().get(f"{self._url}/auth/tokens", headers=headers, authenticated=False, log=False)
            return _issued(token, answer.json()["token"])

    def _first_project(self, unscoped: str, project: str | None, revoke: tuple[str, ...]) -> Admitted:
        """Return the person in the project that was named, or in the first one for which Keystone gives a token."""
        names = [each.id for each in self._projects(unscoped)] if project is None else [project]
        for name in names[:MOST_TRIED]:
            found = self._scoped(unscoped, name)
            if found is not None:
                return self._admit(found, unscoped, (*revoke, found.token))
        self._revoke(revoke)
        raise NoProjectError(
            "You have no role in a project, and leases belong to projects. Ask an administrator of the cloud for one."
            if project is None
            else "Keystone gives you no token for this project. Choose another one."
        )

    def _projects(self, unscoped: str) -> Sequence[Named]:
        headers = {"X-Auth-Token": unscoped, "Accept": "application/json"}
        with _translated(NOT_VALID):
            answer = self._session().get(f"{self._url}/auth/projects", headers=headers, authenticated=False, log=False)
            found = answer.json()["projects"]
        here = [Named(each["id"], each["name"], None, each.get("domain_id")) for each in found if each.get("enabled")]
        return sorted(here, key=lambda each: (each.name.lower(), each.id))

    def _scoped(self, unscoped: str, project: str) -> Issued | None:
        """Return a token for a project; None if Keystone gives none for it."""
        try:
            return self._issue([v3.TokenMethod(token=unscoped)], NOT_VALID, project_id=project)
        except UnauthorizedError:
            LOG.debug("Keystone gives no token for the project %r.", project)
            return None

    def _revoke(self, tokens: Iterable[str]) -> None:
        """Revoke tokens that nobody needs any more; Keystone lets those expire that it cannot revoke now."""
        for token in tokens:
            headers = {"X-Auth-Token": token, "X-Subject-Token": token}
            try:
                self._session().delete(f"{self._url}/auth/tokens", headers=headers, authenticated=False, log=False)
            except (errors.NotFound, errors.Unauthorized):
                LOG.debug("A token of the console that is not needed any more is not valid any more.")
            except errors.ClientException as error:
                LOG.warning(
                    "A token that the console needs no more could not be revoked; Keystone lets it expire: %s",
                    type(error).__name__,
                )

    def _admit(self, found: Issued, unscoped: str, revoke: tuple[str, ...]) -> Admitted:
        """Return the person of a token for a project; raises NoProjectError."""
        if found.project is None:
            raise NoProjectError(
                "The token is not for a project, and leases belong to projects. Get one for a project."
            )
        identity = Identity(
            strategy="keystone",
            user=found.user,
            project=found.project,
            roles=found.roles,
            is_admin_project=found.document.get("is_admin_project", True) is not False,
            token=found.token,
            unscoped=unscoped,
            revoke=revoke,
            access_rules=_rules(found.document),
        )
        return Admitted(identity, found.until)

    def _check_token(self, text: str) -> None:
        """Raise UnauthorizedError for text that no header can hold."""
        if not TOKEN.fullmatch(text):
            raise UnauthorizedError(NOT_VALID)


@contextmanager
def _translated(wrong: str) -> Iterator[None]:
    """Turn what Keystone refuses and what fails on the way into errors of our own; their messages hold no secret."""
    try:
        yield
    except errors.MissingAuthMethods:
        raise
    except errors.Unauthorized as error:
        expired = EXPIRED.search(str(error.message))
        if expired:
            message = "Your password has expired. Choose a new one."
            raise PasswordExpiredError(message, field="new_password", details={"user_id": expired[1]}) from error
        raise UnauthorizedError(wrong) from error
    except (errors.Forbidden, errors.NotFound, errors.BadRequest) as error:
        raise UnauthorizedError(wrong) from error
    except (errors.ClientException, ValueError, KeyError, TypeError) as error:
        # What is no answer of Keystone is as good as none.
        LOG.warning("Keystone could not be asked for a sign-in at the console: %s", type(error).__name__)
        raise IdentityUnavailableError(UNAVAILABLE) from error


def _second_factor(error: errors.MissingAuthMethods) -> SecondFactor:
    """Return what Keystone still wants; raises UnauthorizedError if the console has no form for any of it."""
    document = error.response.json()["receipt"]
    had = set(error.methods)
    wanted = [rule for rule in error.required_auth_methods if had < set(rule)]
    if not any(set(rule) - had == {"totp"} for rule in wanted):
        raise UnauthorizedError(
            "Keystone wants another proof of who you are, and the console can only ask for a passcode. Sign in with an "
            "application credential."
        ) from error
    return SecondFactor(str(error.receipt), str(document["user"]["id"]), ("totp",))


def _issued(token: str, document: Mapping[str, Any]) -> Issued:
    """Read what Keystone says about a token; raises KeyError, TypeError or ValueError for something else."""
    project = document.get("project")
    return Issued(
        token=token,
        until=datetime.fromisoformat(document["expires_at"]),
        user=_named(document["user"]),
        project=None if project is None else _named(project),
        roles=tuple(sorted({role["name"].lower() for role in document.get("roles", ())})),
        document=document,
    )


def _named(found: Mapping[str, Any]) -> Named:
    domain = found.get("domain") or {}
    return Named(found["id"], found["name"], domain.get("name"), domain.get("id"))


def _rules(document: Mapping[str, Any]) -> tuple[AccessRule, ...] | None:
    """Return what an application credential allows at this service; None without such limits."""
    rules = (document.get("application_credential") or {}).get("access_rules")
    if rules is None:
        return None
    return tuple(AccessRule(each["method"], each["path"]) for each in rules if each["service"] == "reservation")
