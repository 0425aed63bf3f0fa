"""Every cloud that the contract tests run on; a test uses `lab` or only `cloud`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.sandbox.tables import metadata
from tests.contract.lab import Lab, SandboxLab, new_sandbox
from tests.databases import ON_EACH, Databases, kept_databases
from tests.openstack.ready import READY_WITHIN, cloud_number
from tests.processes import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Engine

    from leasehold.cloud.ports import Cloud
    from tests.contract.openstack_lab import OpenStackLab


@pytest.fixture(scope="session")
def sandbox_databases(
    databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Engine]]:
    with kept_databases(databases, tmp_path_factory.mktemp("sandbox"), metadata.create_all) as of_kind:
        yield of_kind


@pytest.fixture(scope="session")
def openstack_lab(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[OpenStackLab]:
    """Yield the real services; start them unless they run."""
    # Not loaded where `-m` excludes the real services.
    from tests.contract.openstack_lab import OpenStackLab  # noqa: PLC0415
    from tests.openstack.cloud import having_cloud  # noqa: PLC0415
    from tests.openstack.leasehold import configuration  # noqa: PLC0415

    with having_cloud(cloud_number(worker_id)) as cloud:
        file = tmp_path_factory.mktemp("openstack") / "leasehold.conf"
        file.write_text(as_text(configuration(cloud, "sqlite://", {})))
        yield OpenStackLab(file, cloud.connection)


@pytest.fixture
def sandbox_lab(request: pytest.FixtureRequest, sandbox_databases: Callable[[str], Engine]) -> SandboxLab:
    """Return a new sandbox, on each database unless the test selects one."""
    return new_sandbox(sandbox_databases(request.param))


# The first test on the real cloud waits until it is ready.
REAL = pytest.param("openstack", marks=[pytest.mark.openstack, pytest.mark.timeout(READY_WITHIN)])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that use `lab` on every cloud, and tests that use `sandbox_lab` on every database."""
    if "sandbox_lab" in metafunc.fixturenames:
        metafunc.parametrize("sandbox_lab", ON_EACH, indirect=True)
    elif "lab" in metafunc.fixturenames:
        metafunc.parametrize("lab", [*ON_EACH, REAL], indirect=True)


@pytest.fixture
def lab(request: pytest.FixtureRequest, sandbox_databases: Callable[[str], Engine]) -> Iterator[Lab]:
    """Yield the cloud under test with its helpers for tests."""
    if request.param != "openstack":
        yield new_sandbox(sandbox_databases(request.param))
        return
    real: OpenStackLab = request.getfixturevalue("openstack_lab")
    yield real
    real.clean()


@pytest.fixture
def cloud(lab: Lab) -> Cloud:
    """Return the ports of the cloud under test."""
    return lab.cloud
