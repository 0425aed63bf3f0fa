"""Hide or show a property key (contract http-api §6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db import property as property_rows
from leasehold.model.errors import NotFoundError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.db.property import PropertyDefinition
    from leasehold.leasing.service import Service


def set_privacy(service: Service, resource_type: str, name: str, *, private: bool) -> PropertyDefinition:
    """Hide a key from users' discovery or show it again; raises NotFoundError for an unknown key."""

    def work(connection: Connection) -> PropertyDefinition | None:
        return property_rows.set_privacy(connection, resource_type, name, service.now(), private=private)

    definition = service.db.transact(work)
    if definition is None:
        raise NotFoundError("property_name", name)
    return definition
