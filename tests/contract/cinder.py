"""A real Cinder in one process, on SQLite and without Keystone: one host with two services that keep volumes."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import requests

from leasehold import conf
from leasehold.cloud.openstack.cloud import openstack_cloud
from tests.openstack.cloud.home import PLUGINS, find_home
from tests.openstack.cloud.install import install
from tests.openstack.cloud.state import only_one
from tests.processes import as_text, wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.cloud.ports import Storage
    from tests.processes import Options

CONTROLLER = "controller"
HOST, SERVICES = "stor-01", ("stor-01@hdd", "stor-01@ssd")
_EMPTY = "leasehold-empty.sqlite"
_WITHIN = 120
_PROGRAM = PLUGINS / "src" / "leasehold_cloud_plugins" / "block_storage.py"


@dataclass(frozen=True, slots=True)
class Cinder:
    """Cinder as its users and its operator see it, with the port that calls it."""

    url: str
    storage: Storage

    def create_volume(self) -> str:
        """Make a volume, and return it when it has its place, or is in error because there is none."""
        made = str(self.ask("POST", "/volumes", {"volume": {"size": 1}})["volume"]["id"])
        wait_for(lambda: self.volume(made)["status"] in ("available", "error"), within=_WITHIN)
        return made

    def service_of(self, volume: str) -> str | None:
        """Return where a volume is."""
        found = self.volume(volume)["os-vol-host-attr:host"]
        return None if found is None else str(found).partition("#")[0]

    def delete_volume(self, volume: str) -> None:
        self.reset(volume, status="error", migration_status="none")
        self.ask("DELETE", f"/volumes/{volume}")
        wait_for(lambda: self.storage_has(volume) is False, within=_WITHIN)

    def storage_has(self, volume: str) -> bool:
        return any(each["id"] == volume for each in self.ask("GET", "/volumes?all_tenants=1")["volumes"])

    def wait(self, volume: str) -> None:
        """Let a volume without a place look as one that waits for the scheduler."""
        self.reset(volume, status="creating")

    def move(self, volume: str) -> None:
        """Let a volume look as one that is being moved."""
        self.reset(volume, migration_status="migrating")

    def snapshot(self, volume: str) -> str:
        made = str(self.ask("POST", "/snapshots", {"snapshot": {"volume_id": volume}})["snapshot"]["id"])
        wait_for(lambda: self.ask("GET", f"/snapshots/{made}")["snapshot"]["status"] == "available", within=_WITHIN)
        return made

    def delete_snapshot(self, snapshot: str) -> None:
        self.ask("DELETE", f"/snapshots/{snapshot}")
        wait_for(lambda: not self.ask("GET", "/snapshots?all_tenants=1")["snapshots"], within=_WITHIN)

    def settled_group(self, group: str) -> None:
        wait_for(lambda: self.ask("GET", f"/groups/{group}")["group"]["status"] == "available", within=_WITHIN)

    def gone_group(self, group: str) -> None:
        wait_for(lambda: group not in str(self.ask("GET", "/groups?all_tenants=1")), within=_WITHIN)

    def reset(self, volume: str, **what: str) -> None:
        self.ask("POST", f"/volumes/{volume}/action", {"os-reset_status": what})

    def volume(self, volume: str) -> Any:
        return self.ask("GET", f"/volumes/{volume}")["volume"]

    def ask(self, method: str, path: str, body: object = None, user: str = "admin") -> Any:
        headers = {"X-Auth-Token": f"{user}:admin", "OpenStack-API-Version": "volume 3.45"}
        answer = requests.request(method, f"{self.url}{path}", json=body, headers=headers, timeout=60)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None


@contextmanager
def cinder(folder: Path) -> Iterator[Cinder]:
    """Run Cinder until the block ends."""
    venv, port = _installed(), free_port()
    shutil.copy(venv / _EMPTY, folder / "cinder.sqlite")
    url, log = f"http://127.0.0.1:{port}/v3", folder / "cinder.log"
    made = Cinder(url, openstack_cloud(_client(folder, url)).storage)
    config = _configured(venv, folder, port)
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", str(venv / "bin" / "python"), str(_PROGRAM), "--config-file", config],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            wait_for(lambda: process.poll() is not None or _is_ready(made), within=_WITHIN)
            assert process.poll() is None, log.read_text()[-5000:]
            yield made
        finally:
            process.terminate()
            process.wait(60)


def _is_ready(made: Cinder) -> bool:
    try:
        found = made.ask("GET", "/os-services")["services"]
    except requests.ConnectionError:
        return False
    return {each["host"] for each in found if each["state"] == "up"} >= {CONTROLLER, *SERVICES}


def _client(folder: Path, url: str) -> Any:
    path = folder / "leasehold.conf"
    options: Options = {
        "cloud": {"driver": "openstack", "auth_type": "admin_token", "endpoint": url, "token": "admin:admin"},
        "cinder": {"endpoint_override": url},
    }
    path.write_text(as_text(options))
    return conf.load(["--config-file", str(path)]).raw


def _installed() -> Path:
    """Return the environment of Cinder, with an empty database in it; made once on a machine."""
    home = find_home()
    with only_one(home.venvs / "cinder"):
        venv = install(home, "cinder")
        if not (venv / _EMPTY).exists():
            draft = venv / "draft.sqlite"
            draft.unlink(missing_ok=True)
            config = venv / "empty.conf"
            options: Options = {"DEFAULT": {"state_path": venv}, "database": {"connection": f"sqlite:///{draft}"}}
            config.write_text(as_text(options))
            command = [str(venv / "bin" / "cinder-manage"), "--config-file", str(config), "db", "sync"]
            subprocess.run(command, check=True, capture_output=True)
            draft.replace(venv / _EMPTY)
    return venv


def _configured(venv: Path, folder: Path, port: int) -> str:
    names = [each.partition("@")[2] for each in SERVICES]
    backend = {"volume_driver": "__main__.NothingDriver", "backend_host": HOST}
    options: Options = {
        "DEFAULT": {
            "auth_strategy": "noauth",
            "transport_url": "fake:/",
            "host": CONTROLLER,
            "my_ip": "127.0.0.1",
            "state_path": folder,
            "api_paste_config": venv / "etc" / "cinder" / "api-paste.ini",
            "osapi_volume_listen": "127.0.0.1",
            "osapi_volume_listen_port": port,
            "osapi_volume_workers": 1,
            "enabled_backends": ",".join(names),
            "report_interval": 1,
            "service_down_time": 30,
        },
        "database": {"connection": f"sqlite:///{folder / 'cinder.sqlite'}"},
        "oslo_concurrency": {"lock_path": folder},
        "coordination": {"backend_url": f"file://{folder}"},
        **{name: {**backend, "volume_backend_name": name} for name in names},
    }
    path = folder / "cinder.conf"
    path.write_text(as_text(options))
    return str(path)
