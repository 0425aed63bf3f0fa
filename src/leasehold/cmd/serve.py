"""Serve a WSGI application over HTTP until a signal asks to stop, and then leave nobody without an answer."""

from __future__ import annotations

import logging
import signal
from dataclasses import dataclass
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer, create_server
from waitress.task import WSGITask

from leasehold.api.admission_control import PUBLIC
from leasehold.api.cloud_waits import most_asking
from leasehold.api.delete_waits import most_waiting
from leasehold.cmd.intake import Intake
from leasehold.cmd.signals import SIGNALS
from leasehold.cmd.slow_readers import RUNNING_SECONDS, STOPPING_SECONDS, SlowReaders
from leasehold.cmd.strict import StrictParser
from leasehold.conf.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from waitress.adjustments import Adjustments
    from waitress.task import ThreadedTaskDispatcher

    from leasehold.api.admission_control import AdmissionControl
    from leasehold.api.app import App
    from leasehold.conf.settings import ApiSettings

log = logging.getLogger(__name__)

LARGEST_HEADERS = 64 * 1024
BODY_SLACK = 64 * 1024
"""What the server reads beyond the API's own limit and drops, so that the API can say in JSON that it is too large."""
SENDING_AWAY = 2
"""Threads that always find time for those for whom there is no room."""
PIPELINED = 4
"""Requests that a client may send on one connection before it reads an answer; further ones are dropped."""
CONNECTIONS = 512
"""Open at the same time; more wait in the kernel. Each takes a file, of which a process has 1,024 by default."""
LINGER_SECONDS = 0.5
"""How long after its last request a connection may bring another one to a server that is stopping."""
TURN_SECONDS = 0.05


class LastWords(WSGITask):  # type: ignore[misc]  # waitress comes without annotations.
    """An answer that tells the client not to send more on its connection once the server takes no new ones."""

    def build_response_header(self) -> bytes:
        """Return the status line and the headers."""
        if not self.channel.server.accepting:
            self.request.headers["CONNECTION"] = "close"
        header: bytes = super().build_response_header()
        return header


class Channel(HTTPChannel):  # type: ignore[misc]  # As above.
    """A connection."""

    task_class = LastWords

    def parser_class(self, adj: Adjustments) -> StrictParser:
        """Return what reads the next request."""
        return StrictParser(adj, self.server.intake)

    def received(self, data: bytes) -> bool:
        """Take in what arrived; of many requests sent without waiting for answers the first few are the last ones.

        Else a client that reads none of its answers would hold a thread, once they are large enough together.
        """
        going_on: bool = super().received(data)
        with self.requests_lock:
            if len(self.requests) > PIPELINED:
                self.requests[PIPELINED - 1].headers["CONNECTION"] = "close"
        return going_on

    def handle_close(self) -> None:
        """Close the connection, and forget the request that was arriving."""
        super().handle_close()
        if self.request is not None:
            self.request.close()

    @property
    def idle(self) -> bool:
        """Whether nothing is being received, worked on or sent."""
        return not (self.requests or self.request or self.total_outbufs_len)


@dataclass(frozen=True, slots=True)
class ApiServer:
    """waitress, holding its port, with all its sockets by file number."""

    settings: ApiSettings
    admission: AdmissionControl
    sockets: dict[int, Any]
    dispatcher: ThreadedTaskDispatcher

    def turn(self, seconds: float) -> None:
        """Do what the sockets ask for, waiting up to so long for the first of them."""
        wasyncore.loop(timeout=seconds, use_poll=True, map=self.sockets, count=1)

    def listeners(self) -> Iterator[Any]:
        """Yield what takes new connections."""
        return (each for each in list(self.sockets.values()) if isinstance(each, BaseWSGIServer))

    def channels(self) -> list[Channel]:
        """Return the connections."""
        return [each for each in self.sockets.values() if isinstance(each, Channel)]

    def wake(self) -> None:
        """End the turn that is under way; a signal handler may call this."""
        next(self.listeners()).pull_trigger()

    def close(self) -> None:
        """Close all sockets, whatever they are used for."""
        self.dispatcher.shutdown(timeout=0.1)
        wasyncore.close_all(self.sockets, ignore_all=True)


def threads_for(settings: ApiSettings) -> int:
    """Return how many threads a server needs, so that who finds no place is told so at once."""
    waiting_elsewhere = most_waiting(settings) + most_asking(settings)
    return settings.threads + settings.waiting + waiting_elsewhere + PUBLIC + SENDING_AWAY


def listen(app: App, settings: ApiSettings, admission: AdmissionControl) -> ApiServer:
    """Return a server that holds its port already; raises ConfigurationError when it cannot have it.

    It has a thread for each request that is inside the `door`, waits there, for a deletion or for the cloud, and some
    for those that are sent away.
    """
    sockets: dict[int, Any] = {}
    try:
        found = create_server(
            app,
            sockets,
            host=settings.host,
            port=settings.port,
            threads=threads_for(settings),
            connection_limit=CONNECTIONS,
            ident="leasehold",
            max_request_header_size=LARGEST_HEADERS,
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
    server = ApiServer(settings, admission, sockets, found.task_dispatcher)
    intake = Intake(settings)
    for listener in server.listeners():
        listener.channel_class, listener.intake = Channel, intake
    return server


def stopped_by_signal(server: ApiServer) -> Sequence[int]:
    """Return what holds the number of SIGINT or SIGTERM once it came; from here on neither ends the process."""
    stopping: list[int] = []

    def stop(signal_number: int, _frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)  # Stopping has begun; a second signal must not break into it.
        stopping.append(signal_number)
        server.wake()

    for each in SIGNALS:
        signal.signal(each, stop)
    return stopping


def serve(server: ApiServer, stopping: Sequence[int]) -> None:
    """Answer requests until `stopping` holds something; those under way are answered first, within a limit."""
    readers = SlowReaders()
    while not stopping:
        server.turn(1.0)
        readers.hang_up(server.channels(), RUNNING_SECONDS)
    _give_notice(server)
    _refuse_newcomers(server)
    _finish(server, readers)


def _give_notice(server: ApiServer) -> None:
    """Go on as before, while the health check says that this will end."""
    server.admission.closing = True
    end = monotonic() + server.settings.shutdown_notice_seconds
    while monotonic() < end:
        server.turn(TURN_SECONDS)


def _refuse_newcomers(server: ApiServer) -> None:
    """Give the port back, after taking in who has been let into the kernel's queue already."""
    for listener in server.listeners():
        known = -1
        while known < len(server.sockets):
            known = len(server.sockets)
            listener.handle_accept()
        # Its own `close` would also end what wakes the loop, which the connections still need.
        wasyncore.dispatcher.close(listener)


def _finish(server: ApiServer, readers: SlowReaders) -> None:
    """Answer what has been asked, and hang up where nothing comes or is read; then end, whatever is left."""
    end = monotonic() + server.settings.shutdown_seconds
    while (channels := server.channels()) and monotonic() < end:
        for channel in channels:
            if channel.idle and time() - channel.last_activity > LINGER_SECONDS:
                channel.will_close = True
        server.turn(TURN_SECONDS)
        readers.hang_up(server.channels(), STOPPING_SECONDS)
    left = sum(not channel.idle for channel in server.channels())
    if left:
        log.warning("Stopped with %d requests unanswered after %g s", left, server.settings.shutdown_seconds)
    server.close()
