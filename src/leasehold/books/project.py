"""Projects: the row at which decisions of one project wait for each other, and how many leases it has open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from leasehold.books.store import GenerationRaceError
from leasehold.books.tables import leases, projects
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from sqlalchemy import Connection

OVER = (LeaseStatus.TERMINATED, LeaseStatus.DELETING)
"""What is no longer open: it has ended, or its owner has asked for its end."""

_TAKE_TURN = update(projects).where(projects.c.id == bindparam("project")).values(generation=projects.c.generation + 1)
_COUNT_OPEN = (
    select(func.count())
    .select_from(leases)
    .where(
        leases.c.project_id == bindparam("project"),
        leases.c.deleted_at.is_(None),
        leases.c.status.not_in(OVER),
    )
)


def take_turn(connection: Connection, project_id: str) -> None:
    """Let no other transaction take a turn of this project until this one ends; pools are locked before, never after.

    Raises GenerationRaceError when another one makes the project's row at this moment. A write rather than a lock,
    because on Galera only what is written keeps two nodes apart.
    """
    if connection.execute(_TAKE_TURN, {"project": project_id}).rowcount == 0:
        try:
            connection.execute(insert(projects), {"id": project_id, "generation": 1})
        except IntegrityError as error:
            raise GenerationRaceError(project_id) from error


def count_open_leases(connection: Connection, project_id: str) -> int:
    """Return how many leases of the project are neither over nor deleted."""
    count: int = connection.execute(_COUNT_OPEN, {"project": project_id}).scalar_one()
    return count
