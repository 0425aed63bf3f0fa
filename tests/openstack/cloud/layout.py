"""One cloud on one machine: its files, its servers' ports, and the addresses with these ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.openstack.cloud.home import PASSWORD, Home

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DATABASE_USER = "cloud"


@dataclass(frozen=True, slots=True)
class Site:
    home: Home
    venv: Path
    ports: Mapping[str, int]

    def address(self, server: str) -> str:
        return f"127.0.0.1:{self.ports[server]}"

    @property
    def auth_url(self) -> str:
        return f"http://{self.address('keystone')}/v3"

    @property
    def broker_url(self) -> str:
        # RabbitMQ's default account, which can log in from this machine only.
        return f"rabbit://guest:guest@{self.address('rabbitmq')}/"

    def database_url(self, database: str, charset: str = "utf8mb3") -> str:
        address = self.address("mariadb")
        return f"mysql+pymysql://{DATABASE_USER}:{PASSWORD}@{address}/{database}?charset={charset}"

    def program(self, name: str) -> str:
        return str(self.venv / "bin" / name)
