"""The authentication strategies by the name that `[api] auth_strategy` gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.auth.http_basic import open_http_basic
from leasehold.api.auth.none import open_none
from leasehold.conf.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oslo_config import cfg

    from leasehold.api.auth.base import Authenticator
    from leasehold.conf.settings import ApiSettings


def open_keystone(_settings: ApiSettings, raw: cfg.ConfigOpts) -> Authenticator:
    """Return the strategy; raises `ConfigurationError` when `[keystone_authtoken]` cannot be used."""
    # Imported only where it is used, because it loads 25 MiB of libraries.
    from leasehold.api.auth.keystone import KeystoneAuthentication  # noqa: PLC0415

    return KeystoneAuthentication(raw)


STRATEGIES: Mapping[str, Callable[[ApiSettings, cfg.ConfigOpts], Authenticator]] = {
    "keystone": open_keystone,
    "http_basic": lambda settings, _: open_http_basic(settings),
    "none": lambda settings, _: open_none(settings),
}


def open_authenticator(settings: ApiSettings, raw: cfg.ConfigOpts) -> Authenticator:
    """Return the configured strategy, ready for use; raises `ConfigurationError` with what to change.

    `raw` is the whole configuration, for libraries that read their own options.
    """
    constructor = STRATEGIES.get(settings.auth_strategy)
    if constructor is None:
        message = (
            f"auth_strategy {settings.auth_strategy!r} is not known. "
            f"Set [api] auth_strategy to one of: {', '.join(STRATEGIES)}."
        )
        raise ConfigurationError(message)
    return constructor(settings, raw)
