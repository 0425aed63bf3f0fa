"""A client that calls the WSGI application in this process, as if from the same machine."""

from __future__ import annotations

from typing import Any

from falcon import testing


class LocalClient(testing.TestClient):
    """falcon's test client with the host name and address of a client on the loopback interface."""

    def simulate_request(self, *args: Any, **kwargs: Any) -> testing.Result:
        """Send a request from 127.0.0.1 to localhost, unless the test passes another `host` or `remote_addr`."""
        return super().simulate_request(*args, **{"host": "localhost", "remote_addr": "127.0.0.1", **kwargs})
