"""Serve a WSGI application over HTTP until a signal asks to stop."""

from __future__ import annotations

import logging
import signal
from typing import TYPE_CHECKING

from waitress.server import create_server

from leasehold.conf.errors import ConfigurationError

if TYPE_CHECKING:
    from types import FrameType

    from waitress.server import BaseWSGIServer, MultiSocketServer

    from leasehold.api.app import App
    from leasehold.conf.settings import ApiSettings

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGINT, signal.SIGTERM)
BODY_SLACK = 64 * 1024
"""What the server reads beyond the API's own limit, so that the API can say in JSON that a body is too large."""


def listen(app: App, settings: ApiSettings) -> MultiSocketServer | BaseWSGIServer:
    """Return a server that holds its port already; raises ConfigurationError when it cannot have it."""
    try:
        return create_server(
            app,
            host=settings.host,
            port=settings.port,
            threads=settings.threads,
            ident="leasehold",
            max_request_body_size=16 * settings.max_body + BODY_SLACK,
            # Whose headers are believed is for the API to say, the same under every server.
            clear_untrusted_proxy_headers=False,
        )
    except OSError as error:
        message = (
            f"The API cannot listen on {settings.host}:{settings.port}: {error.strerror}. "
            "Stop what uses that port, or choose another with --config-file and [DEFAULT] port."
        )
        raise ConfigurationError(message) from error


def serve(server: MultiSocketServer | BaseWSGIServer) -> None:
    """Answer requests until SIGINT or SIGTERM; those under way are answered before this returns."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # Stopping has begun; a second signal must not break into it.
        raise KeyboardInterrupt

    for number in SIGNALS:
        signal.signal(number, stop)
    try:
        server.run()  # It catches KeyboardInterrupt, answers what is under way and returns.
    finally:
        server.close()
