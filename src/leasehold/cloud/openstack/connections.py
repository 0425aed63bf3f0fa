"""Connections to the cloud: one session per thread, all with one login (docs/decisions/0008), and places for calls."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from keystoneauth1 import loading
from keystoneauth1.loading import session as session_loading
from keystoneauth1.session import Session

from leasehold.cloud.deadline import time_left
from leasehold.cloud.ports import CloudTransientError
from leasehold.conf.keystone import GROUP, SERVICES, open_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from keystoneauth1.adapter import Adapter
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

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Prepare to log in as `conf` says; raises `ConfigurationError` when it names no account."""
        self._conf = conf
        self._session = open_session(conf)
        self._of_thread = threading.local()
        self._places = {name: threading.Semaphore(conf.cloud.calls_at_once) for name in SERVICES}

    def client(self, service: str) -> Adapter:
        """Return this thread's client of "nova", "placement", "neutron" or "glance"."""
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
        session = _Sessions().load_from_conf_options(self._conf, GROUP, auth=self._session.auth)
        return {
            name: loading.load_adapter_from_conf_options(self._conf, name, session=session, user_agent="leasehold")
            for name in SERVICES
        }
