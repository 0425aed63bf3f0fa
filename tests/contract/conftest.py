"""Every cloud that the contract tests run on; a test asks for `lab` or just `cloud`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from leasehold.books.engine import open_engine
from tests.contract.lab import Lab, SandboxLab, new_sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from leasehold.cloud.ports import Cloud
    from tests.conftest import Databases


class SandboxDatabases:
    """One database of each kind for all tests: making tables on a server takes longer than most tests do."""

    def __init__(self, databases: Databases, folder: Path) -> None:
        self._databases = databases
        self._folder = folder
        self._engines: dict[str, tuple[str, Engine]] = {}

    def engine(self, kind: str) -> Engine:
        if kind not in self._engines:
            url = f"sqlite:///{self._folder}/sandbox.db" if kind == "sqlite" else self._databases.create(kind)
            self._engines[kind] = (url, open_engine(url))
        return self._engines[kind][1]

    @contextmanager
    def closing(self) -> Iterator[SandboxDatabases]:
        yield self
        for kind, (url, engine) in self._engines.items():
            engine.dispose()
            if kind != "sqlite":
                self._databases.drop(kind, url)


@pytest.fixture(scope="session")
def sandbox_databases(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxDatabases]:
    with SandboxDatabases(databases, tmp_path_factory.mktemp("sandbox")).closing() as made:
        yield made


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("mariadb", marks=pytest.mark.servers),
        pytest.param("postgresql", marks=pytest.mark.servers),
    ]
)
def sandbox_lab(request: pytest.FixtureRequest, sandbox_databases: SandboxDatabases) -> SandboxLab:
    """Return a new sandbox, on each database."""
    return new_sandbox(sandbox_databases.engine(request.param))


@pytest.fixture
def lab(sandbox_lab: SandboxLab) -> Lab:
    """Return the cloud under test with what a test needs from it. A second kind of cloud becomes a parameter here."""
    return sandbox_lab


@pytest.fixture
def cloud(lab: Lab) -> Cloud:
    """Return the ports of the cloud under test."""
    return lab.cloud
