"""Lease templates: their rows (decision 0083).

The scope of a row is its project, or empty for a public template. The database keeps names unique within it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, func, insert, select, update

from leasehold.db.paging import Listed
from leasehold.db.tables import lease_templates
from leasehold.model.paging import WHOLE, Part
from leasehold.model.template import Template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

_PUBLIC: Final = ""
"""The scope of public templates; no project has an empty id."""
_LISTED = Listed(lease_templates, {"public": lease_templates.c.scope == _PUBLIC})


def add_template(connection: Connection, new: Template) -> None:
    """Write a template; raises IntegrityError if its name is taken in its scope."""
    kept = {"id": new.id, "project_id": new.project_id, "user_id": new.user_id, "created_at": new.created_at}
    connection.execute(insert(lease_templates), {**kept, **_changing(new)})


def count_templates(connection: Connection, template: Template) -> int:
    """Return how many templates there are where this one is: in its project, or public ones."""
    query = select(func.count()).select_from(lease_templates).where(lease_templates.c.scope == _scope(template))
    return connection.execute(query).scalar_one()


def list_templates(connection: Connection, project_id: str | None, part: Part = WHOLE) -> Sequence[Template]:
    """Return a part of the templates of a project and the public ones, or with None of all projects, oldest first."""
    mine = () if project_id is None else (lease_templates.c.scope.in_([project_id, _PUBLIC]),)
    return list(map(_template, _LISTED.rows(connection, part, *mine)))


def find_template(connection: Connection, ident: str) -> Template | None:
    """Return a template by its id, or None."""
    row = connection.execute(select(lease_templates).where(lease_templates.c.id == ident)).first()
    return None if row is None else _template(row)


def named_templates(connection: Connection, project_id: str, name: str) -> Sequence[Template]:
    """Return the template of this name that a project has, and the public one, in this order; each may be missing."""
    query = select(lease_templates).where(
        lease_templates.c.scope.in_([project_id, _PUBLIC]), lease_templates.c.name == name
    )
    return sorted(map(_template, connection.execute(query)), key=lambda each: each.public)


def save_template(connection: Connection, before: Template, after: Template) -> bool:
    """Write a template as it is after a request; False and nothing is written if it has changed or is gone.

    Raises IntegrityError if its new name is taken in its scope.
    """
    seen = (lease_templates.c.id == before.id, lease_templates.c.generation == before.generation)
    return connection.execute(update(lease_templates).where(*seen).values(_changing(after))).rowcount == 1


def delete_template(connection: Connection, ident: str) -> bool:
    """Remove a template; say whether it was there."""
    return connection.execute(delete(lease_templates).where(lease_templates.c.id == ident)).rowcount == 1


def _scope(template: Template) -> str:
    return _PUBLIC if template.public else template.project_id


def _changing(template: Template) -> dict[str, Any]:
    return {
        "scope": _scope(template),
        "name": template.name,
        "description": template.description,
        "request": dict(template.request),
        "updated_at": template.updated_at,
        "generation": template.generation,
    }


def _template(row: Row[Any]) -> Template:
    return Template(
        id=row.id,
        project_id=row.project_id,
        user_id=row.user_id,
        name=row.name,
        description=row.description,
        public=row.scope == _PUBLIC,
        request=row.request,
        created_at=row.created_at,
        updated_at=row.updated_at,
        generation=row.generation,
    )
