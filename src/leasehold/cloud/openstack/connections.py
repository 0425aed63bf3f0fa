"""Connections to the cloud: one session per thread, all with one login (docs/decisions/0008)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from keystoneauth1 import loading
from keystoneauth1.loading import session as session_loading
from keystoneauth1.session import Session

from leasehold.cloud.deadline import time_left
from leasehold.conf.keystone import GROUP, SERVICES, open_session

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter
    from oslo_config import cfg


LEAST_SECONDS = 0.001
"""The timeout of a call after its deadline: a timeout of 0 would mean no limit, or be an error."""


class BoundedSession(Session):
    """A session whose calls, including login and endpoint discovery, end at the deadline of their request."""

    def request(self, *args: Any, **kwargs: Any) -> Any:
        """Send a request with the time left until the deadline, or with the configured timeout if that is shorter."""
        left = time_left()
        if left is not None:
            limits = [limit for limit in (left, self.timeout, kwargs.get("timeout")) if limit is not None]
            kwargs["timeout"] = max(LEAST_SECONDS, min(limits))
        return super().request(*args, **kwargs)


class _Sessions(session_loading.Session):
    """Creates `BoundedSession`s from the configuration."""

    @property
    def plugin_class(self) -> type[Session]:
        return BoundedSession


class Connections:
    """Gives every thread its own clients: threads may share a token, but not a session's sockets."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Prepare to log in as `conf` says; raises `ConfigurationError` when it names no account."""
        self._conf = conf
        self._session = open_session(conf)
        self._of_thread = threading.local()

    def client(self, service: str) -> Adapter:
        """Return this thread's client of "nova", "placement", "neutron" or "glance"."""
        clients: dict[str, Adapter] = self._of_thread.__dict__
        if service not in clients:
            clients.update(self._open())
        return clients[service]

    def _open(self) -> dict[str, Adapter]:
        session = _Sessions().load_from_conf_options(self._conf, GROUP, auth=self._session.auth)
        return {
            name: loading.load_adapter_from_conf_options(self._conf, name, session=session, user_agent="leasehold")
            for name in SERVICES
        }
