"""A Galera cluster of MariaDB on this machine: nodes that are killed, cut off from the others, and join again.

with GaleraCluster() as cluster:
    urls = cluster.create_database()
    cluster.nodes[2].cut_off()
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import pymysql

from tests.servers.base import ServerFailedError, ServerMissingError
from tests.servers.mariadb import MariaDB

if TYPE_CHECKING:
    from collections.abc import Sequence

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
NODES = 3
_AGREED_WITHIN = 60.0
_POLL_EVERY = 0.05
_RECOVERED = re.compile(r"WSREP: Recovered position: (\S+)")
_PORTS_EACH = 4


class GaleraNode(MariaDB):
    """One node. The first of a cluster begins it; every other one copies the data of a node that is there."""

    package = "mariadb-server"
    programs: ClassVar[tuple[str, ...]] = (*MariaDB.programs, "wsrep_sst_rsync", "rsync")

    def __init__(self, number: int, ports: Sequence[Sequence[int]]) -> None:
        """Prepare the node of this number; `ports` has those of every node: SQL, group, catching up, copying."""
        if not PROVIDER.exists():
            raise ServerMissingError(f"a Galera node needs {PROVIDER}; on Debian: apt-get install galera-4")
        super().__init__()
        self.number = number
        self.port, self._group_port, self._catch_up_port, self._copy_port = ports[number]
        self._members = ",".join(f"127.0.0.1:{group}" for _, group, _, _ in ports)
        self._begins = number == 0

    def _initialise(self) -> None:
        if self._begins:
            super()._initialise()
            return
        self.data.mkdir()
        if self._user is not None:
            os.chown(self.data, self._user.pw_uid, self._user.pw_gid)

    def _run_command(self) -> list[str]:
        provider = {
            "gmcast.listen_addr": f"tcp://127.0.0.1:{self._group_port}",
            "ist.recv_addr": f"127.0.0.1:{self._catch_up_port}",
            "gcache.size": "16M",
        }
        plain = [option for option in super()._run_command() if not option.startswith("--innodb-buffer-pool-size")]
        command = [
            *plain,
            "--innodb-buffer-pool-size=32M",
            "--binlog-format=ROW",
            "--innodb-autoinc-lock-mode=2",
            "--wsrep-on=ON",
            f"--wsrep-provider={PROVIDER}",
            f"--wsrep-provider-options={';'.join(f'{name}={value}' for name, value in provider.items())}",
            "--wsrep-cluster-name=leasehold",
            f"--wsrep-cluster-address=gcomm://{self._members}",
            f"--wsrep-node-name=node{self.number}",
            "--wsrep-node-address=127.0.0.1",
            f"--wsrep-node-incoming-address=127.0.0.1:{self.port}",
            "--wsrep-sst-method=rsync",
            f"--wsrep-sst-receive-address=127.0.0.1:{self._copy_port}",
        ]
        if self._begins:
            self._begins = False
            return [*command, "--wsrep-new-cluster"]
        # What was committed here before a kill, so that only the rest is fetched: Debian's service asks as well.
        position = self._recovered_position(command)
        return [*command, f"--wsrep-start-position={position}"] if position else command

    def _recovered_position(self, command: Sequence[str]) -> str | None:
        if not any(self.data.iterdir()):
            return None
        before = self._log.stat().st_size if self._log.exists() else 0
        self._spawn([*command, "--wsrep-recover"]).wait()
        with self._log.open(errors="replace") as log:
            log.seek(before)
            found = _RECOVERED.findall(log.read())
        return found[-1] if found else None

    def _ping(self) -> None:
        """Answer only when the node has caught up and is part of the cluster that may write."""
        super()._ping()
        if not self.synced:
            raise OSError("the node is not synced yet")

    @property
    def synced(self) -> bool:
        """Whether this node takes part: its own word for it, which is what a load balancer goes by."""
        status = self.status()
        return (status["wsrep_ready"], status["wsrep_cluster_status"], status["wsrep_local_state"]) == (
            "ON",
            "Primary",
            "4",
        )

    def status(self) -> dict[str, str]:
        """Return what the node says about itself and the cluster; it does so also when it is cut off."""
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'wsrep%'")
            return dict(cursor.fetchall())

    def variable(self, name: str) -> str:
        """Return how a variable of the server is set: ON, OFF or what it is."""
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES LIKE %s", (name,))
            ((_, value),) = cursor.fetchall()
            return str(value)

    def cut_off(self) -> None:
        """Let nothing pass between this node and the others; who is connected to it stays so."""
        self._execute("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")

    def reconnect(self) -> None:
        """Let everything pass again."""
        self._execute("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")

    def wait_until(self, *, synced: bool) -> None:
        """Wait until the node knows that it takes part, or that it does not."""
        deadline = time.monotonic() + _AGREED_WITHIN
        while time.monotonic() < deadline:
            with contextlib.suppress(pymysql.Error, OSError):
                if self.synced is synced:
                    return
            time.sleep(_POLL_EVERY)
        word = "synced" if synced else "cut off"
        raise ServerFailedError(f"node {self.number} is not {word} in {_AGREED_WITHIN} s:\n{self._log_end()}")


class GaleraCluster:
    """Three nodes, each of which may be written to."""

    def __init__(self, nodes: int = NODES) -> None:
        """Prepare so many nodes on ports that are free now."""
        ports = _free_ports(nodes)
        self.nodes = [GaleraNode(number, ports) for number in range(nodes)]

    def __enter__(self) -> Self:
        try:
            for node in self.nodes:
                node.__enter__()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for node in self.nodes:
            node.close()

    def create_database(self) -> list[str]:
        """Create an empty database and return its URL on each node."""
        url = self.nodes[0].create_database()
        name = url.rpartition("/")[2].partition("?")[0]
        return [node._url(name) for node in self.nodes]

    def drop_database(self, urls: Sequence[str]) -> None:
        """Drop what `create_database` made."""
        self.nodes[0].drop_database(urls[0])

    def mend(self) -> None:
        """Start what was killed, reconnect what was cut off, and wait until every node takes part again."""
        for node in self.nodes:
            if node.alive:
                node.reconnect()
            else:
                node.start()
        self.wait_until_whole()

    def wait_until_whole(self) -> None:
        """Wait until every node takes part again."""
        with ThreadPoolExecutor(len(self.nodes)) as threads:
            list(threads.map(lambda node: node.wait_until(synced=True), self.nodes))


def _free_ports(nodes: int) -> list[list[int]]:
    """Return ports that are free and all different: a node has to know those of the others before they exist."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(nodes * _PORTS_EACH)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        numbers = [probe.getsockname()[1] for probe in probes]
    return [numbers[first : first + _PORTS_EACH] for first in range(0, len(numbers), _PORTS_EACH)]
