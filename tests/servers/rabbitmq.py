"""A single RabbitMQ broker, with Erlang's registry of nodes beside it. Durable queues outlive a `kill`."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING, ClassVar

from tests.servers.base import Daemon
from tests.servers.ports import free_port

if TYPE_CHECKING:
    import subprocess

_GREETING = b"AMQP\0\0\x09\x01"


class RabbitMQ(Daemon):
    kind = "rabbitmq"
    package = "rabbitmq-server"
    programs: ClassVar[tuple[str, ...]] = ("rabbitmq-server", "epmd")
    users = ("rabbitmq", "nobody")
    stop_signal = signal.SIGKILL
    # Half a minute on a busy machine.
    start_within = 150.0

    _registry: subprocess.Popen[bytes] | None = None
    _registry_port = 0

    @property
    def url(self) -> str:
        """What `transport_url` has to be."""
        return f"rabbit://guest:guest@127.0.0.1:{self.port}/"

    def close(self) -> None:
        super().close()
        if self._registry is not None:
            self._registry.kill()
            self._registry.wait()

    def _initialise_command(self) -> list[str]:
        return ["/bin/mkdir", str(self.data)]

    def _run_command(self) -> list[str]:
        if self._registry is None:
            self._registry_port = free_port()
            registry = ["-address", "127.0.0.1", "-port", str(self._registry_port)]
            self._registry = self._spawn([self._paths["epmd"], *registry])
        return [self._paths["rabbitmq-server"]]

    def _environment(self) -> dict[str, str]:
        folder = str(self.data)
        return {
            "ERL_EPMD_PORT": str(self._registry_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_CRASH_DUMP": str(self.folder / "crash.dump"),
            # The name is unique on this machine, because the processes of a killed broker die a moment later.
            "RABBITMQ_NODENAME": f"leasehold-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_MNESIA_BASE": folder,
            "RABBITMQ_LOG_BASE": folder,
            "RABBITMQ_LOGS": "-",
            # None of these files exists, so the settings of the system's own broker have no effect.
            "RABBITMQ_CONFIG_FILE": f"{folder}/none",
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/none",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/enabled_plugins",
            # With both, the script becomes the broker, which can then be stopped by its process id.
            "RABBITMQ_ALLOW_INPUT": "true",
            "RABBITMQ_SERVER_START_ARGS": "-noinput",
        }

    def _ping(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(_GREETING)
            if not connection.recv(1):
                message = "The broker hung up."
                raise ConnectionError(message)
