"""Options of the web console: `[console]` (decisions 0096 to 0098)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oslo_config import cfg

from leasehold.conf.errors import ConfigurationError
from leasehold.conf.options import Options, read_fields

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class WebSsoChoice:
    """A way to sign in by an identity provider: Keystone's names of the protocol and the provider, and ours for people.

    Without a provider, Keystone finds out which one it is.
    """

    protocol: str
    provider: str | None
    label: str

    @property
    def id(self) -> str:
        """Our name of it."""
        return self.protocol if self.provider is None else f"{self.provider}/{self.protocol}"


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """The web console, and how people sign in there (decision 0096).

    A session ends after `idle` without a person, if that is not zero, and after the `longest` in any case.
    `insecure_http` allows it without TLS from other machines. `keystone_url` and `public_url` are what browsers reach.
    """

    enabled: bool = True
    idle: timedelta = timedelta(minutes=30)
    longest: timedelta = timedelta(hours=12)
    insecure_http: bool = False
    domain: str = "Default"
    keystone_url: str | None = None
    public_url: str | None = None
    websso: tuple[WebSsoChoice, ...] = ()


_OPTIONS = [
    cfg.BoolOpt(
        "enabled",
        help="Whether the API serves the web console at /console, if the package leasehold-console is installed.",
    ),
    cfg.IntOpt(
        "idle_seconds",
        min=0,
        max=7 * 24 * 3600,
        help="Seconds without a key or a click after which a session of the console ends. 0: idleness ends none.",
    ),
    cfg.IntOpt(
        "session_seconds",
        default=12 * 3600,
        min=60,
        max=30 * 24 * 3600,
        help="Seconds after which a session of the console ends in any case. Under auth_strategy keystone it ends with "
        "the token, if that is earlier.",
    ),
    cfg.BoolOpt(
        "insecure_http",
        help="Whether people may sign in at the console by HTTP without TLS from other machines: everybody on the way "
        "can then read their passwords and use their sessions.",
    ),
    cfg.StrOpt(
        "default_domain",
        default=ConsoleSettings().domain,
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
        help="Ways to sign in by an identity provider: PROTOCOL=LABEL or PROVIDER/PROTOCOL=LABEL, with the names that "
        "Keystone knows, such as `openid=University login, acme/saml2=ACME`.",
    ),
]


def _read(group: Any) -> ConsoleSettings:
    """Return the settings of the console; raises ConfigurationError for ways to sign in that cannot work."""
    websso = _read_websso(group.websso)
    if websso and not group.public_url:
        message = "[console] websso needs public_url: the URL of the console as browsers reach it."
        raise ConfigurationError(message)
    return read_fields(
        ConsoleSettings,
        group,
        longest=timedelta(seconds=group.session_seconds),
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


def _read_websso(texts: Iterable[str]) -> tuple[WebSsoChoice, ...]:
    found = []
    for text in texts:
        names, _, label = text.partition("=")
        provider, _, protocol = names.strip().rpartition("/")
        if not protocol or not label.strip() or "/" in provider:
            raise ConfigurationError(
                f"[console] websso: {text!r} is not a way to sign in. Write PROTOCOL=LABEL or PROVIDER/PROTOCOL=LABEL."
            )
        found.append(WebSsoChoice(protocol, provider or None, label.strip()))
    return tuple(found)


OPTIONS = Options("console", _OPTIONS, ConsoleSettings, _read)
