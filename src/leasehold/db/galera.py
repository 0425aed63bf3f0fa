"""How connections to a node of a Galera cluster differ from those to a single MariaDB.

A node applies what was committed on another one a moment later. Each of our transactions therefore waits first until
its node has caught up (`wsrep_sync_wait`): a client that made a lease through one process finds it through the next,
and no request is refused because of a lease that was deleted a moment ago.

A node that has lost the cluster's majority refuses every statement, even ROLLBACK. The transaction stays open in its
connection. After the node's return, the next transaction on that connection would commit the old one along with its
own. So such a connection is never used again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import event, text

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import ExceptionContext
    from sqlalchemy.pool import ConnectionPoolEntry

NOT_READY = 1047
"""The error of a node that is not, or no longer, part of the cluster's majority."""
IN_CLUSTER = "in-cluster"
"""Marks a connection to a node of a cluster, in `Connection.info`."""


def attend_to_galera(engine: Engine, sync_wait: int) -> None:
    """Prepare the engine's connections for a node of a Galera cluster; on any other server this changes nothing.

    `sync_wait` is what the server's variable `wsrep_sync_wait` is set to.
    """

    @event.listens_for(engine, "connect")
    def wait_for_the_others(connection: Any, record: ConnectionPoolEntry) -> None:
        with connection.cursor() as cursor:
            clustered = cursor.execute("SHOW VARIABLES WHERE Variable_name = 'wsrep_on' AND Value = 'ON'")
            record.info[IN_CLUSTER] = bool(clustered)
            # MySQL, and a MariaDB that was built without Galera, do not have the variable.
            if cursor.execute("SHOW VARIABLES LIKE 'wsrep_sync_wait'"):
                cursor.execute("SET SESSION wsrep_sync_wait = %s", (sync_wait,))

    @event.listens_for(engine, "handle_error")
    def leave(context: ExceptionContext) -> None:
        error = context.original_exception
        # Without a connection, the attempt to connect was refused: there is no connection to drop.
        if context.connection is not None and error.args and error.args[0] == NOT_READY:
            context.is_disconnect = True


def is_galera(connection: Connection) -> bool:
    """Say whether the server is a node of a cluster."""
    if connection.dialect.name not in ("mysql", "mariadb"):
        return False
    found = connection.execute(text("SHOW VARIABLES LIKE 'wsrep_on'")).one_or_none()
    return found is not None and found[1] == "ON"
