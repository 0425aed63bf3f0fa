"""Runs Horizon with Blazar's dashboard on the cloud under test, served as the cloud's own services are.

with running_horizon(cloud) as url:
    requests.get(f"{url}/auth/login/")
"""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import requests

from tests.processes import wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud

_START_WITHIN = 180.0
_STOP_WITHIN = 30.0
_LAST_LINES = 40


@contextmanager
def running_horizon(cloud: RunningCloud) -> Iterator[str]:
    """Run it until the block ends; yields its URL when it answers, and shows its log if the block fails."""
    venv, address = cloud.venv("dashboard"), f"127.0.0.1:{free_port()}"
    (packages,) = venv.glob("lib/python*/site-packages")
    command = [
        *("setpriv", "--pdeathsig", "TERM", str(venv / "bin" / "uwsgi")),
        *("--http-socket", address, "--module", "openstack_dashboard.wsgi", "--callable", "application"),
        *("--master", "--processes", "2", "--threads", "4", "--need-app", "--die-on-term"),
        *("--static-map", f"/static={packages / 'static'}", "--buffer-size", "65535"),
        *("--add-header", "Connection: close"),
    ]
    environment = {
        "PATH": f"{venv / 'bin'}:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "HORIZON_KEYSTONE_URL": cloud.auth_url,
        "HORIZON_MEMCACHED": f"127.0.0.1:{cloud.ports['memcached']}",
        "HORIZON_SECRET_KEY": secrets.token_urlsafe(),
    }
    with tempfile.TemporaryDirectory(prefix="leasehold-horizon-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=folder
            )
        try:
            wait_for(lambda: process.poll() is not None or _answers(address), within=_START_WITHIN)
            assert process.poll() is None, "Horizon has ended"
            yield f"http://{address}"
        except BaseException as error:
            error.add_note("\n".join(log.read_text(errors="replace").splitlines()[-_LAST_LINES:]))
            raise
        finally:
            process.terminate()
            process.wait(_STOP_WITHIN)


def _answers(address: str) -> bool:
    with contextlib.suppress(requests.ConnectionError):
        return requests.get(f"http://{address}/auth/login/", timeout=30).ok
    return False
