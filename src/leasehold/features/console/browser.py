"""What the console learns from a browser's headers: which page sent a request, and the session's secret in its cookie.

The cookie counts for requests of the console's own pages alone. Browsers say in `Sec-Fetch-Site` where a request comes
from. Where a browser does not (old ones, and HTTP without TLS), a header of the console's own has to be there: pages of
another origin can send it only after a preflight request, which this API refuses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from leasehold.api.errors import MalformedRequestError
from leasehold.api.proxies import named_host, read_address
from leasehold.features.console.model import SECRET, InsecureSignInError
from leasehold.model.errors import ForeignPageError

if TYPE_CHECKING:
    import falcon

    from leasehold.features.console.options import ConsoleSettings

SHELL: Final = "X-Leasehold-Console"
"""`1` in each request of the console's pages."""
PERSON: Final = "X-Leasehold-Person"
"""`1` in the requests that a person caused, which keep a session from its idle end."""
SITE: Final = "Sec-Fetch-Site"
COOKIE: Final = "__Host-leasehold"
"""Browsers take a cookie with this prefix only from the host itself, over TLS or from their own machine, and for all
paths: neither another machine of the domain nor a page of another port can plant one."""
PLAIN_COOKIE: Final = "leasehold"
"""Its name without TLS, where `[console] insecure_http` allows that."""
SSO_COOKIE: Final = "__Host-leasehold-sso"
"""Says that the sign-in by an identity provider began in this browser. `SameSite=None`: it has to arrive with the POST
that Keystone's page sends."""
SSO_SECONDS: Final = 600


def check_page(request: falcon.Request) -> None:
    """Raise ForeignPageError unless a page of the console sent the request."""
    site = request.get_header(SITE)
    if site is None:
        if request.get_header(SHELL) != "1":
            raise ForeignPageError(
                f"Only pages of the console may ask this. Programs use the API at /v1; a browser that sends no {SITE} "
                f"has to send {SHELL}: 1.",
                field=SHELL,
            )
    elif site.strip().lower() != "same-origin":
        raise ForeignPageError("Only pages of the console may ask this; open the console itself.", field=SITE)


def check_begin(request: falcon.Request) -> None:
    """Raise ForeignPageError unless a page of the console, or the person, leads the browser to the identity provider.

    A page of another site would begin a sign-in that it then ends with a token of its own.
    """
    site = request.get_header(SITE)
    if site is None:
        # The console's pages send the referrer to the console itself.
        own = (request.get_header("Referer") or "").startswith(f"{request.scheme}://{request.netloc}/")
    else:
        own = site.strip().lower() in ("same-origin", "none")
    if not own:
        raise ForeignPageError("Open the console, and begin to sign in there.", field=SITE)


def is_secure(request: falcon.Request) -> bool:
    """Say whether nobody on the way reads the request: it came by TLS, or from the same machine as far as that shows.

    Browsers send `Sec-Fetch-Site` to such addresses alone.
    """
    # falcon's `host` raises an error for a port that is no number.
    name = named_host(request.netloc.lower())
    address = read_address(name)
    local = name == "localhost" or (address is not None and address.is_loopback)
    return request.scheme == "https" or request.get_header(SITE) is not None or local


def check_secure(request: falcon.Request, settings: ConsoleSettings) -> None:
    """Raise InsecureSignInError for a sign-in without TLS that the operator has not allowed."""
    if not is_secure(request) and not settings.insecure_http:
        raise InsecureSignInError(
            "Passwords and sessions are not sent without TLS: open the console by https. Its administrator can name "
            "the proxy that ends TLS in [api] trusted_proxies, or allow HTTP with [console] insecure_http."
        )


def cookie_name(request: falcon.Request, settings: ConsoleSettings) -> str:
    """Return the name of the session's cookie in this request."""
    return PLAIN_COOKIE if settings.insecure_http and not is_secure(request) else COOKIE


def secret_in(request: falcon.Request, settings: ConsoleSettings) -> str | None:
    """Return the secret of the session that a request names, None if it names none.

    Raises MalformedRequestError for a request that names two: somebody else may have set one of them.
    """
    found = values(request.get_header("Cookie") or "", cookie_name(request, settings))
    if len(found) > 1:
        raise MalformedRequestError(
            "The request has the console's cookie twice. Delete this site's cookies in the browser, and sign in again."
        )
    return found[0] if found and SECRET.fullmatch(found[0]) else None


def values(header: str, name: str) -> list[str]:
    """Return all values that a `Cookie` header has under a name.

    Servers join several headers with a comma or a semicolon, and no value of ours has either.
    """
    pairs = (pair.partition("=") for pair in re.split(r"[;,]", header))
    return [value.strip().strip('"') for key, _, value in pairs if key.strip() == name]


def session_cookie(name: str, secret: str) -> str:
    """Return the `Set-Cookie` header that hands a session to the browser; an empty secret takes it back.

    Without `Max-Age` it is gone when the browser is closed.
    """
    secure = " Secure;" if name == COOKIE else ""
    over = "" if secret else "; Max-Age=0"
    return f"{name}={secret}; Path=/;{secure} HttpOnly; SameSite=Strict{over}"


def sso_cookie(value: str) -> str:
    """Return the `Set-Cookie` header of a sign-in that begins; an empty value ends it."""
    seconds = SSO_SECONDS if value else 0
    return f"{SSO_COOKIE}={value}; Path=/; Secure; HttpOnly; SameSite=None; Max-Age={seconds}"
