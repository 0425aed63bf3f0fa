"""Connections to the cloud: one session per thread, all with one login (docs/decisions/0008), and places for calls."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from keystoneauth1 import loading
from keystoneauth1.loading import session as session_loading
from keystoneauth1.plugin import FixedEndpointPlugin
from keystoneauth1.session import Session

from leasehold.cloud.deadline import time_left
from leasehold.cloud.ports import CloudTransientError
from leasehold.conf.errors import unusable
from leasehold.conf.keystone import GROUP, SERVICES, inherit, load_login, open_session, register_apart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from keystoneauth1.adapter import Adapter
    from keystoneauth1.plugin import BaseAuthPlugin
    from oslo_config import cfg

LEAST_SECONDS = 0.001
"""The timeout of a call after its deadline: a timeout of 0 would mean no limit, or be an error."""
PATIENCE = 5.0
"""How many seconds a call waits for its turn; then others may go on whose service answers (decision 0139)."""


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

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        services: Collection[str] = SERVICES,
        auth: BaseAuthPlugin | None = None,
        group: str = GROUP,
    ) -> None:
        """Prepare to log in as `conf` says; raises `ConfigurationError` when it names no account.

        Each of the services is a section of that name. `group` is the section with the options of sessions.
        """
        self._conf, self._services, self._group = conf, services, group
        self._auth = auth or open_session(conf).auth
        self._of_thread = threading.local()
        self._places = {name: threading.Semaphore(conf.cloud.calls_at_once) for name in services}

    def client(self, service: str) -> Adapter:
        """Return this thread's client of one of the services."""
        clients: dict[str, Adapter] = self._of_thread.__dict__
        if service not in clients:
            clients.update(self._open())
        return clients[service]

    @contextmanager
    def place(self, service: str, call: str) -> Iterator[None]:
        """Hold one of the places of a service; raises CloudTransientError when none becomes free in time."""
        left = time_left()
        if not self._places[service].acquire(timeout=PATIENCE if left is None else min(left, PATIENCE)):
            raise CloudTransientError(f"{service} {call}: too many other calls to it have no answer yet")
        try:
            yield
        finally:
            self._places[service].release()

    def _open(self) -> dict[str, Adapter]:
        session = _Sessions().load_from_conf_options(self._conf, self._group, auth=self._auth)
        return {
            name: loading.load_adapter_from_conf_options(self._conf, name, session=session, user_agent="leasehold")
            for name in self._services
        }


def connect_apart(conf: cfg.ConfigOpts, section: str, service_type: str) -> Connections:
    """Return connections to the one service of a section that may have a login of its own, as Nova's for Ironic.

    Without one it is the cloud's. Raises `ConfigurationError` for a login or an endpoint that can never be used.
    """
    register_apart(conf, section, service_type)
    inherit(conf, section)
    login = load_login(conf, section)
    if isinstance(login, FixedEndpointPlugin) and not (login.endpoint or conf[section].endpoint_override):
        raise unusable(f"[{section}] endpoint: write the URL of the service, because nobody else says where it is.")
    return Connections(conf, (section,), login, section)
