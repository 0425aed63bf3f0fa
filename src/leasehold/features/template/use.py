"""Lease templates: who keeps them, and which one a request means (decision 0083)."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy.exc import IntegrityError

from leasehold.features.template import store as rows
from leasehold.features.template.model import Template, TemplateNameError, TooManyTemplatesError, UnknownTemplateError
from leasehold.features.template.options import TemplateSettings
from leasehold.leasing.dates import check_open_end
from leasehold.leasing.deciding.decide import allocate
from leasehold.leasing.deciding.waiting_terms import check_terms
from leasehold.leasing.new_lease import read_reservations
from leasehold.leasing.owned import OwnedItems
from leasehold.leasing.requests import conditions_asked
from leasehold.model.caller import EVERYTHING
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import ConflictError, InvalidInputError, NotFoundError
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.features.template.model import TemplateDraft
    from leasehold.leasing.deciding.decide import Asked
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight


def _most(service: Service) -> int:
    """Return how many templates a project may have, and how many public ones there may be."""
    return service.settings.of(TemplateSettings).templates


# Of public templates administrators in several projects may make one too many at the same moment, which does no harm.
TEMPLATES = OwnedItems(rows.TEMPLATES, "template_id", _most, TooManyTemplatesError)


def make_template(service: Service, caller: Caller, draft: TemplateDraft, sight: Sight = EVERYTHING) -> Template:
    """Write a template of the caller's project, or a public one; this may call the cloud.

    Raises TemplateNameError, TooManyTemplatesError, and the errors of `create_lease` for what is wrong with the
    request at any time.
    """
    _check(service, caller, draft, sight)
    new = Template(
        id=str(uuid4()),
        project_id=caller.project_id,
        user_id=caller.user_id,
        created_at=service.now(),
        **draft.asked,
    )
    with _named(new.name):
        return TEMPLATES.add(service, new)


def amend_template(
    service: Service, caller: Caller, before: Template, draft: TemplateDraft, sight: Sight = EVERYTHING
) -> Template:
    """Change a template; leases that were made from it stay as they are. Raises as `make_template` does.

    Raises ConflictError if it has changed since it was read, and NotFoundError if it was deleted. A request that stays
    is not checked again, so that a template can be renamed whose resource type is switched off.
    """
    if draft.request != before.request:
        _check(service, caller, draft, sight)
    after = replace(before, updated_at=service.now(), generation=before.generation + 1, **draft.asked)

    def write(connection: Connection) -> None:
        if after.public != before.public:
            TEMPLATES.make_room(service, connection, after)
        if rows.save_template(connection, before, after):
            return
        if rows.TEMPLATES.find(connection, before.id) is None:
            raise NotFoundError(TEMPLATES.variable, before.id)
        raise ConflictError("The template was changed by another request; read it again and repeat the change.")

    with _named(after.name):
        service.db.transact(write)
    return after


def meant_template(service: Service, project_id: str, word: str) -> Template:
    """Return the template that a request of this project means by an id or a name; raises UnknownTemplateError.

    An id comes before a name, and the project's own name before a public one.
    """
    with service.db.reading() as connection:
        by_id = rows.TEMPLATES.find(connection, word)
        if by_id is not None and by_id.visible_to(project_id):
            return by_id
        named = rows.named_templates(connection, project_id, word)
    if not named:
        raise UnknownTemplateError(word)
    return named[0]


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Raise TemplateNameError if the name that the block writes is taken."""
    try:
        yield
    except IntegrityError as error:
        raise TemplateNameError(name) from error


def _check(service: Service, caller: Caller, draft: TemplateDraft, sight: Sight) -> None:
    """Raise the errors of a lease for what is wrong with a request whenever it starts; this may call the cloud."""
    request = draft.request
    if "open_ended" in request and "duration_seconds" in request:
        raise InvalidInputError("Keep one of `duration_seconds` and `open_ended`.", field="open_ended")
    type_, pause, now = LeaseType(request.get("type", LeaseType.SCHEDULED)), request.get("retry_seconds"), service.now()
    if "open_ended" in request:
        check_open_end(service.settings.leases.open_ended, type_)
    terms = LeaseDraft(
        "",
        start=now,
        end=now,
        type=type_,
        retries=request.get("retries"),
        retry_pause=None if pause is None else timedelta(seconds=pause),
    )
    check_terms(terms, service.settings.leases)
    if "reservations" in request:
        asked = read_reservations(service, caller, request["reservations"], sight)
        try_out = partial(_try_out, service, asked, None if draft.public else caller.project_id)
        service.look({part.kind.pool for part in asked}, try_out, conditions_asked(asked))


def _try_out(
    service: Service, asked: Sequence[Asked], project_id: str | None, snapshots: Mapping[str, Snapshot], now: datetime
) -> None:
    """Raise the errors that only the names and values of the properties show, to one project or to all."""
    # These are the same in any window.
    begin, length = from_seconds(to_seconds(now)), timedelta(seconds=1)
    terms = service.terms(Window(begin, begin + length), length)
    for part in asked:
        view = snapshots[part.kind.pool]
        allocate(part, view if project_id is None else view.for_project(project_id), terms)
