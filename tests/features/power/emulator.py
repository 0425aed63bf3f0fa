"""Redfish as sushy-tools emulates it: systems that take seconds to switch on and off."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import bcrypt
import requests

from tests.processes import wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

USER, PASSWORD = "operator", "not-to-be-told"
SYSTEMS = ("6f7d1b1c-0000-4000-8000-000000000001", "6f7d1b1c-0000-4000-8000-000000000002")


@contextmanager
def emulator(folder: Path, idents: Sequence[str] = SYSTEMS) -> Iterator[str]:
    """Run an emulator with these systems, which are on, and yield its URL."""
    port = free_port()
    secret = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    (folder / "users").write_text(f"{USER}:{secret}\n")
    systems = [
        {"uuid": ident, "name": f"node-{number}", "power_state": "On", "nics": []}
        for number, ident in enumerate(idents)
    ]
    options = {
        "SUSHY_EMULATOR_LISTEN_IP": "127.0.0.1",
        "SUSHY_EMULATOR_LISTEN_PORT": port,
        "SUSHY_EMULATOR_AUTH_FILE": str(folder / "users"),
        "SUSHY_EMULATOR_STATE_DIR": str(folder),
        "SUSHY_EMULATOR_FAKE_DRIVER": True,
        "SUSHY_EMULATOR_FAKE_SYSTEMS": systems,
    }
    (folder / "emulator.py").write_text("".join(f"{name} = {value!r}\n" for name, value in options.items()))
    program = str(Path(sys.executable).with_name("sushy-emulator"))
    url = f"http://127.0.0.1:{port}"
    with (folder / "emulator.log").open("wb") as log:
        process = subprocess.Popen([program, "--config", str(folder / "emulator.py")], stdout=log, stderr=log)
        try:
            wait_for(lambda: process.poll() is not None or _answers(url), within=60)
            assert process.poll() is None, (folder / "emulator.log").read_text()
            yield url
        finally:
            process.terminate()
            process.wait(60)


def _answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/redfish/v1/", timeout=10).ok
    except requests.ConnectionError:
        return False
