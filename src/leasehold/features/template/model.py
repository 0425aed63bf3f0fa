"""Lease templates: requests for leases that are kept under a name, without dates (decision 0083)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from leasehold.model.errors import ConflictError, LeaseholdError, TooManyError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

KEYS: Final = (
    *("duration_seconds", "open_ended", "reservations", "events", "heal_policy", "reminder_seconds"),
    *("type", "retries", "retry_seconds", "purpose"),
)
"""The keys of a lease's request that a template may have: all but its name, its dates and whose it is."""


class TooManyTemplatesError(TooManyError):
    """There are as many lease templates in the project, or public ones, as there may be."""

    code = "leasehold.templates.too_many"
    things = "lease templates"
    advice = "Delete one that is not used, or ask an operator for more."


class UnknownTemplateError(LeaseholdError):
    """A request names a lease template that neither the caller's project nor all projects have."""

    code = "leasehold.templates.unknown"
    status = HTTPStatus.NOT_FOUND

    def __init__(self, name: str) -> None:
        message = f"There is no lease template with the id or name {name!r}. GET /v1/lease-templates shows all."
        super().__init__(message, field="template", details={"template": name})


class TemplateNameError(ConflictError):
    """Another lease template has this name: one of the same project, or of two public ones the other."""

    code = "leasehold.templates.name"

    def __init__(self, name: str) -> None:
        message = f"There is a lease template {name!r} already. Choose another name, or change that one."
        super().__init__(message, field="name", details={"name": name})


@dataclass(frozen=True, slots=True)
class TemplateDraft:
    """A template that a client asks for; `request` has those of `KEYS` that were given, as in POST /v1/leases."""

    name: str
    description: str
    public: bool
    request: Mapping[str, Any]

    @property
    def asked(self) -> Mapping[str, Any]:
        """What a client asks for, by the names of these fields."""
        return {each.name: getattr(self, each.name) for each in fields(TemplateDraft)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Template(TemplateDraft):
    """A kept request; a `public` one is there for every project.

    Names are unique within a project, and among the public ones.
    """

    id: str
    project_id: str
    user_id: str
    created_at: datetime
    updated_at: datetime | None = None
    generation: int = 0

    def visible_to(self, project_id: str) -> bool:
        """Say whether members of this project see it and use it."""
        return self.public or self.project_id == project_id


def added_keys(
    template: Mapping[str, Any], sent: Collection[str], wanted: Mapping[str, Collection[str]]
) -> Mapping[str, Any]:
    """Return what a template adds to a request, of which `sent` are the keys; a sent key wins, also with null.

    `wanted` has the keys that a request of this kind takes from a template, each with others that displace it.
    """
    return {
        key: value
        for key, value in template.items()
        if key in wanted and not any(one in sent for one in (key, *wanted[key]))
    }
