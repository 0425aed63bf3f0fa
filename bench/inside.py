"""The API inside this process, so that its SQL statements can be counted."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

from falcon import testing
from sqlalchemy import event

from bench.client import VERSION_1_1
from bench.deployment import MANY_LEASES
from leasehold import conf
from leasehold.cmd.compose import build_service
from leasehold.cmd.web import make_app
from leasehold.db.engine import engines_of
from tests.counts.meter import BEGINS

if TYPE_CHECKING:
    from collections.abc import Iterator


class Inside:
    """A whole API without a socket, and the statements that it has sent to the database."""

    def __init__(self, database_url: str) -> None:
        """Put the service together as `leasehold-api` does."""
        defaults = {
            ("DEFAULT", "host"): "127.0.0.1",
            ("database", "connection"): database_url,
            ("api", "auth_strategy"): "none",
            ("cloud", "driver"): "sandbox",
            **{("enforcement", name): limit for name, limit in MANY_LEASES.items()},
        }
        config = conf.load(["--config-file", "/dev/null"], defaults=defaults)
        self.service = build_service(config, Event())
        self._web = testing.TestClient(make_app(self.service, config.api))
        self.statements: list[str] = []
        engine = self.service.db.engine
        for each in engines_of(engine):
            event.listen(each, "before_cursor_execute", self._note)

    def _note(self, *context: Any) -> None:
        statement: str = context[2]
        # Skip the sandbox's statements: it shares the database, but a real cloud has its own.
        if statement not in BEGINS and "sandbox_" not in statement:
            self.statements.append(statement)

    def ask(self, method: str, path: str, body: Any = None) -> testing.Result:
        """Send a request; `statements` are then those of this request alone."""
        self.statements.clear()
        return self._web.simulate_request(method, f"/v1{path}", json=body, headers=VERSION_1_1)


@contextmanager
def inside(database_url: str) -> Iterator[Inside]:
    """Yield the API on a database that has the schema."""
    api = Inside(database_url)
    try:
        yield api
    finally:
        api.service.db.engine.dispose()
