"""Serves a WSGI application over HTTP until a signal asks to stop, and then answers the requests under way."""

from __future__ import annotations

import logging
import resource
import signal
from dataclasses import dataclass
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer, create_server
from waitress.task import WSGITask

from leasehold.api.limits.admission_control import PUBLIC
from leasehold.api.limits.cloud_waits import most_asking
from leasehold.api.limits.delete_waits import most_waiting
from leasehold.api.limits.parking import ENVIRON_KEY, Parked, Parking
from leasehold.cmd.intake import Intake
from leasehold.cmd.one_cpu import stay_on_one_cpu
from leasehold.cmd.signals import SIGNALS
from leasehold.cmd.slow_readers import RUNNING_SECONDS, STOPPING_SECONDS, SlowReaders
from leasehold.cmd.strict import StrictParser
from leasehold.conf.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from waitress.adjustments import Adjustments
    from waitress.task import ThreadedTaskDispatcher

    from leasehold.api.app import App
    from leasehold.api.limits.admission_control import AdmissionControl
    from leasehold.conf.settings import ApiSettings

log = logging.getLogger(__name__)

LARGEST_HEADERS = 64 * 1024
BODY_SLACK = 64 * 1024
"""Bytes that the server reads beyond the API's limit and drops, so that the API can answer a large body in JSON."""
REJECTING = 2
"""Threads that answer the requests that are shed."""
PIPELINED = 4
"""Requests that a client may send on one connection before it reads an answer; further ones are dropped."""
CONNECTIONS = 512
"""Connections open at the same time, besides those that wait for an event; more wait in the kernel."""
OTHER_FILES = 512
"""Files that a process may need besides its connections; by default it may have 1,024 open."""
LINGER_SECONDS = 0.5
"""How long after its last request a connection may send another one to a stopping server."""
ROUND_SECONDS = 0.05


class RequestTask(WSGITask):  # type: ignore[misc]  # waitress comes without annotations.
    """An answer of a request that may be parked; with `Connection: close` while the server is stopping."""

    def get_environment(self) -> dict[str, Any]:
        """Return the WSGI environment of this run of the request, with what the run before it left."""
        environ: dict[str, Any] = super().get_environment()
        before: Parking | None = self.request.parking
        note = None if before is None else before.note
        environ[ENVIRON_KEY] = self.request.parking = Parking(self.channel.run_again, note)
        return environ

    def build_response_header(self) -> bytes:
        """Return the status line and the headers."""
        if not self.channel.server.accepting:
            self.request.headers["CONNECTION"] = "close"
        header: bytes = super().build_response_header()
        return header


class ServerChannel(HTTPChannel):  # type: ignore[misc]  # As above.
    """A connection."""

    task_class = RequestTask

    def parser_class(self, adj: Adjustments) -> StrictParser:
        """Return the parser of the next request."""
        return StrictParser(adj, self.server.intake)

    def received(self, data: bytes) -> bool:
        """Process received data; close the connection after the first `PIPELINED` requests if there are more.

        Otherwise a client that reads none of its answers blocks a thread, once they are large enough together.
        """
        going_on: bool = super().received(data)
        with self.requests_lock:
            if len(self.requests) > PIPELINED:
                self.requests[PIPELINED - 1].headers["CONNECTION"] = "close"
        return going_on

    def service(self) -> None:
        """Run the next request, or the parked one again; while it is parked, no thread has it."""
        request = self.requests[0]
        try:
            super().service()
        except Parked:
            request.parking.left()

    def run_again(self) -> None:
        """Let a thread run the parked request again; one whose client has gone ends there."""
        self.server.add_task(self)

    def handle_close(self) -> None:
        """Close the connection, and the request that was arriving."""
        super().handle_close()
        if self.request is not None:
            self.request.close()

    @property
    def idle(self) -> bool:
        """Whether nothing is being received, worked on or sent."""
        return not (self.requests or self.request or self.total_outbufs_len)


@dataclass(frozen=True, slots=True)
class ApiServer:
    """waitress with an open port, and all its sockets by file descriptor."""

    settings: ApiSettings
    admission: AdmissionControl
    sockets: dict[int, Any]
    dispatcher: ThreadedTaskDispatcher

    def turn(self, seconds: float) -> None:
        """Run one round of the event loop; wait for the first event for up to `seconds`."""
        wasyncore.loop(timeout=seconds, use_poll=True, map=self.sockets, count=1)

    def listeners(self) -> Iterator[Any]:
        """Return the sockets that accept new connections."""
        return (each for each in list(self.sockets.values()) if isinstance(each, BaseWSGIServer))

    def channels(self) -> list[ServerChannel]:
        """Return the connections."""
        return [each for each in self.sockets.values() if isinstance(each, ServerChannel)]

    def wake(self) -> None:
        """End the current round of the event loop; a signal handler may call this."""
        next(self.listeners()).pull_trigger()

    def close(self) -> None:
        """Stop the threads, and close all sockets."""
        self.dispatcher.shutdown(timeout=0.1)
        wasyncore.close_all(self.sockets, ignore_all=True)


def threads_for(settings: ApiSettings) -> int:
    """Return how many threads a server needs, so that it answers shed requests at once."""
    waiting_elsewhere = most_waiting(settings) + most_asking(settings)
    return settings.threads + settings.waiting + waiting_elsewhere + PUBLIC + REJECTING


def listen(app: App, settings: ApiSettings, admission: AdmissionControl) -> ApiServer:
    """Return a server whose port is open; raises ConfigurationError when the port is not available.

    It has a thread for each request that has a permit, or waits for a permit, a deletion or the cloud, and some threads
    for requests that are shed. One that waits for an event is parked (`api/limits/parking.py`), with its connection.
    """
    sockets: dict[int, Any] = {}
    try:
        found = create_server(
            app,
            sockets,
            host=settings.host,
            port=settings.port,
            threads=threads_for(settings),
            connection_limit=_connections(settings),
            ident="leasehold",
            max_request_header_size=LARGEST_HEADERS,
            max_request_body_size=16 * settings.max_body + BODY_SLACK,
            # The API itself decides which proxies to trust, so that it works the same under every server.
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
        listener.channel_class, listener.intake = ServerChannel, intake
    return server


def _connections(settings: ApiSettings) -> int:
    """Return how many connections may be open at the same time, and allow this process as many files if it may.

    That is `CONNECTIONS`, and one for each request that waits for an event.
    """
    wanted = CONNECTIONS + settings.event_waits
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + OTHER_FILES
    if files != resource.RLIM_INFINITY and files < needed:
        files = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
        if files < needed:
            log.warning("A process may have %d files open, so fewer than %d connections are served", files, wanted)
            return max(CONNECTIONS, files - OTHER_FILES)
    return wanted


def stopped_by_signal(server: ApiServer) -> Sequence[int]:
    """Return a list that gets the number of an arriving SIGINT or SIGTERM; they no longer end the process."""
    stopping: list[int] = []

    def stop(signal_number: int, _frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)  # A second signal must not interrupt the stop.
        stopping.append(signal_number)
        server.wake()

    for each in SIGNALS:
        signal.signal(each, stop)
    return stopping


def serve(server: ApiServer, stopping: Sequence[int]) -> None:
    """Answer requests until `stopping` is not empty, then those under way, within a time limit."""
    if server.settings.one_cpu:
        stay_on_one_cpu()
    readers = SlowReaders()
    while not stopping:
        server.turn(1.0)
        readers.hang_up(server.channels(), RUNNING_SECONDS)
    _give_notice(server)
    _refuse_newcomers(server)
    _finish(server, readers)


def _give_notice(server: ApiServer) -> None:
    """Serve as before, while the health check announces the stop."""
    server.admission.closing = True
    end = monotonic() + server.settings.shutdown_notice_seconds
    while monotonic() < end:
        server.turn(ROUND_SECONDS)


def _refuse_newcomers(server: ApiServer) -> None:
    """Close the port, after accepting the connections that the kernel has queued."""
    for listener in server.listeners():
        known = -1
        while known < len(server.sockets):
            known = len(server.sockets)
            listener.handle_accept()
        # The listener's own `close` would also close the trigger of the event loop, which the connections still need.
        wasyncore.dispatcher.close(listener)


def _finish(server: ApiServer, readers: SlowReaders) -> None:
    """Answer the requests under way, and close idle and stalled connections; after the time limit close all."""
    end = monotonic() + server.settings.shutdown_seconds
    while (channels := server.channels()) and monotonic() < end:
        for channel in channels:
            if channel.idle and time() - channel.last_activity > LINGER_SECONDS:
                channel.will_close = True
        server.turn(ROUND_SECONDS)
        readers.hang_up(server.channels(), STOPPING_SECONDS)
    left = sum(not channel.idle for channel in server.channels())
    if left:
        log.warning("Stopped with %d requests unanswered after %g s", left, server.settings.shutdown_seconds)
    server.close()
