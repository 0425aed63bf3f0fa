"""A Galera cluster of MariaDB on this machine, whose nodes can be killed, isolated from the others, and rejoined.

with GaleraCluster() as cluster:
    urls = cluster.create_database()
    cluster.nodes[2].cut_off()
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import pymysql

from tests.servers.base import ServerFailedError, ServerMissingError
from tests.servers.mariadb import MariaDB
from tests.servers.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
NODES = 3
_AGREED_WITHIN = 60.0
_POLL_EVERY = 0.05
_RECOVERED = re.compile(r"WSREP: Recovered position: (\S+)")
_PORTS_EACH = 4


class GaleraNode(MariaDB):
    """One node. The first node bootstraps the cluster; every other one copies the data of a running node."""

    package = "mariadb-server"
    cache_mb = 32
    programs: ClassVar[tuple[str, ...]] = (*MariaDB.programs, "wsrep_sst_rsync", "rsync")

    def __init__(self, number: int, ports: Sequence[Sequence[int]]) -> None:
        """Prepare node `number`; `ports` lists each node's ports: SQL, group, incremental and full state transfer."""
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
        command = self._member_command()
        if self._begins:
            self._begins = False
            return [*command, "--wsrep-new-cluster"]
        # Start from the last position committed here before a kill, as Debian does, so that only the rest is copied.
        position = self._recovered_position()
        return [*command, f"--wsrep-start-position={position}"] if position else command

    def _member_command(self) -> list[str]:
        provider = {
            "gmcast.listen_addr": f"tcp://127.0.0.1:{self._group_port}",
            "ist.recv_addr": f"127.0.0.1:{self._catch_up_port}",
            "gcache.size": "16M",
        }
        return [
            *super()._run_command(),
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

    @property
    def recovered(self) -> int:
        """The number of the last write set that this node has on its disk; it is not running."""
        position = self._recovered_position()
        if position is None:
            raise ServerFailedError(f"node {self.number} does not say what it has on its disk:\n{self._log_end()}")
        return int(position.rpartition(":")[2])

    def begin_cluster(self) -> None:
        """Start this node as the first one of the cluster, as an operator does after all of them have died."""
        state = self.data / "grastate.dat"
        state.write_text(re.sub("safe_to_bootstrap: .", "safe_to_bootstrap: 1", state.read_text()))
        self._begins = True
        self.start()

    def _recovered_position(self) -> str | None:
        # With the options of a member, without which MariaDB skips this.
        if not any(self.data.iterdir()):
            return None
        before = self._log.stat().st_size if self._log.exists() else 0
        process = self._spawn([*self._member_command(), "--wsrep-recover"])
        try:
            process.wait(_AGREED_WITHIN)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise ServerFailedError(f"node {self.number} does not recover:\n{self._log_end()}") from error
        with self._log.open(errors="replace") as log:
            log.seek(before)
            found = _RECOVERED.findall(log.read())
        return found[-1] if found else None

    def _ping(self) -> None:
        """Succeed only when the node is synced and part of the primary component."""
        super()._ping()
        if not self.synced:
            raise OSError("the node is not synced yet")

    @property
    def synced(self) -> bool:
        """Whether the node itself reports that it is synced in the primary component, as a load balancer checks."""
        status = self.status()
        return (status["wsrep_ready"], status["wsrep_cluster_status"], status["wsrep_local_state"]) == (
            "ON",
            "Primary",
            "4",
        )

    def status(self) -> dict[str, str]:
        """Return the node's wsrep status variables; it answers even when isolated."""
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'wsrep%'")
            return dict(cursor.fetchall())

    def variable(self, name: str) -> str:
        """Return the value of a server variable."""
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES LIKE %s", (name,))
            ((_, value),) = cursor.fetchall()
            return str(value)

    def cut_off(self) -> None:
        """Isolate this node from the others; its client connections stay open."""
        self._execute("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")

    def reconnect(self) -> None:
        """End the isolation."""
        self._execute("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")

    def wait_until(self, *, synced: bool) -> None:
        """Wait until the node reports that it is synced, or that it is not."""
        deadline = time.monotonic() + _AGREED_WITHIN
        while time.monotonic() < deadline:
            with contextlib.suppress(pymysql.Error, OSError):
                if self.synced is synced:
                    return
            time.sleep(_POLL_EVERY)
        word = "synced" if synced else "cut off"
        raise ServerFailedError(f"node {self.number} is not {word} in {_AGREED_WITHIN} s:\n{self._log_end()}")


class GaleraCluster:
    """Three nodes; each accepts writes."""

    def __init__(self, nodes: int = NODES) -> None:
        """Prepare this many nodes on ports that are free now."""
        # Each node must know the ports of the others before they start.
        ports = [[free_port() for _ in range(_PORTS_EACH)] for _ in range(nodes)]
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
        """Drop a database that `create_database` created."""
        self.nodes[0].drop_database(urls[0])

    def mend(self) -> None:
        """Restart killed nodes, reconnect isolated ones, and wait until every node is synced.

        If all are dead, the node that has the most begins the cluster, and the others copy from it.
        """
        if not any(node.alive for node in self.nodes):
            max(self.nodes, key=lambda node: node.recovered).begin_cluster()
        for node in self.nodes:
            if node.alive:
                node.reconnect()
            else:
                node.start()
        self.wait_until_whole()

    def kill(self) -> None:
        """Kill all nodes at the same moment."""
        with ThreadPoolExecutor(len(self.nodes)) as threads:
            list(threads.map(lambda node: node.kill(), self.nodes))

    def wait_until_whole(self) -> None:
        """Wait until every node is synced."""
        with ThreadPoolExecutor(len(self.nodes)) as threads:
            list(threads.map(lambda node: node.wait_until(synced=True), self.nodes))
