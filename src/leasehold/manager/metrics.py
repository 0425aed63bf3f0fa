"""The port of a manager or a bridge for Prometheus: the counters of this process, and the database's state gauges."""

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

    from leasehold.conf.settings import MetricsSettings
    from leasehold.leasing.service import Service
    from leasehold.metrics.state_gauges import StateGauges


@contextmanager
def metrics_served(service: Service, settings: MetricsSettings, group: str) -> Iterator[None]:
    """Serve metrics to Prometheus inside the block, if a port is set; raises ConfigurationError if that is taken.

    `group` is the section of the configuration that sets the port.
    """
    if not settings.port:
        yield
        return
    with ExitStack() as stack:
        try:
            stack.enter_context(served(settings.host, settings.port, StateGaugesCollector(partial(_take, service))))
        except OSError as error:
            message = (
                f"Prometheus cannot be answered on {settings.host}:{settings.port}: {error.strerror}. "
                f"Free that port, or change [{group}] metrics_port or metrics_host; metrics_port = 0 switches it off."
            )
            raise ConfigurationError(message) from error
        yield


def _take(service: Service) -> StateGauges:
    with service.db.reading() as connection:
        return read_state_gauges(connection, service.now())
