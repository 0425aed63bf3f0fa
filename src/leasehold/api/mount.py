"""A mount: what is served beside the routes, below a path of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    import falcon
    from oslo_config import cfg

    from leasehold.api.auth.base import Authenticator
    from leasehold.api.call import Api
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service

    Answer = Callable[[falcon.Request, falcon.Response], None]


@dataclass(frozen=True, slots=True)
class Mount:
    """What answers the paths that match `prefix`, made from what all requests share.

    `authenticator` identifies the callers of all routes in place of the one that the mount was made with, and the
    `middleware` sees every request.
    """

    prefix: re.Pattern[str]
    answers: Callable[[Api], Answer]
    authenticator: Authenticator
    middleware: Any = None


class MakeMount(Protocol):
    """Makes a mount, when the process starts."""

    def __call__(self, service: Service, settings: ApiSettings, inner: Authenticator, raw: cfg.ConfigOpts) -> Mount:
        """Return the mount of an API whose callers `inner` identifies; raises ConfigurationError."""
        ...
