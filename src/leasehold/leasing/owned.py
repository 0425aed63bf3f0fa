"""What projects own and make themselves, each kind up to a limit: listed, found, made and deleted in the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from leasehold.db.owned import Item
from leasehold.db.project import enter
from leasehold.model.errors import NotFoundError
from leasehold.model.paging import WHOLE, PageRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from leasehold.db.owned import OwnedRows
    from leasehold.leasing.service import Service
    from leasehold.model.errors import TooManyError


@dataclass(frozen=True, slots=True)
class OwnedItems(Generic[Item]):
    """The items of all projects: `variable` names their ids, and up to `limit` count for one owner."""

    rows: OwnedRows[Item]
    variable: str
    limit: Callable[[Service], int]
    too_many: type[TooManyError]

    def page(self, service: Service, project_id: str | None, part: PageRequest = WHOLE) -> Sequence[Item]:
        """Return a part of the items of a project, or with None of all projects, oldest first."""
        with service.db.reading() as connection:
            return self.rows.page(connection, project_id, part)

    def get(self, service: Service, ident: str) -> Item:
        """Return an item; raises NotFoundError."""
        with service.db.reading() as connection:
            found = self.rows.find(connection, ident)
        if found is None:
            raise NotFoundError(self.variable, ident)
        return found

    def add(self, service: Service, new: Item) -> Item:
        """Write an item and return it; raises `too_many`."""

        def write(connection: Connection) -> Item:
            self.make_room(service, connection, new)
            self.rows.add(connection, new)
            return new

        return service.db.transact(write)

    def make_room(self, service: Service, connection: Connection, new: Item) -> None:
        """Raise `too_many` if there may be no further item where this one is to be."""
        # They are counted while no other transaction of the project adds one.
        enter(connection, new.project_id)
        self.check_room(service, connection, self.rows.owner_of(new))

    def check_room(self, service: Service, connection: Connection, owner: str) -> None:
        """Raise `too_many` if as many items count for an owner as may."""
        limit = self.limit(service)
        if not limit or self.rows.count(connection, owner) >= limit:
            raise self.too_many(limit)

    def delete(self, service: Service, ident: str) -> None:
        """Remove an item; raises NotFoundError."""
        if not service.db.transact(lambda connection: self.rows.remove(connection, ident)):
            raise NotFoundError(self.variable, ident)
