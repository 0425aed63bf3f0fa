"""Slurm's controller on this machine, with nodes that exist only in its configuration."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from bench.peers.libslurm import LibSlurm, SlurmError
from bench.peers.nodes import PREFIX
from bench.peers.packages import library, unpacked
from bench.peers.peer import Booking
from tests.processes import wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from bench.peers.peer import Connection, Held

START_WITHIN: Final = 120.0
PROBE: Final = Booking("probe", 1, 2_000_000_000, 2_000_003_600)
CONFIGURATION: Final = """ClusterName=bench
SlurmctldHost=localhost
SlurmctldPort={port}
SlurmUser={user}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/none
CredType=cred/none
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/pid
SlurmctldLogFile={folder}/log
SlurmctldDebug=error
MessageTimeout=100
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SuspendProgram=/bin/true
ResumeProgram=/bin/true
NodeName={prefix}[0-{last}] CPUs=32 RealMemory=131072 State=CLOUD
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
"""What differs from the defaults.

Nobody is authenticated, as with us, so it listens on the loopback address alone. Nodes of a cloud are idle although
none runs. Clients wait longer than ten seconds, after which those of many would give up on a slow machine.
"""


class Slurm:
    """One `slurmctld`, whose reservations can be read and written by any number of clients."""

    name = "Slurm"

    def __init__(self) -> None:
        """Unpack the packages where that has not been done; a process can run one of these after the other."""
        self._root = unpacked()
        self._folder = Path(tempfile.mkdtemp(prefix="leasehold-slurm-"))
        self._configuration = self._folder / "slurm.conf"
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._library: LibSlurm | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def begin(self, hosts: int, held: Mapping[str, Held]) -> None:
        """Begin again with so many hosts, and these reservations of one host each."""
        self.kill()
        shutil.rmtree(self._folder / "state", ignore_errors=True)
        (self._folder / "state").mkdir()
        text = CONFIGURATION.format(
            port=self._port,
            user=getpass.getuser(),
            plugins=library(self._root, "slurm-wlm"),
            folder=self._folder,
            prefix=PREFIX,
            last=hosts - 1,
        )
        self._configuration.write_text(text, encoding="utf-8")
        self.restart()
        wait_for(self._has_hosts, within=START_WITHIN)
        for name, each in held.items():
            (host,) = each.hosts
            if not self._client.create(Booking(name, 1, each.start, each.end), f"{PREFIX}{host}").value:
                raise SlurmError(f"{name} was refused, on a host that is free")

    def connect(self, number: int) -> AbstractContextManager[Connection]:
        """Return the library, which all clients share; each of its calls opens a connection, as the programs do."""
        del number
        return nullcontext(self._client)

    @property
    def _client(self) -> LibSlurm:
        if self._library is None:
            self._library = LibSlurm(self._root, self._configuration)
        return self._library

    def held(self) -> dict[str, Held]:
        """Return all reservations."""
        return self._client.held()

    @property
    def processes(self) -> Sequence[int]:
        """The one process."""
        return [] if self._process is None else [self._process.pid]

    def kill(self) -> None:
        """Kill the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Start the process on the state that it finds, and wait until it answers."""
        libraries = library(self._root, "libslurm.so.38").parent
        search = f"{libraries}:{libraries / 'slurm-wlm'}"
        # The kernel stops it if this process is killed, as it does with the other servers of the tests.
        wrapper = ["setpriv", "--pdeathsig", "KILL", "--"]
        with (self._folder / "out").open("ab") as output:
            self._process = subprocess.Popen(
                [*wrapper, self._root / "usr" / "sbin" / "slurmctld-wlm", "-D", "-f", self._configuration],
                env={"PATH": os.environ.get("PATH", os.defpath), "LD_LIBRARY_PATH": search},
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        wait_for(self._answers, within=START_WITHIN)

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise SlurmError(f"slurmctld does not start: {(self._folder / 'out').read_text()[-2000:]}")
        try:
            return self._client.list_all().value >= 0
        except SlurmError:
            return False

    def _has_hosts(self) -> bool:
        """Return whether a reservation is granted: the nodes come some moments after the first answers."""
        try:
            return self._client.create(PROBE).value and self._client.delete(PROBE.name).value
        except SlurmError:
            return False
