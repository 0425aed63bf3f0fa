"""Runs programs in forks of a process that has imported them.

    warm = Warm("blazar", "openstack")
    done = warm.run("openstack", "reservation", "lease", "list", environment={...})

A start of `openstack` or of one of our services takes more than a second of processor time, nearly all of it for
imports. A fork calls the entry point that the installed program calls, with arguments, environment, streams and working
directory of its own, and ends as it would: with its exit code, or by the signal that ends it.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint
    from typing import IO

LONGEST = 1 << 16
"""Bytes of a request: arguments, environment and working directory."""
WITHIN = 180
CHECKOUT = Path(__file__).parent.parent
PR_SET_PDEATHSIG = 1


class Forked:
    """A program that runs, or has ended, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, args: list[str], status: socket.socket) -> None:
        """Take what was asked for, and the socket on which its process id and then its exit code are told."""
        self.args = args
        self.returncode: int | None = None
        self._status = status
        # The end is told once, and several threads of a test may ask.
        self._asking = Lock()
        self.pid = int(self._told())

    def poll(self) -> int | None:
        """Return its exit code, the negative number of the signal that ended it, or None while it runs."""
        with self._asking:
            if self.returncode is None and select.select([self._status], [], [], 0)[0]:
                self.returncode = int(self._told())
                self._status.close()
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its exit code; raises subprocess.TimeoutExpired."""
        if self.returncode is None and not select.select([self._status], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        self.send_signal(signal.SIGKILL)

    def _told(self) -> bytes:
        told = self._status.recv(LONGEST)
        assert told, f"the process that has {self.args[0]} loaded has ended"
        return told


class Warm:
    """A process that has programs loaded. It starts with the first program, and ends when this is closed."""

    def __init__(self, *programs: str, modules: tuple[str, ...] = ()) -> None:
        """Take the names of the programs, as pip installs them, and modules that these import when they run."""
        self._programs = programs
        self._modules = modules
        self._process: subprocess.Popen[bytes] | None = None
        self._ours: socket.socket | None = None

    def start(
        self,
        program: str,
        *words: str,
        environment: Mapping[str, str],
        folder: Path | None = None,
        out: IO[bytes],
        err: IO[bytes],
    ) -> Forked:
        """Start a program without input in a working directory, by default the checkout.

        It gets SIGTERM when this process ends, so no run leaves a server behind.
        """
        request = json.dumps([program, *words, str(folder or ""), dict(environment)]).encode()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(self._connection(), [request], [theirs.fileno(), out.fileno(), err.fileno()])
        return Forked([program, *words], ours)

    def run(self, program: str, *words: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a program to its end without input; raises subprocess.TimeoutExpired after `WITHIN` seconds."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            started = self.start(program, *words, environment=environment, out=out, err=err)
            code = started.wait(WITHIN)
            said = [stream.read().decode() for stream in (out, err) if not stream.seek(0)]
        return subprocess.CompletedProcess([program, *words], code, *said)

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._ours is not None:
            self._ours.close()
            self._process.wait()

    def _connection(self) -> socket.socket:
        if self._ours is None:
            self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                what = [*self._programs, "--", *self._modules]
                command = [sys.executable, "-m", "tests.warm", str(theirs.fileno()), *what]
                # In a session of its own: a terminal interrupts the tests, which end what they have started.
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True, cwd=CHECKOUT
                )
        return self._ours


def serve(connection: socket.socket, programs: Mapping[str, EntryPoint]) -> None:
    """Run each program that is asked for in a fork, which leaves by SystemExit, and tell of its start and end."""
    gc.freeze()
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for ready in select.select([connection.fileno(), *running], [], [])[0]:
            if ready in running:
                _tell_end(ready, *running.pop(ready))
                continue
            request, descriptors, _flags, _address = socket.recv_fds(connection, LONGEST, 3)
            if not request:
                return
            status, *streams = descriptors
            process = os.fork()
            if not process:
                for each in (connection, *(told for _, told in running.values())):
                    each.detach()
                _become(programs, json.loads(request), streams)
            told = socket.socket(fileno=status)
            told.send(str(process).encode())
            running[os.pidfd_open(process)] = process, told
            for stream in streams:
                os.close(stream)


def _tell_end(descriptor: int, process: int, told: socket.socket) -> None:
    """Tell the exit code of a process that has ended."""
    os.close(descriptor)
    _, status = os.waitpid(process, 0)
    # Nobody listens if the test did not wait for the end.
    with told, suppress(BrokenPipeError):
        told.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(programs: Mapping[str, EntryPoint], request: list[object], streams: list[int]) -> None:
    """Run a program in this process, which has just been forked."""
    name, *words, folder, environment = request
    assert isinstance(environment, dict)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    for number, stream in enumerate(streams, start=1):
        os.dup2(stream, number)
    # As after an exec, nothing else is open.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    if folder:
        os.chdir(str(folder))
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(name), *map(str, words)]
    # It is imported anew because it may look at the arguments then, as `blazarclient.shell` does.
    del sys.modules[programs[str(name)].module]
    sys.exit(programs[str(name)].load()())


def installed(name: str) -> EntryPoint:
    """Return the entry point of an installed program."""
    (program,) = entry_points(group="console_scripts", name=name)
    return program


def main(descriptor: str, *names: str) -> None:
    """Load programs and modules, and serve on a socket."""
    between = names.index("--")
    programs = {name: installed(name) for name in names[:between]}
    for program in programs.values():
        program.load()
    for module in names[between + 1 :]:
        import_module(module)
    serve(socket.socket(fileno=int(descriptor)), programs)


if __name__ == "__main__":
    main(*sys.argv[1:])
