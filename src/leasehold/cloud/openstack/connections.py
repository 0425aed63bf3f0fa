"""Connections to the cloud: a session for each thread, all over one login (docs/decisions/0008)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from keystoneauth1 import loading

from leasehold.conf.keystone import SERVICES, open_session, reopen

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter
    from oslo_config import cfg


class Connections:
    """Hands every thread its own clients: a session's sockets must not be shared, a token may."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Prepare to log in as `conf` says; raises `ConfigurationError` when it names no account."""
        self._conf = conf
        self._session = open_session(conf)
        self._of_thread = threading.local()

    def client(self, service: str) -> Adapter:
        """Return this thread's client of "nova", "placement" or "neutron"."""
        clients: dict[str, Adapter] = self._of_thread.__dict__
        if service not in clients:
            clients.update(self._open())
        return clients[service]

    def _open(self) -> dict[str, Adapter]:
        session = reopen(self._session, self._conf)
        return {
            name: loading.load_adapter_from_conf_options(self._conf, name, session=session, user_agent="leasehold")
            for name in SERVICES
        }
