"""Options of the web console: `[console]` (decisions 0096 to 0098)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from oslo_config import cfg

from leasehold.conf.errors import ConfigurationError
from leasehold.conf.settings import ConsoleSettings, WebSso

if TYPE_CHECKING:
    from collections.abc import Iterable

GROUP = "console"
DEFAULTS = ConsoleSettings()

OPTIONS = [
    cfg.BoolOpt(
        "enabled",
        default=DEFAULTS.enabled,
        help="Whether the API serves the web console at /console, if the package leasehold-console is installed.",
    ),
    cfg.IntOpt(
        "idle_seconds",
        default=int(DEFAULTS.idle.total_seconds()),
        min=0,
        max=7 * 24 * 3600,
        help="Seconds without a key or a click after which a session of the console ends. 0: idleness ends none.",
    ),
    cfg.IntOpt(
        "session_seconds",
        default=int(DEFAULTS.longest.total_seconds()),
        min=60,
        max=30 * 24 * 3600,
        help="Seconds after which a session of the console ends in any case. Under auth_strategy keystone it ends with "
        "the token, if that is earlier.",
    ),
    cfg.BoolOpt(
        "insecure_http",
        default=DEFAULTS.insecure_http,
        help="Whether people may sign in at the console by HTTP without TLS from other machines: everybody on the way "
        "can then read their passwords and use their sessions.",
    ),
    cfg.StrOpt(
        "default_domain",
        default=DEFAULTS.domain,
        help="What the domain field of the console's sign-in holds at first.",
    ),
    cfg.StrOpt(
        "keystone_url",
        help="URL of Keystone as browsers reach it, for the sign-in with an identity provider; "
        "[keystone_authtoken] www_authenticate_uri if it is not set.",
    ),
    cfg.StrOpt(
        "public_url",
        help="URL of the console as browsers reach it, such as https://leases.example.org/console; needed for "
        "`websso`. Keystone's [federation] trusted_dashboard has to name it with /sso at its end.",
    ),
    cfg.ListOpt(
        "websso",
        default=[],
        help="Ways to sign in by an identity provider: PROTOCOL=LABEL or PROVIDER/PROTOCOL=LABEL, with the names that "
        "Keystone knows, such as `openid=University login, acme/saml2=ACME`.",
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(OPTIONS, group=GROUP)


def read(conf: cfg.ConfigOpts) -> ConsoleSettings:
    """Return the settings of the console; raises ConfigurationError for ways to sign in that cannot work."""
    group = conf[GROUP]
    websso = _read_websso(group.websso)
    if websso and not group.public_url:
        message = "[console] websso needs public_url: the URL of the console as browsers reach it."
        raise ConfigurationError(message)
    return ConsoleSettings(
        enabled=group.enabled,
        idle=timedelta(seconds=group.idle_seconds),
        longest=timedelta(seconds=group.session_seconds),
        insecure_http=group.insecure_http,
        domain=group.default_domain,
        keystone_url=_read_url(group.keystone_url, "keystone_url"),
        public_url=_read_url(group.public_url, "public_url"),
        websso=websso,
    )


def _read_url(text: str | None, option: str) -> str | None:
    if not text:
        return None
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigurationError(f"[console] {option} is not a URL of a page: {text!r}. Write https://NAME/PATH.")
    return text.rstrip("/")


def _read_websso(texts: Iterable[str]) -> tuple[WebSso, ...]:
    found = []
    for text in texts:
        names, _, label = text.partition("=")
        provider, _, protocol = names.strip().rpartition("/")
        if not protocol or not label.strip() or "/" in provider:
            raise ConfigurationError(
                f"[console] websso: {text!r} is not a way to sign in. Write PROTOCOL=LABEL or PROVIDER/PROTOCOL=LABEL."
            )
        found.append(WebSso(protocol, provider or None, label.strip()))
    return tuple(found)
