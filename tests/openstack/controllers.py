"""The management controllers of the computes: what the hook of sleeping hosts calls switches real nova-computes.

    with controllers(cloud, folder) as switches:
        options = {"power:box": {"driver": "hook", "command": switches.command}}

A machine is on from the command until it is told to stop and its nova-compute has ended.
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

from tests.relay import listening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.openstack.cloud import RunningCloud

_PROGRAM = """import sys, urllib.request
print(urllib.request.urlopen("http://127.0.0.1:{port}/" + "/".join(sys.argv[1:]), timeout=20).read().decode())
"""


@dataclass
class Controllers:
    """What they were told, by machine, but for `status` and `watts`; those in `dead` do not boot so many times."""

    cloud: RunningCloud
    command: str = ""
    told: dict[str, list[str]] = field(default_factory=dict)
    dead: dict[str, int] = field(default_factory=dict)
    _off: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, word: str, name: str, threads: ThreadPoolExecutor) -> str:
        """Do as one call of the hook asks, and return what it prints."""
        with self._lock:
            if word == "status":
                return "off" if name in self._off else "on"
            if word == "watts":
                return ""
            self.told.setdefault(name, []).append(word)
            if word == "shutdown":
                threads.submit(self._shut_down, name)
            elif word == "off":
                self.cloud.kill_service(name)
                self._off.add(name)
            elif name in self._off:
                self._off.discard(name)
                if self.dead.get(name, 0):
                    self.dead[name] -= 1
                else:
                    self.cloud.launch_service(name)
        return ""

    def _shut_down(self, name: str) -> None:
        self.cloud.stop_service(name)
        with self._lock:
            self._off.add(name)


@contextmanager
def controllers(cloud: RunningCloud, folder: Path) -> Iterator[Controllers]:
    """Yield the controllers of all computes; at the end those that a failure has left off are started again."""
    made = Controllers(cloud)
    with ThreadPoolExecutor(thread_name_prefix="shutdown") as threads:

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                _, word, name = self.path.split("/")
                said = made.answer(word, name, threads).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
                """Write nothing."""

        with listening(Answer) as port:
            program = folder / "power"
            program.write_text(_PROGRAM.format(port=port))
            made.command = f"{sys.executable},{program}"
            yield made
    for name in cloud.computes:
        if not cloud.is_alive(name):
            cloud.start_service(name)
