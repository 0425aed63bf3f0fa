"""A Prometheus server that reads metrics each second, and answers questions about them."""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests
import yaml

from tests.processes import wait_for
from tests.servers import ServerMissingError, find_program, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class Prometheus:
    """A running server."""

    url: str

    def ask(self, expression: str) -> list[dict[str, str]]:
        """Return the labels of each series that an expression has now; raises AssertionError if it cannot be read."""
        found = requests.get(f"{self.url}/api/v1/query", params={"query": expression}, timeout=10).json()
        assert found["status"] == "success", f"{expression}: {found.get('error')}"
        result: list[dict[str, Any]] = found["data"]["result"]
        return [each["metric"] for each in result]


@contextmanager
def prometheus(jobs: Mapping[str, int]) -> Iterator[Prometheus]:
    """Run a server that reads the metrics of these jobs, each on a port of this machine, until the block ends."""
    program = find_program("prometheus")
    if program is None:
        raise ServerMissingError("The dashboard is tested with Prometheus; on Debian: apt-get install prometheus")
    scraped = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]} for name, port in jobs.items()
    ]
    with tempfile.TemporaryDirectory(prefix="leasehold-prometheus-") as folder:
        config = Path(folder) / "prometheus.yml"
        config.write_text(yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": scraped}))
        port = free_port()
        options = [f"--config.file={config}", f"--storage.tsdb.path={folder}/data"]
        options.append(f"--web.listen-address=127.0.0.1:{port}")
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", program, *options], stdout=log, stderr=subprocess.STDOUT
            )
        try:
            server = Prometheus(f"http://127.0.0.1:{port}")
            wait_for(lambda: _is_ready(server))
            yield server
        finally:
            process.terminate()
            process.wait(30)


def _is_ready(server: Prometheus) -> bool:
    try:
        return requests.get(f"{server.url}/-/ready", timeout=5).ok
    except requests.ConnectionError:
        return False
