"""Lease templates, as the API shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.api.dates import to_iso
from leasehold.model.template import KEYS

if TYPE_CHECKING:
    from leasehold.api.models.template import TemplateAnswer
    from leasehold.model.template import Template


def show_template(template: Template, *, owner: bool) -> TemplateAnswer:
    """Return a template; only `owner` says whose it is. Times are in ISO 8601 with the zone."""
    shown = {
        "id": template.id,
        "name": template.name,
        "description": template.description,
        "public": template.public,
        "project_id": template.project_id if owner else None,
        "user_id": template.user_id if owner else None,
        "created_at": template.created_at.isoformat(),
        "updated_at": to_iso(template.updated_at),
        **{key: template.request.get(key) for key in KEYS},
    }
    return cast("TemplateAnswer", shown)
