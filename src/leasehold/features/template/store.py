"""Lease templates: their rows (decision 0083).

The scope of a row is its project, or empty for a public template. The database keeps names unique within it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import JSON, BigInteger, Column, String, Text, UniqueConstraint, select, update

from leasehold.db.owned import OwnedRows
from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime
from leasehold.features.template.model import Template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

# `scope` is the project, or empty for a public template: names are unique within it (decision 0083).
lease_templates = table(
    "lease_templates",
    Column("id", String(36), primary_key=True),
    Column("project_id", String(255), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("scope", String(255), nullable=False),
    Column("name", String(80), nullable=False),
    Column("description", Text, nullable=False),
    Column("request", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    Column("generation", BigInteger, nullable=False),
    UniqueConstraint("scope", "name"),
)

_PUBLIC: Final = ""
"""The scope of public templates; no project has an empty id."""


def _stored(template: Template) -> dict[str, Any]:
    kept = ("id", "project_id", "user_id", "created_at")
    return {**{name: getattr(template, name) for name in kept}, **_changing(template)}


def _changing(template: Template) -> dict[str, Any]:
    return {
        "scope": _PUBLIC if template.public else template.project_id,
        "name": template.name,
        "description": template.description,
        "request": dict(template.request),
        "updated_at": template.updated_at,
        "generation": template.generation,
    }


TEMPLATES = OwnedRows(
    lease_templates,
    Template,
    keys={"public": lease_templates.c.scope == _PUBLIC},
    converted={"public": lambda row: row.scope == _PUBLIC},
    stored=_stored,
    owner="scope",
    shared=_PUBLIC,
)
"""The templates of projects, and the public ones; adding one raises IntegrityError if its scope has the name."""


def named_templates(connection: Connection, project_id: str, name: str) -> Sequence[Template]:
    """Return the template of this name that a project has, and the public one, in this order; each may be missing."""
    query = select(lease_templates).where(
        lease_templates.c.scope.in_([project_id, _PUBLIC]), lease_templates.c.name == name
    )
    return sorted(TEMPLATES.read(connection.execute(query)), key=lambda each: each.public)


def save_template(connection: Connection, before: Template, after: Template) -> bool:
    """Write a template as it is after a request; False and nothing is written if it has changed or is gone.

    Raises IntegrityError if its new name is taken in its scope.
    """
    seen = (lease_templates.c.id == before.id, lease_templates.c.generation == before.generation)
    return connection.execute(update(lease_templates).where(*seen).values(_changing(after))).rowcount == 1
