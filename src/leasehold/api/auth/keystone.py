"""Strategy `keystone`: a token with every request, validated by keystonemiddleware, which also remembers it.

The middleware is a WSGI application in front of another one. It is asked about each request on its own, in front of one
that does nothing, so that the pipeline stays in charge of what is public and of what an answer looks like. What it then
says about the caller stands in the request's environment, in place of whatever the client had sent there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from keystoneauth1 import exceptions as keystone_errors
from keystonemiddleware import auth_token
from webob import Request

from leasehold.api.auth.none import read_roles
from leasehold.api.auth.token_cache import TokenCache
from leasehold.conf.errors import ConfigurationError
from leasehold.conf.keystone import MIDDLEWARE_GROUP as GROUP
from leasehold.conf.keystone import load_login
from leasehold.model.caller import Caller
from leasehold.model.errors import ForbiddenError, IdentityUnavailableError, UnauthorizedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import falcon
    from oslo_config import cfg

CACHE = "leasehold.token_cache"
"""Where in a request's environment the middleware finds a cache other than memcached."""

DEFAULTS = {"service_type": "reservation", "http_connect_timeout": 10, "http_request_max_retries": 1}
"""Ours, where the middleware has none or a worse one. Without the first no access rules of application credentials can
be checked; without the second a silent Keystone holds our threads for ever, and with more retries a dead one does."""

TOKEN_HEADERS = ("HTTP_X_AUTH_TOKEN", "HTTP_X_STORAGE_TOKEN", "HTTP_X_SERVICE_TOKEN")
TOKEN = re.compile(r"\s*[!-~]{1,2048}\s*", re.ASCII)
"""Everything that Keystone ever issued fits; the rest would be an error of transport, as if Keystone were down."""

OK, UNAUTHORIZED = 200, 401


class KeystoneAuthentication:
    """Believes Keystone."""

    def __init__(self, raw: cfg.ConfigOpts) -> None:
        """Read `[keystone_authtoken]`, and speak to nobody yet; raises `ConfigurationError`."""
        for group, options in auth_token.list_opts():
            raw.register_opts(options, group=group)
        for name, value in DEFAULTS.items():
            raw.set_default(name, value, group=GROUP)
        uri = _public_uri(raw)
        self.challenge: str | None = f'Keystone uri="{uri}"'
        self._additions: Mapping[str, Any] = {} if raw[GROUP].memcached_servers else {CACHE: TokenCache()}
        # With a delayed decision Keystone's absence would look like a bad token.
        overrides = {"delay_auth_decision": False, "www_authenticate_uri": uri, "cache": CACHE}
        self._middleware = auth_token.AuthProtocol(_accept, {"oslo_config_config": raw, **overrides})

    def identify(self, request: falcon.Request) -> Caller:
        """Return whom the token in `X-Auth-Token` is for.

        Raises `ForbiddenError` for a token without a project, and `IdentityUnavailableError` when it cannot be checked.
        """
        environ = request.env
        if not any(environ.get(header) for header in TOKEN_HEADERS[:2]):
            raise UnauthorizedError("This API wants a token from Keystone, in the header X-Auth-Token.")
        if not all(TOKEN.fullmatch(environ[header]) for header in TOKEN_HEADERS if header in environ):
            raise UnauthorizedError("What the request carries as a token is not one. Ask Keystone for a token.")
        environ.update(self._additions)
        try:
            status = Request(environ).get_response(self._middleware).status_code
        except keystone_errors.ClientException as error:
            raise _unavailable() from error
        except UnicodeDecodeError as error:
            # Only a token with access rules has the middleware read the path.
            raise UnauthorizedError("The path is not UTF-8, so no access rule of the token allows it.") from error
        if status == OK:
            return _caller(environ)
        if status == UNAUTHORIZED:
            raise UnauthorizedError(_complaint(environ))
        raise _unavailable()


def _accept(_environ: Mapping[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Stand behind the middleware: what arrives here is authenticated."""
    start_response("200 OK", [])
    return []


def _unavailable() -> IdentityUnavailableError:
    message = "Keystone cannot be asked about the token now; nothing was changed. Try again in a moment."
    return IdentityUnavailableError(message)


def _complaint(environ: Mapping[str, Any]) -> str:
    if environ.get("HTTP_X_SERVICE_IDENTITY_STATUS") == "Invalid":
        return "The token in X-Service-Token is not valid, or not that of a service. Send one with a service's role."
    return "The token is not valid: it is wrong, expired or revoked. Ask Keystone for a new one."


def _caller(environ: Mapping[str, Any]) -> Caller:
    project = environ.get("HTTP_X_PROJECT_ID")
    if not project:
        raise _without_project(environ)
    return Caller(
        user_id=environ["HTTP_X_USER_ID"],
        project_id=project,
        roles=read_roles(environ["HTTP_X_ROLES"]),
        user_domain_id=environ.get("HTTP_X_USER_DOMAIN_ID"),
        project_domain_id=environ.get("HTTP_X_PROJECT_DOMAIN_ID"),
        is_admin_project=environ.get("HTTP_X_IS_ADMIN_PROJECT") != "False",
        service=_service(environ),
    )


def _service(environ: Mapping[str, Any]) -> Caller | None:
    """Return the service that passes the request on, if one proved that it does."""
    user = environ.get("HTTP_X_SERVICE_USER_ID")
    if not user:
        return None
    return Caller(
        user_id=user,
        project_id=environ.get("HTTP_X_SERVICE_PROJECT_ID") or "",
        roles=frozenset(filter(None, environ["HTTP_X_SERVICE_ROLES"].split(","))),
        user_domain_id=environ.get("HTTP_X_SERVICE_USER_DOMAIN_ID"),
        project_domain_id=environ.get("HTTP_X_SERVICE_PROJECT_DOMAIN_ID"),
    )


def _without_project(environ: Mapping[str, Any]) -> ForbiddenError:
    """Leases belong to projects, so every policy has the scope `project`, and no other token can mean anything."""
    if environ.get("HTTP_X_DOMAIN_ID"):
        scope, what = "domain", "for a domain"
    elif environ.get("HTTP_OPENSTACK_SYSTEM_SCOPE"):
        scope, what = "system", "for the whole system"
    else:
        scope, what = "unscoped", "for nothing in particular"
    message = (
        f"The token is {what}, and leases belong to projects. Ask Keystone for a token for a project: with "
        "OS_PROJECT_ID or OS_PROJECT_NAME set, and OS_SYSTEM_SCOPE and OS_DOMAIN_ID unset."
    )
    return ForbiddenError(message, details={"scope": scope})


def _public_uri(raw: cfg.ConfigOpts) -> str:
    """Return where clients get tokens: by default where the service itself logs in.

    Raises `ConfigurationError` when the service has nothing to log in with.
    """
    section = raw[GROUP].auth_section or GROUP
    advice = f"Set auth_type = password, auth_url, username, password, project_name and the domains in [{section}]."
    credentials = load_login(raw, GROUP)
    if credentials is None:
        raise ConfigurationError(f"auth_strategy keystone needs a user of its own to validate tokens. {advice}")
    uri = raw[GROUP].www_authenticate_uri or getattr(credentials, "auth_url", None)
    if not uri:
        raise ConfigurationError(f"Set [{GROUP}] www_authenticate_uri to the public URL of Keystone.")
    return str(uri)
