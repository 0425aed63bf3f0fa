"""The common part of our servers: a folder, a port, and a process of their own, and their removal."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import psycopg
import pymysql

from tests.servers.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

_START_WITHIN = 60.0
_STOP_WITHIN = 20.0
_POLL_EVERY = 0.05
# Another process may take a port after we found it free and before the server binds it.
_PORTS_TRIED = 5
_LOCK = "in-use"
# Before the wrapper of the same name in the PATH, which only root and one user may start.
_RABBITMQ = "/usr/lib/rabbitmq/bin"


class ServerMissingError(Exception):
    """A server's programs are not installed; the message names the package."""


class ServerFailedError(Exception):
    """A server did not start; the message contains the end of its log."""


def find_program(name: str) -> str | None:
    """Search also where Debian installs servers: outside of users' PATH, and PostgreSQL in a folder per version."""
    versions = sorted(
        Path("/usr/lib/postgresql").glob("[0-9]*/bin"), key=lambda folder: float(folder.parent.name), reverse=True
    )
    folders = [*map(str, versions), _RABBITMQ, os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"]
    return shutil.which(name, path=os.pathsep.join(folders))


def _remove_orphans(parent: Path, prefix: str) -> None:
    """Remove what killed runs left behind: our folders whose lock no process holds.

    Leave a fresh lock alone: its run may have created it and not locked it yet.
    """
    for lock in parent.glob(f"{prefix}*/{_LOCK}"):
        with contextlib.suppress(OSError), lock.open("r+b") as attempt:
            if time.time() - os.fstat(attempt.fileno()).st_mtime < _START_WITHIN:
                continue
            fcntl.flock(attempt, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)


def _unprivileged(names: Sequence[str]) -> pwd.struct_passwd | None:
    """Return the user to run a server as, because servers refuse or discourage root. None means the current user."""
    if os.geteuid() != 0:
        return None
    for name in names:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServerMissingError(f"root may not run it, and none of these users exists: {', '.join(names)}")


class Daemon(ABC):
    """A server of our own. Closing it removes its folder with everything in it."""

    kind: ClassVar[str]
    package: ClassVar[str]
    programs: ClassVar[tuple[str, ...]]
    users: ClassVar[tuple[str, ...]]
    stop_signal: ClassVar[signal.Signals]
    start_within: ClassVar[float] = _START_WITHIN

    def __init__(self, parent: Path | None = None) -> None:
        """Prepare a server in a folder of its own.

        The folder is created in `parent`, or in the system's folder for temporary files. The server's unprivileged user
        must be able to reach it, which is not the case for pytest's folders.
        """
        found = {name: find_program(name) for name in self.programs}
        missing = [name for name, path in found.items() if path is None]
        if missing:
            raise ServerMissingError(
                f"{self.kind} needs {' and '.join(missing)}; on Debian: apt-get install {self.package}"
            )
        self._paths = {name: path for name, path in found.items() if path is not None}
        self._user = _unprivileged(self.users)
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        prefix = f"leasehold-{self.kind}-"
        _remove_orphans(parent or Path(tempfile.gettempdir()), prefix)
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        # The lock marks the folder as in use; the kernel releases it however this process ends.
        self._in_use = (self.folder / _LOCK).open("wb")
        fcntl.flock(self._in_use, fcntl.LOCK_EX)
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self.data = self.folder / "data"
        self._log = self.folder / "log"

    # What each kind of server implements.

    @abstractmethod
    def _initialise_command(self) -> list[str]: ...

    @abstractmethod
    def _run_command(self) -> list[str]: ...

    @abstractmethod
    def _ping(self) -> None:
        """Connect through the socket in our own folder, if it has one: another server may answer at the port."""

    def _environment(self) -> dict[str, str]:
        """Return what this kind has in its environment beside the usual."""
        return {}

    # What all kinds share.

    def __enter__(self) -> Self:
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The server's process id, for tests that pause or kill it."""
        if self._process is None:
            raise ServerFailedError(f"{self.kind} is not running")
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the server was started and not killed since."""
        return self._process is not None

    def start(self) -> None:
        """Start the server and wait until it answers. After `kill` it restarts on the same port with its data."""
        tries = 1 if self.port else _PORTS_TRIED
        for attempt in range(tries):
            if tries > 1:
                self.port = free_port()
            self._process = self._spawn(self._run_command())
            if self._answers(self._process):
                return
            self.kill()
            if attempt + 1 == tries:
                break
        raise ServerFailedError(f"{self.kind} does not start; its log ends with:\n{self._log_end()}")

    def kill(self) -> None:
        """Kill the server at once. Committed data is on disk; the rest is lost, as when a machine fails."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(self.stop_signal)
        # A server that a test paused handles the signal only after SIGCONT.
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def back_up(self) -> Path:
        """Stop the server, copy all its files, start it again, and return the folder of the copy."""
        self.kill()
        copy = self.folder / f"backup-{next(self._numbers)}"
        self._copy(self.data, copy)
        self.start()
        return copy

    def restore(self, backup: Path) -> None:
        """Stop the server, restore the files from `back_up`, and start it on the same port."""
        self.kill()
        shutil.rmtree(self.data)
        self._copy(backup, self.data)
        self.start()

    def _copy(self, source: Path, target: Path) -> None:
        # `shutil` would not keep the owner, and servers refuse files of another owner.
        subprocess.run(["cp", "-a", source, target], check=True)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._in_use.close()

    def _initialise(self) -> None:
        process = self._spawn(self._initialise_command())
        if process.wait() != 0:
            raise ServerFailedError(f"{self.kind} cannot make its files; its log ends with:\n{self._log_end()}")

    def _spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        # A session of its own, because Ctrl-C signals our process group and the server's last user may still need it.
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*self._wrapper(), *command],
                cwd=self.folder,
                env={
                    "PATH": os.environ.get("PATH", os.defpath),
                    "LC_ALL": "C",
                    "HOME": str(self.folder),
                    **self._environment(),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _wrapper(self) -> list[str]:
        """Return the command prefix that changes the user and makes the kernel stop the server when this process dies.

        In this order, because a change of user clears the parent-death signal, as the servers' own user options would.
        """
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            if self._user is not None:
                raise ServerMissingError("setpriv is needed to run a server as another user (package util-linux)")
            return []
        wrapper = [setpriv, "--pdeathsig", self.stop_signal.name.removeprefix("SIG")]
        if self._user is not None:
            wrapper += [f"--reuid={self._user.pw_uid}", f"--regid={self._user.pw_gid}", "--clear-groups"]
        return [*wrapper, "--"]

    def _answers(self, process: subprocess.Popen[bytes]) -> bool:
        """Return True once the server answers, False when it has exited or takes too long."""
        deadline = time.monotonic() + self.start_within
        while time.monotonic() < deadline:
            try:
                self._ping()
            except (psycopg.Error, pymysql.Error, OSError):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_EVERY)
                    return False
            else:
                return True
        return False

    def _log_end(self) -> str:
        with contextlib.suppress(OSError):
            return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
        return "(no log)"


class Server(Daemon):
    """A database server of our own."""

    cache_mb: int = 64
    """The size of its cache, in MiB: small, because several run at once; to be changed before it starts."""

    @abstractmethod
    def _execute(self, statement: str) -> None: ...

    @abstractmethod
    def _url(self, database: str) -> str: ...

    @abstractmethod
    def _drop(self, database: str) -> str: ...

    def create_database(self) -> str:
        """Create an empty database and return its SQLAlchemy URL."""
        name = f"d{os.getpid()}_{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name}")
        return self._url(name)

    def drop_database(self, url: str) -> None:
        """Drop a database that `create_database` created, even while clients are connected to it."""
        self._execute(self._drop(url.rpartition("/")[2].partition("?")[0]))
