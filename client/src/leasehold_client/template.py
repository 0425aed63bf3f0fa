"""Lease templates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import OwnCollection
from leasehold_client.calls.named import is_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Template(AnswerModel):
    """A request for leases without dates; `lasts` is the length of its leases, if it has one."""

    id: str
    name: str
    public: bool
    lasts: timedelta | None
    reservations: Sequence[Mapping[str, Any]]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Template:
        seconds = values["duration_seconds"]
        lasts = None if seconds is None else timedelta(seconds=seconds)
        return read_as(cls, values, lasts=lasts, reservations=tuple(values["reservations"] or ()))


class Templates(OwnCollection[Template]):
    """The lease templates of the caller's project, and those of everybody."""

    PATH, ONE, MANY, NOUN = "/lease-templates", "template", "templates", "template"
    THING = Template

    def find(self, name: str) -> Template:
        """Return the one with this id, or the one that requests mean by this name; raises NotFoundError."""
        own = [] if is_id(name) else [each for each in self.list() if each.name == name and not each.public]
        return own[0] if own else super().find(name)

    def create(self, name: str, kept: Mapping[str, Any], *, description: str = "", public: bool = False) -> Template:
        """Keep these keys of a lease's request; administrators make one `public`, for all projects."""
        return self._create({**kept, "name": name, "description": description, "public": public})

    def change(self, ident: str, changes: Mapping[str, Any]) -> Template:
        """Change these keys of the template, such as its name; None removes what it keeps."""
        return self._change(ident, changes)
