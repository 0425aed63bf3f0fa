"""A real CloudKitty in one process: on SQLite and InfluxDB, without Keystone."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import requests

from tests.openstack.cloud.home import find_home
from tests.openstack.cloud.install import install
from tests.openstack.cloud.state import only_one
from tests.processes import as_text, wait_for
from tests.servers import ServerMissingError, find_program, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

_STARTS_WITHIN = 120
_SERVE = """
import os
from cloudkitty.wsgi.api import application
from werkzeug.serving import run_simple
run_simple("127.0.0.1", int(os.environ["PORT"]), application, threaded=True)
"""
_PASTE = """
[app:cloudkitty+noauth]
paste.app_factory = cloudkitty.api.app:app_factory
"""
_POLICY = "{context_is_admin: '@', 'dataframes:add': '@', 'dataframes:get': '@', 'summary:get_summary': '@'}"
_INFLUXDB = """
reporting-disabled = true
bind-address = "127.0.0.1:{backup}"
[meta]
dir = "{folder}/influxdb/meta"
[data]
dir = "{folder}/influxdb/data"
wal-dir = "{folder}/influxdb/wal"
[http]
bind-address = "127.0.0.1:{port}"
log-enabled = false
"""


@dataclass(frozen=True, slots=True)
class CloudKitty:
    """CloudKitty as its operator sees it."""

    url: str

    def total(self, begin: datetime, end: datetime, **filters: str) -> Decimal:
        """Return what it says was paid for in a window."""
        some = ",".join(f"{name}:{value}" for name, value in filters.items())
        found = self._ask("/v2/summary", begin, end, **({"filters": some} if some else {}))
        rate = found["columns"].index("rate")
        return sum((round(Decimal(str(row[rate])), 6) for row in found["results"]), Decimal(0))

    def points(self, begin: datetime, end: datetime) -> list[dict[str, Any]]:
        """Return all rows of a window."""
        found = self._ask("/v2/dataframes", begin, end, limit=10_000)
        return [point for frame in found["dataframes"] for some in frame["usage"].values() for point in some]

    def _ask(self, path: str, begin: datetime, end: datetime, **more: Any) -> Any:
        query = {"begin": begin.isoformat(), "end": end.isoformat(), **more}
        answer = requests.get(f"{self.url}{path}", params=query, timeout=60)
        if answer.status_code == 404:
            return {"dataframes": []}
        assert answer.ok, answer.text
        return answer.json()


@contextmanager
def cloudkitty(folder: Path) -> Iterator[CloudKitty]:
    """Run InfluxDB and CloudKitty until the block ends."""
    with only_one(find_home().venvs / "cloudkitty"):
        venv = install(find_home(), "cloudkitty")
    influxd = find_program("influxd")
    if influxd is None:
        message = "The CloudKitty of the tests stores in InfluxDB; on Debian: apt-get install influxdb"
        raise ServerMissingError(message)
    (stored, backup), config = (free_port(), free_port()), folder / "influxdb.conf"
    config.write_text(_INFLUXDB.format(folder=folder, port=stored, backup=backup))
    with _process(folder, "influxdb", [influxd, "-config", str(config)], f"http://127.0.0.1:{stored}/ping"):
        options, port = _configured(folder, stored), free_port()
        # Of its rating modules, which nobody uses here, one cannot make its tables in SQLite.
        upgrade = ("--config-file", str(options), "upgrade", "--module", "cloudkitty")
        subprocess.run([str(venv / "bin" / "cloudkitty-dbsync"), *upgrade], check=True, capture_output=True)
        made = {"q": "CREATE DATABASE cloudkitty"}
        requests.post(f"http://127.0.0.1:{stored}/query", data=made, timeout=60).raise_for_status()
        served = [str(venv / "bin" / "python"), "-c", _SERVE, "--config-file", str(options)]
        command = ["env", f"PORT={port}", *served]
        with _process(folder, "cloudkitty", command, f"http://127.0.0.1:{port}/"):
            yield CloudKitty(f"http://127.0.0.1:{port}")


@contextmanager
def _process(folder: Path, name: str, command: list[str], url: str) -> Iterator[None]:
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        # The kernel stops it if this process is killed.
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *command], stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            wait_for(lambda: process.poll() is not None or _answers(url), within=_STARTS_WITHIN)
            assert process.poll() is None, log.read_text()[-5000:]
            yield
        finally:
            process.terminate()
            process.wait(60)


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=10).ok
    except requests.ConnectionError:
        return False


def _configured(folder: Path, influxdb: int) -> Path:
    (folder / "api_paste.ini").write_text(_PASTE)
    (folder / "policy.yaml").write_text(_POLICY)
    path = folder / "cloudkitty.conf"
    path.write_text(
        as_text(
            {
                "DEFAULT": {
                    "auth_strategy": "noauth",
                    "api_paste_config": folder / "api_paste.ini",
                    "transport_url": "fake://",
                },
                "database": {"connection": f"sqlite:///{folder / 'cloudkitty.sqlite'}"},
                "storage": {"version": 2, "backend": "influxdb"},
                "storage_influxdb": {"database": "cloudkitty", "host": "127.0.0.1", "port": influxdb},
                "oslo_policy": {"policy_file": folder / "policy.yaml", "enforce_scope": False},
            }
        )
    )
    return path
