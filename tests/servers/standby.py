"""A PostgreSQL primary with a standby that replicates it and can be promoted.

with PrimaryAndStandby() as pair:
    name = pair.create_database()
    pair.primary.kill()
    pair.standby.promote()
"""

from __future__ import annotations

import time
from typing import ClassVar, Self

from tests.servers.base import ServerFailedError
from tests.servers.postgresql import PostgreSQL

_FOLLOWS_WITHIN = 30.0
_POLL_EVERY = 0.05


class Standby(PostgreSQL):
    """A replica of the primary."""

    programs: ClassVar[tuple[str, ...]] = (*PostgreSQL.programs, "pg_basebackup")

    def __init__(self, primary: PostgreSQL) -> None:
        """Prepare to follow a running primary."""
        super().__init__()
        self._primary = primary

    def _initialise_command(self) -> list[str]:
        return [
            self._paths["pg_basebackup"],
            "--host=127.0.0.1",
            f"--port={self._primary.port}",
            "--username=postgres",
            f"--pgdata={self.data}",
            "--wal-method=stream",
            "--checkpoint=fast",
            "--write-recovery-conf",
        ]

    def promote(self) -> None:
        """Make it the primary: it accepts writes when this returns."""
        self._execute("SELECT pg_promote()")


class PrimaryAndStandby:
    """Two servers; if synchronous, a commit that the primary acknowledged is on the standby's disk too."""

    def __init__(self, *, synchronous: bool = True) -> None:
        """Prepare both servers."""
        self._synchronous = synchronous
        self.primary = PostgreSQL()
        self._standby: Standby | None = None

    @property
    def standby(self) -> Standby:
        """The standby server."""
        if self._standby is None:
            raise ServerFailedError("the standby is made when the primary runs")
        return self._standby

    def __enter__(self) -> Self:
        try:
            self.primary.__enter__()
            self._standby = Standby(self.primary)
            self._standby.__enter__()
            if self._synchronous:
                self._make_commits_wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop both servers, the standby first, because it would log errors about a missing primary."""
        if self._standby is not None:
            self._standby.close()
        self.primary.close()

    def create_database(self) -> str:
        """Create an empty database on both and return its name."""
        return self.primary.create_database().rpartition("/")[2]

    def cut_off(self) -> None:
        """Let the standby replay what the primary has committed so far, then stop the replication."""
        with self.primary._connect() as connection:
            last = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchall()
        self._wait_for(self.standby, f"SELECT pg_last_wal_replay_lsn() >= '{last[0][0]}'", (True,))
        self.standby._execute("ALTER SYSTEM SET primary_conninfo = ''")
        self.standby._execute("SELECT pg_reload_conf()")
        self._wait_for(self.primary, "SELECT count(*) FROM pg_stat_replication", (0,))

    def _wait_for(self, server: PostgreSQL, question: str, answer: tuple[object, ...]) -> None:
        found: list[tuple[object, ...]] = []
        deadline = time.monotonic() + _FOLLOWS_WITHIN
        while time.monotonic() < deadline:
            with server._connect() as connection:
                found = connection.execute(question.encode()).fetchall()
            if found == [answer]:
                return
            time.sleep(_POLL_EVERY)
        raise ServerFailedError(f"not so in time: {question} says {found}")

    def _make_commits_wait(self) -> None:
        """Make the primary acknowledge a commit only when the standby has it as well."""
        self.primary._execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary._execute("SELECT pg_reload_conf()")
        self._wait_for(self.primary, "SELECT sync_state FROM pg_stat_replication", ("sync",))
