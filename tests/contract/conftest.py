"""Every cloud that the contract tests run on; a test uses `lab` or only `cloud`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from leasehold.db.engine import open_engine
from tests.contract.lab import Lab, SandboxLab, new_sandbox
from tests.openstack.ready import READY_WITHIN
from tests.processes import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from leasehold.cloud.ports import Cloud
    from tests.conftest import Databases
    from tests.contract.openstack_lab import OpenStackLab


class SandboxDatabases:
    """One database of each kind for all tests: creating tables on a server takes longer than most tests do."""

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


@pytest.fixture(scope="session")
def openstack_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStackLab]:
    """Yield the real services; start them unless they run."""
    # Not loaded where `-m` excludes the real services.
    from tests.contract.openstack_lab import OpenStackLab  # noqa: PLC0415
    from tests.openstack.cloud import having_cloud  # noqa: PLC0415
    from tests.openstack.leasehold import configuration  # noqa: PLC0415

    with having_cloud() as cloud:
        file = tmp_path_factory.mktemp("openstack") / "leasehold.conf"
        file.write_text(as_text(configuration(cloud, "sqlite://", {})))
        yield OpenStackLab(file, cloud.connection)


@pytest.fixture
def sandbox_lab(request: pytest.FixtureRequest, sandbox_databases: SandboxDatabases) -> SandboxLab:
    """Return a new sandbox, on each database unless the test selects one."""
    return new_sandbox(sandbox_databases.engine(request.param))


DATABASES = (
    "sqlite",
    pytest.param("mariadb", marks=pytest.mark.servers),
    pytest.param("postgresql", marks=pytest.mark.servers),
)
# The first test on the real cloud waits until it is ready.
CLOUDS = (*DATABASES, pytest.param("openstack", marks=[pytest.mark.openstack, pytest.mark.timeout(READY_WITHIN)]))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that use `lab` on every cloud, and tests that use `sandbox_lab` on every database."""
    if "sandbox_lab" in metafunc.fixturenames:
        metafunc.parametrize("sandbox_lab", DATABASES, indirect=True)
    elif "lab" in metafunc.fixturenames:
        metafunc.parametrize("lab", CLOUDS, indirect=True)


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Yield the cloud under test with its helpers for tests."""
    if request.param != "openstack":
        yield new_sandbox(request.getfixturevalue("sandbox_databases").engine(request.param))
        return
    real: OpenStackLab = request.getfixturevalue("openstack_lab")
    yield real
    real.clean()


@pytest.fixture
def cloud(lab: Lab) -> Cloud:
    """Return the ports of the cloud under test."""
    return lab.cloud
