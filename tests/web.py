"""Calls of the WSGI application in this process, as a program on the same machine makes them."""

from __future__ import annotations

from typing import Any

from falcon import testing


class LocalClient(testing.TestClient):
    """falcon's client, under the host name that a client of a loopback address sends."""

    def simulate_request(self, *args: Any, **kwargs: Any) -> testing.Result:
        """Send a request from this machine to localhost, unless the test says otherwise."""
        return super().simulate_request(*args, **{"host": "localhost", "remote_addr": "127.0.0.1", **kwargs})
