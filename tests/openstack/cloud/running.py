"""A running cloud, as tests use it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.openstack.cloud import databases
from tests.openstack.cloud.accounts import find_endpoint, set_endpoint
from tests.openstack.cloud.clients import connect
from tests.openstack.cloud.errors import CloudError
from tests.openstack.cloud.health import wait_until_nova_works, wait_until_ready
from tests.openstack.cloud.home import COMPUTES, PASSWORD, REGION
from tests.openstack.cloud.install import VENVS, install
from tests.openstack.cloud.services import Service, environment, infrastructure, openstack

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from openstack.connection import Connection

    from tests.openstack.cloud.layout import Site
    from tests.openstack.cloud.processes import Processes

_STOP_WITHIN = 15.0


@dataclass(frozen=True, slots=True)
class RunningCloud:
    site: Site
    processes: Processes

    @property
    def auth_url(self) -> str:
        return self.site.auth_url

    @property
    def password(self) -> str:
        """The password of every account."""
        return PASSWORD

    @property
    def ports(self) -> Mapping[str, int]:
        return self.site.ports

    @property
    def broker_url(self) -> str:
        """The `transport_url` of the message bus."""
        return self.site.broker_url

    @property
    def computes(self) -> tuple[str, ...]:
        return COMPUTES

    def connection(self, user: str = "admin", project: str | None = None) -> Connection:
        """Return a connection of this user, in the project with the user's name unless another is given."""
        return connect(self.auth_url, user, project or user)

    def variables(self, user: str = "admin", project: str | None = None) -> dict[str, str]:
        """Return the environment variables of the command line clients."""
        return {
            "OS_AUTH_URL": self.auth_url,
            "OS_IDENTITY_API_VERSION": "3",
            "OS_REGION_NAME": REGION,
            "OS_USERNAME": user,
            "OS_PASSWORD": PASSWORD,
            "OS_PROJECT_NAME": project or user,
            "OS_USER_DOMAIN_NAME": "Default",
            "OS_PROJECT_DOMAIN_NAME": "Default",
        }

    def set_endpoint(self, service_type: str, url: str) -> None:
        """Set this URL in the catalogue. Existing connections may continue with the URL that they have read."""
        set_endpoint(self.connection(), service_type, url)

    def endpoint(self, service_type: str) -> str | None:
        """Return the URL in the catalogue, None without an entry."""
        return find_endpoint(self.connection(), service_type)

    def venv(self, name: str) -> Path:
        """Return one of the environments: "openstack", "tempest", "blazar" or "dashboard"."""
        if name not in VENVS:
            raise CloudError(f"There is no environment {name!r}; there are {', '.join(VENVS)}.")
        return self.site.venv if name == "openstack" else install(self.site.home, name)

    def log(self, name: str) -> Path:
        """Return the log of a service."""
        return self.processes.log(self._service(name).name)

    def database_url(self, name: str) -> str:
        """Return the URL of a new, empty database; replaces an existing one of that name."""
        databases.create_empty(self.site.home, name)
        return self.site.database_url(name, "utf8mb4")

    def services(self) -> list[str]:
        return [service.name for service in (*infrastructure(self.site), *openstack(self.site))]

    def is_alive(self, name: str) -> bool:
        return self.processes.pid(self._service(name).name) is not None

    def stop_service(self, name: str) -> None:
        """Stop a service and wait until it has ended. Nova notices the end of a compute a good while later."""
        self.processes.stop([self._service(name).name], _STOP_WITHIN)

    def kill_service(self, name: str) -> None:
        """Kill a service, as a power failure would."""
        self.processes.kill([self._service(name).name])

    def suspend_service(self, name: str) -> None:
        """Let a service pause in the middle of its work. Nova takes a part of it for dead after a minute."""
        self.processes.suspend(self._service(name).name)

    def resume_service(self, name: str) -> None:
        """Let a service go on that was suspended."""
        self.processes.resume(self._service(name).name)

    def launch_service(self, name: str) -> None:
        """Start a service, and do not wait for it."""
        service = self._service(name)
        self.processes.start(name, service.command, {**environment(self.site), **service.extra_environment})

    def start_service(self, name: str) -> None:
        """Start a service and wait until it works; a part of Nova works when it has reported to Nova."""
        since = datetime.now(UTC).replace(microsecond=0)
        self.launch_service(name)
        wait_until_ready([self._service(name)], self.processes)
        if name in COMPUTES:
            wait_until_nova_works(self.connection(), since, self.processes, [name])
        elif name in ("nova-conductor", "nova-scheduler"):
            wait_until_nova_works(self.connection(), since, self.processes, [])

    def _service(self, name: str) -> Service:
        for service in (*infrastructure(self.site), *openstack(self.site)):
            if service.name == name:
                return service
        raise CloudError(f"The cloud has no service {name!r}; it has {', '.join(self.services())}.")
