"""The authentication strategies by the name that `[api] auth_strategy` gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.auth.http_basic import open_http_basic
from leasehold.api.auth.none import open_none
from leasehold.conf.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leasehold.api.auth.base import Authenticator
    from leasehold.conf.settings import ApiSettings

STRATEGIES: Mapping[str, Callable[[ApiSettings], Authenticator]] = {
    "none": open_none,
    "http_basic": open_http_basic,
}


def open_authenticator(settings: ApiSettings) -> Authenticator:
    """Return the configured strategy, ready for use; raises `ConfigurationError` with what to change."""
    constructor = STRATEGIES.get(settings.auth_strategy)
    if constructor is None:
        message = (
            f"auth_strategy {settings.auth_strategy!r} is not available in this release. "
            f"Set [api] auth_strategy to one of: {', '.join(STRATEGIES)}."
        )
        raise ConfigurationError(message)
    return constructor(settings)
