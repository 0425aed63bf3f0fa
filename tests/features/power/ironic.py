"""A real Ironic in one process: on SQLite, without Keystone, with fake machines and those of a Redfish emulator."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import requests

from tests.openstack.cloud.home import find_home
from tests.openstack.cloud.install import install
from tests.openstack.cloud.state import only_one
from tests.processes import as_text, merged, wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.processes import Options

DELAY = 1
"""Seconds for which a fake machine is being switched, and its node is locked."""
VERSION = {"X-OpenStack-Ironic-API-Version": "1.61"}
_EMPTY = "leasehold-empty.sqlite"
_STARTS_WITHIN = 120


@dataclass(frozen=True, slots=True)
class Ironic:
    """Ironic as its operator sees it, who may have to log in with headers."""

    url: str
    login: Mapping[str, str] = field(default_factory=dict)

    def fake(self, name: str) -> None:
        """Add a fake machine, unless it is there, and switch it on."""
        if not any(each["name"] == name for each in self.ask("GET", "").json()["nodes"]):
            self.ask("POST", "", {"name": name, "driver": "fake-hardware"})
        self.switch(name, "power on")

    @contextmanager
    def real(self, name: str, **driver_info: object) -> Iterator[None]:
        """Add a machine that answers by Redfish, and let Ironic look at it; remove it at the end."""
        self.ask("POST", "", {"name": name, "driver": "redfish", "driver_info": driver_info})
        self.ask("PUT", f"/{name}/states/provision", {"target": "manage"})
        wait_for(lambda: self.node(name)["provision_state"] == "manageable", within=60)
        yield
        self.remove(name)

    def remove(self, name: str) -> None:
        """Forget a machine that is not being switched."""
        wait_for(lambda: self.node(name)["reservation"] is None, within=60)
        self.ask("DELETE", f"/{name}")

    def switch(self, name: str, target: str) -> None:
        """Switch a machine, and wait until that is done."""
        self.ask("PUT", f"/{name}/states/power", {"target": target})
        wait_for(lambda: self.node(name)["power_state"] == target and not self.node(name)["reservation"], within=60)

    def node(self, name: str) -> Any:
        return self.ask("GET", f"/{name}").json()

    def ask(self, method: str, path: str, body: object = None) -> requests.Response:
        answer = requests.request(
            method, f"{self.url}/v1/nodes{path}", json=body, headers={**VERSION, **self.login}, timeout=60
        )
        assert answer.ok, answer.text
        return answer


@contextmanager
def ironic(folder: Path, options: Options | None = None, login: Mapping[str, str] | None = None) -> Iterator[Ironic]:
    """Run Ironic with these options beside ours until the block ends."""
    venv, port = _installed(), free_port()
    shutil.copy(venv / _EMPTY, folder / "ironic.sqlite")
    made, log = Ironic(f"http://127.0.0.1:{port}", login or {}), folder / "ironic.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(venv, "ironic", _configured(folder, port, options or {})),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            wait_for(lambda: process.poll() is not None or _answers(made), within=_STARTS_WITHIN)
            assert process.poll() is None, log.read_text()[-5000:]
            yield made
        finally:
            process.terminate()
            process.wait(60)


def _answers(made: Ironic) -> bool:
    """Say whether the API answers, and the conductor has told which hardware it can manage."""
    try:
        found = requests.get(f"{made.url}/v1/drivers", headers={**VERSION, **made.login}, timeout=10)
    except requests.ConnectionError:
        return False
    return "fake-hardware" in found.text


def _installed() -> Path:
    """Return the environment of Ironic, with an empty database in it; made once on a machine."""
    home = find_home()
    with only_one(home.venvs / "ironic"):
        venv = install(home, "ironic")
        if not (venv / _EMPTY).exists():
            draft = venv / "draft.sqlite"
            draft.unlink(missing_ok=True)
            config = venv / "empty.conf"
            config.write_text(as_text({"database": {"connection": f"sqlite:///{draft}"}}))
            subprocess.run([*_command(venv, "ironic-dbsync", config), "create_schema"], check=True, capture_output=True)
            draft.replace(venv / _EMPTY)
    return venv


def _command(venv: Path, program: str, config: Path) -> list[str]:
    # The kernel stops it if this process is killed.
    return ["setpriv", "--pdeathsig", "TERM", str(venv / "bin" / program), "--config-file", str(config)]


def _configured(folder: Path, port: int, options: Options) -> Path:
    interfaces = {
        **dict.fromkeys(("power", "management"), "fake,redfish"),
        "boot": "fake,redfish-virtual-media",
        "deploy": "fake,direct",
        **{name: f"no-{name}" for name in ("bios", "raid", "vendor", "firmware", "console", "rescue", "inspect")},
        **dict.fromkeys(("network", "storage"), "noop"),
    }
    ours: Options = {
        "DEFAULT": {
            "auth_strategy": "noauth",
            "rpc_transport": "none",
            "host": "tests",
            "my_ip": "127.0.0.1",
            "enabled_hardware_types": "fake-hardware,redfish",
            **{f"enabled_{name}_interfaces": value for name, value in interfaces.items()},
        },
        "api": {"host_ip": "127.0.0.1", "port": port},
        "database": {"connection": f"sqlite:///{folder / 'ironic.sqlite'}"},
        # A node that is locked is refused at once: whoever asks has to try again.
        "conductor": {
            "node_locked_retry_attempts": 1,
            "workers_pool_size": 100,
            "graceful_shutdown_timeout": 1,
        },
        "fake": {"power_delay": DELAY},
        "oslo_concurrency": {"lock_path": folder},
    }
    path = folder / "ironic.conf"
    path.write_text(as_text(merged(ours, options)))
    return path
