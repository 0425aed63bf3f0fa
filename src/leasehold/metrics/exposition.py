"""Serves the metrics to Prometheus: as a page of the API, or on a separate port.

Processes that share a port share their metrics through the folder `PROMETHEUS_MULTIPROC_DIR`, as prometheus_client
documents it; any of them answers for all.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import REGISTRY, CollectorRegistry, start_http_server
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.registry import Collector

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def registry(*more: Collector) -> CollectorRegistry:
    """Return the metrics of all processes that share our folder, or of this process alone, and those of `more`."""
    found = CollectorRegistry()
    if os.environ.get(SHARED_FOLDER):
        MultiProcessCollector(found)  # type: ignore[no-untyped-call]
    else:
        found.register(REGISTRY)
    for collector in more:
        found.register(collector)
    return found


def page(accept: str) -> tuple[bytes, str]:
    """Return the current metrics, and their content type, chosen by the Accept header."""
    encode, content_type = choose_encoder(accept)
    return encode(registry()), content_type


@contextmanager
def served(host: str, port: int, *more: Collector) -> Iterator[int]:
    """Serve the metrics on a port for the length of the block, and yield the port; raises OSError if it is in use."""
    server, thread = start_http_server(port, host, registry(*more))
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
