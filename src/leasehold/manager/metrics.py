"""The manager's port for Prometheus: what this process has counted, and what the database holds now."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from leasehold.conf.errors import ConfigurationError
from leasehold.db.state_gauges import read_state_gauges
from leasehold.metrics.exposition import served
from leasehold.metrics.state_gauges import StateGaugesCollector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.leasing.service import Service
    from leasehold.metrics.state_gauges import StateGauges


@contextmanager
def metrics_served(service: Service) -> Iterator[None]:
    """Answer Prometheus for the length of the block, if that is configured; raises ConfigurationError."""
    settings = service.settings.manager.metrics
    if not settings.port:
        yield
        return
    with ExitStack() as stack:
        try:
            stack.enter_context(served(settings.host, settings.port, StateGaugesCollector(partial(_take, service))))
        except OSError as error:
            message = (
                f"The manager cannot answer Prometheus on {settings.host}:{settings.port}: {error.strerror}. "
                "Stop what uses that port, or change [manager] metrics_port or metrics_host; 0 means no port."
            )
            raise ConfigurationError(message) from error
        yield


def _take(service: Service) -> StateGauges:
    with service.db.reading() as connection:
        return read_state_gauges(connection, service.now())
