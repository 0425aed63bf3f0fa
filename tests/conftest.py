"""Fixtures and hooks for all tests. A run starts one database server of each kind, which its workers share."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.databases import ON_EACH, Databases, database
from tests.scratch import keep_in_memory, remove_at_exit
from tests.selection import is_excluded
from tests.servers import Server, ServerMissingError, server_of_kind

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

CI = os.environ.get("CI") == "true"

# CI derandomizes the examples so that a failure can be reproduced; elsewhere every run may try new ones. No profile has
# a deadline, because the time that one example takes on a busy machine says nothing about the code.
settings.register_profile("ci", derandomize=True, print_blob=True, deadline=None)
settings.register_profile("dev", deadline=None)
# `make check` has a few seconds for all property tests, so it tries fewer examples than `make test`, which tries 100.
settings.register_profile("quick", deadline=None, max_examples=10)
settings.load_profile("ci" if CI else "dev")


# ---------------------------------------------------------------- one server of each kind per run


class OurDatabases:
    """Databases on servers that this process starts at the first request for each kind."""

    def __init__(self) -> None:
        self._running: dict[str, Server] = {}
        self._stack = contextlib.ExitStack()

    def create(self, kind: str) -> str:
        if kind not in self._running:
            self._running[kind] = self._stack.enter_context(server_of_kind(kind))
        return self._running[kind].create_database()

    def drop(self, kind: str, url: str) -> None:
        self._running[kind].drop_database(url)

    def close(self) -> None:
        self._stack.close()


class SharedDatabases:
    """Serves the databases of the controller process, which started the workers, to those workers.

    The controller owns the servers because it outlives every worker.
    """

    def __init__(self, databases: OurDatabases) -> None:
        self._databases = databases
        self.key = os.urandom(32)
        self._listener = Listener(authkey=self.key)
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="databases", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return str(self._listener.address)

    def close(self) -> None:
        self._closing = True
        # The thread blocks in `accept`; a last connection wakes it.
        with contextlib.suppress(OSError, EOFError):
            Client(self.address, authkey=self.key).close()
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while not self._closing:
            # If a worker dies during its request, keep serving the other workers.
            with contextlib.suppress(OSError, EOFError, AuthenticationError), self._listener.accept() as caller:
                verb, *arguments = caller.recv()
                try:
                    answer = getattr(self._databases, verb)(*arguments)
                except Exception as error:  # noqa: BLE001  The error is raised in the test that asked.
                    answer = error
                caller.send(answer)


class WorkersDatabases:
    """Requests databases from the `SharedDatabases` of the controller process."""

    def __init__(self, address: str, key: bytes) -> None:
        self._address = address
        self._key = key

    def create(self, kind: str) -> str:
        url: str = self._ask("create", kind)
        return url

    def drop(self, kind: str, url: str) -> None:
        self._ask("drop", kind, url)

    def _ask(self, *question: str) -> Any:
        with Client(self._address, authkey=self._key) as connection:
            connection.send(question)
            answer = connection.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer


DATABASES = pytest.StashKey[Databases]()
SHARED = pytest.StashKey[SharedDatabases]()
SCRATCH = pytest.StashKey["Path | None"]()


def pytest_configure(config: pytest.Config) -> None:
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is not None:
        config.stash[DATABASES] = WorkersDatabases(worker["databases_address"], worker["databases_key"])
        return
    config.stash[SCRATCH] = keep_in_memory()
    ours = OurDatabases()
    config.stash[DATABASES] = ours
    config.add_cleanup(ours.close)
    if config.getoption("dist", "no") != "no":
        shared = SharedDatabases(ours)
        config.stash[SHARED] = shared
        # Cleanups run in reverse order, so the listener closes before the servers stop.
        config.add_cleanup(shared.close)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the address and key of the shared databases to a pytest-xdist worker before it starts."""
    shared = node.config.stash[SHARED]
    node.workerinput["databases_address"] = shared.address
    node.workerinput["databases_key"] = shared.key


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remove what a run without failures left in memory; what a failed test left stays until the next run."""
    folder = session.config.stash.get(SCRATCH, None)
    if folder is not None and exitstatus == pytest.ExitCode.OK:
        remove_at_exit(folder)


# ---------------------------------------------------------------- what is collected


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return is_excluded(collection_path, config.option.markexpr) or None


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over all that collecting made, which stays to the end, and look less often.

    It would follow half a million objects again and again: a sixth of the processor time of the quick tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


# ---------------------------------------------------------------- skips


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    with skipped_without_servers():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    with skipped_without_servers():
        return (yield)


@contextlib.contextmanager
def skipped_without_servers() -> Iterator[None]:
    """Skip a test whose database server is not installed; the reason names the missing package."""
    try:
        yield
    except ServerMissingError as missing:
        pytest.skip(str(missing))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure in CI: CI has all dependencies, and a test skipped there would never run."""
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"A test may not be skipped under CI=true. {reason}"


# ---------------------------------------------------------------- fixtures


@pytest.fixture(scope="session")
def databases(pytestconfig: pytest.Config) -> Databases:
    """Return the factory of databases, for tests that need more than one; other tests use `database_url`."""
    return pytestconfig.stash[DATABASES]


@pytest.fixture(params=ON_EACH)
def database_kind(request: pytest.FixtureRequest) -> str:
    """Return the kind of database that the test runs on."""
    kind: str = request.param
    return kind


@pytest.fixture
def database_url(database_kind: str, tmp_path: Path, databases: Databases) -> Iterator[str]:
    """Yield the SQLAlchemy URL of an empty database; the test runs once on each supported database."""
    with database(databases, database_kind, tmp_path) as url:
        yield url


@pytest.fixture
def mariadb_url(databases: Databases, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of an empty MariaDB database. The test must set the marker `servers` itself."""
    with database(databases, "mariadb", tmp_path) as url:
        yield url


@pytest.fixture
def postgresql_url(databases: Databases, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of an empty PostgreSQL database. The test must set the marker `servers` itself."""
    with database(databases, "postgresql", tmp_path) as url:
        yield url
