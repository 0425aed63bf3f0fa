"""Runs command line programs in forks of a process that has imported them.

    warm = Warm("blazar", "openstack")
    done = warm.run("openstack", "reservation", "lease", "list", environment={...})

A start of `openstack` takes more than a second of processor time, nearly all of it for imports. A fork calls the entry
point that the installed program calls, with arguments, environment and streams of its own, and ends as it would.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint

LONGEST = 1 << 16
"""Bytes of a request: arguments and environment."""
WITHIN = 180


class Warm:
    """A process that has programs loaded. It starts at the first `run`, and ends when this is closed."""

    def __init__(self, *programs: str) -> None:
        """Take the names of the programs, as pip installs them."""
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        self._ours: socket.socket | None = None

    def run(self, program: str, *words: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a program to its end without input; raises TimeoutError after `WITHIN` seconds."""
        request = json.dumps([program, *words, dict(environment)]).encode()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            connection = self._connection()
            socket.send_fds(connection, [request], [out.fileno(), err.fileno()])
            answer = connection.recv(LONGEST)
            assert answer, f"the process that has {self._programs} loaded has ended"
            said = [stream.read().decode() for stream in (out, err) if not stream.seek(0)]
        return subprocess.CompletedProcess([program, *words], int(answer), *said)

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._ours is not None:
            self._ours.close()
            self._process.wait()

    def _connection(self) -> socket.socket:
        if self._ours is None:
            self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._ours.settimeout(WITHIN)
            with theirs:
                command = [sys.executable, "-m", "tests.warm", str(theirs.fileno()), *self._programs]
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        return self._ours


def serve(connection: socket.socket, programs: Mapping[str, EntryPoint]) -> None:
    """Run one program after the other, each in a fork, which leaves by SystemExit."""
    for program in programs.values():
        program.load()
    gc.freeze()
    while True:
        request, streams, _flags, _address = socket.recv_fds(connection, LONGEST, 2)
        if not request:
            return
        process = os.fork()
        if not process:
            connection.close()
            name, *words, environment = json.loads(request)
            for number, stream in enumerate(streams, start=1):
                os.dup2(stream, number)
                os.close(stream)
            os.environ.clear()
            os.environ.update(environment)
            sys.argv = [name, *words]
            # It is imported anew because it may look at the arguments then, as `blazarclient.shell` does.
            del sys.modules[programs[name].module]
            sys.exit(programs[name].load()())
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(process, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def installed(name: str) -> EntryPoint:
    """Return the entry point of an installed program."""
    (program,) = entry_points(group="console_scripts", name=name)
    return program


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), {name: installed(name) for name in sys.argv[2:]})
