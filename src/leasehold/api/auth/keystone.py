"""Strategy `keystone`: a token with every request, validated and cached by keystonemiddleware.

The middleware wraps a WSGI application. Here it wraps a stub and is called once for each request, so that the pipeline
decides which routes are public and what an answer looks like. The middleware writes the caller into the request's
environment, and replaces any value that the client sent there.
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
"""The key in a request's environment under which the middleware finds a cache other than memcached."""

DEFAULTS = {"service_type": "reservation", "http_connect_timeout": 10, "http_request_max_retries": 1}
"""Our defaults, where the middleware has none or a worse one. Without the service type, access rules of application
credentials cannot be checked. Without the timeout a hanging Keystone blocks our threads for ever; more retries would
block them while Keystone is down."""

TOKEN_HEADERS = ("HTTP_X_AUTH_TOKEN", "HTTP_X_STORAGE_TOKEN", "HTTP_X_SERVICE_TOKEN")
TOKEN = re.compile(r"\s*[!-~]{1,2048}\s*", re.ASCII)
"""Matches every token that Keystone ever issued; others would cause a transport error, as if Keystone were down."""

OK, UNAUTHORIZED = 200, 401


class KeystoneAuthentication:
    """Validates tokens with Keystone."""

    def __init__(self, raw: cfg.ConfigOpts) -> None:
        """Read `[keystone_authtoken]` without calling Keystone; raises `ConfigurationError`."""
        for group, options in auth_token.list_opts():
            raw.register_opts(options, group=group)
        for name, value in DEFAULTS.items():
            raw.set_default(name, value, group=GROUP)
        uri = _public_uri(raw)
        self.challenge: str | None = f'Keystone uri="{uri}"'
        self._additions: Mapping[str, Any] = {} if raw[GROUP].memcached_servers else {CACHE: TokenCache()}
        # With a delayed decision an unreachable Keystone would look like a bad token.
        overrides = {"delay_auth_decision": False, "www_authenticate_uri": uri, "cache": CACHE}
        self._middleware = auth_token.AuthProtocol(_accept, {"oslo_config_config": raw, **overrides})

    def identify(self, request: falcon.Request) -> Caller:
        """Return the user and the project of the token in `X-Auth-Token`.

        Raises `ForbiddenError` for a token without a project, and `IdentityUnavailableError` when it cannot be checked.
        """
        environ = request.env
        if not any(environ.get(header) for header in TOKEN_HEADERS[:2]):
            raise UnauthorizedError("This API wants a token from Keystone, in the header X-Auth-Token.")
        if not all(TOKEN.fullmatch(environ[header]) for header in TOKEN_HEADERS if header in environ):
            raise UnauthorizedError("A token header of the request does not hold a token. Ask Keystone for one.")
        environ.update(self._additions)
        try:
            status = Request(environ).get_response(self._middleware).status_code
        except keystone_errors.ClientException as error:
            raise _unavailable() from error
        except UnicodeDecodeError as error:
            # The middleware reads the path only for a token with access rules.
            raise UnauthorizedError("The path is not UTF-8, so no access rule of the token allows it.") from error
        if status == OK:
            return _caller(environ)
        if status == UNAUTHORIZED:
            raise UnauthorizedError(_complaint(environ))
        raise _unavailable()


def _accept(_environ: Mapping[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Serve as the stub behind the middleware: a request that arrives here is authenticated."""
    start_response("200 OK", [])
    return []


def _unavailable() -> IdentityUnavailableError:
    message = "Keystone cannot be asked about the token now; nothing was changed. Try again in a moment."
    return IdentityUnavailableError(message)


def _complaint(environ: Mapping[str, Any]) -> str:
    if environ.get("HTTP_X_SERVICE_IDENTITY_STATUS") == "Invalid":
        return "The token in X-Service-Token is not valid, or has no service role. Send a valid one with that role."
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
    """Return the service that passes the request on, if its own token proves that."""
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
    """Return the error for a token without a project: leases belong to projects, so every policy has that scope."""
    if environ.get("HTTP_X_DOMAIN_ID"):
        scope, what = "domain", "for a domain"
    elif environ.get("HTTP_OPENSTACK_SYSTEM_SCOPE"):
        scope, what = "system", "for the whole system"
    else:
        scope, what = "unscoped", "not for a project"
    message = (
        f"The token is {what}, and leases belong to projects. Ask Keystone for a token for a project: with "
        "OS_PROJECT_ID or OS_PROJECT_NAME set, and OS_SYSTEM_SCOPE and OS_DOMAIN_ID unset."
    )
    return ForbiddenError(message, details={"scope": scope})


def _public_uri(raw: cfg.ConfigOpts) -> str:
    """Return the URL where clients get tokens, by default the one where the service itself logs in.

    Raises `ConfigurationError` when the service has no account.
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
