"""The unit of work: one transaction, run again as a whole after a lost race.

Every transaction locks rows in `LOCK_ORDER`, which prevents deadlocks; it may write a row again that it has locked.
Several pools are locked in `lock_order` (`db/pool.py`). Leases that make room for the one that a decision is about are
locked after it, in the order of their ids: who locks several holds a pool of each. `tests/locks.py` checks the order of
the tables and pools in every test of a use case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from leasehold.db.committed import note_commit
from leasehold.db.engine import reading, writing
from leasehold.db.lease_state import keep_states
from leasehold.db.untold import take, watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection, Engine

Result = TypeVar("Result")

LOCK_ORDER = ("project_use", "pools", "leases", "tasks", "event_log", "subscriptions", "alarms", "series")
"""The tables whose rows transactions lock, in the order in which all transactions do."""
RETRY_SECONDS = 30.0
MARIADB_TRY_AGAIN = frozenset({1205, 1213, 1020, 2006, 2013})
"""Lock wait timeout, deadlock, changed since read, and a connection that went away."""
MARIADB_NOT_COMMITTED = frozenset({1213, 1047})
"""Errors that prove that a commit has failed: it lost a race on Galera, or the node refused every statement. After any
other error, such as 1180 of a node that lost the cluster meanwhile, the outcome is unknown."""
POSTGRESQL_TRY_AGAIN = frozenset({"40001", "40P01", "57P01"})
"""Serialization failure, deadlock and a server that is being shut down."""


class GenerationRaceError(Exception):
    """Another transaction moved a pool's generation first, so everything decided here is void."""


class UnknownOutcomeError(Exception):
    """The database was lost during a commit, so it is unknown whether the transaction was committed."""


def worth_retrying(error: BaseException) -> bool:
    """Say whether running the whole transaction again may work."""
    if isinstance(error, GenerationRaceError):
        return True
    if not isinstance(error, DBAPIError) or isinstance(error, IntegrityError):
        return False
    if error.connection_invalidated:
        return True
    original = error.orig
    locked = isinstance(error, OperationalError) and "database is locked" in str(original)
    return (
        locked
        or error_number(error) in MARIADB_TRY_AGAIN
        or getattr(original, "sqlstate", None) in POSTGRESQL_TRY_AGAIN
    )


@dataclass(frozen=True, slots=True)
class Database:
    """Opens transactions on the database."""

    engine: Engine
    retry_seconds: float = RETRY_SECONDS

    def reading(self) -> AbstractContextManager[Connection]:
        """Open a transaction that only reads."""
        return reading(self.engine)

    def transact(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in one writing transaction and commit it; after a lost race roll back and run all of it again.

        The states of leases that `work` has changed and that no event carries are written with it.
        If `work` raises, nothing is written. Gives up after `retry_seconds` and raises the last error. Raises
        UnknownOutcomeError, without another try, when it is unknown whether a failed commit took effect: its rows may
        be there, and writing them again would grant the same lease twice.
        """
        # Nearly all succeed at once, and to set up tries takes longer than what else is done here.
        try:
            return self._once(work)
        except Exception as error:
            if not (self.retry_seconds and worth_retrying(error)):
                raise
        attempts = Retrying(
            retry=retry_if_exception(worth_retrying),
            wait=wait_random_exponential(multiplier=0.005, max=0.5),
            stop=stop_after_delay(self.retry_seconds),
            reraise=True,
        )
        result: Result = attempts(self._once, work)
        return result

    def _once(self, work: Callable[[Connection], Result]) -> Result:
        refused: DBAPIError | None = None
        try:
            with writing(self.engine) as connection:
                watch(connection)
                result = work(connection)
                keep_states(connection, take(connection))
                try:
                    connection.commit()
                except DBAPIError as error:
                    refused = error
                    raise
        except DBAPIError as error:
            if refused is None:
                raise
            if _leaves_open(refused):
                message = "The connection to the database broke during a commit: check what is there, then try again."
                raise UnknownOutcomeError(message) from refused
            # The rollback may have failed too; the error of the commit says more.
            raise refused from error.__cause__
        note_commit()
        return result


def _leaves_open(refused: DBAPIError) -> bool:
    """Say whether a commit that raised this error may have taken effect all the same."""
    number = error_number(refused)
    if isinstance(number, int):
        return number not in MARIADB_NOT_COMMITTED
    return refused.connection_invalidated


def error_number(error: DBAPIError) -> object:
    """Return the first argument of the driver's error: a number with PyMySQL, a text with other drivers."""
    return error.orig.args[0] if error.orig is not None and error.orig.args else None
