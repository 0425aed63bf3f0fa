"""Lease templates, from 1.3 on (decision 0083). `from_template.py` has the requests that name one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.api.call import Reply
from leasehold.api.handlers.lease import asking_once
from leasehold.api.paging import Choice
from leasehold.api.policies import template as template_rules
from leasehold.api.strict import check_reservations
from leasehold.api.views.template import show_template
from leasehold.leasing import template as templates
from leasehold.model.template import KEYS, TemplateDraft

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.api.models.template import TemplateAmendment, TemplateAnswer, TemplateCreation
    from leasehold.model.template import Template

LISTED = Choice(texts=("name",), switches=("public",), sorts=("created_at", "name", "updated_at"))


def list_templates(call: Call) -> Reply:
    """Show the lease templates of the caller's project and the public ones; an administrator may ask for all.

    In pages, by name and by whether they are public, and sorted.
    """
    project = None if call.query_all_projects() else call.caller.project_id
    found = templates.list_templates(call.service, project, LISTED.asked(call))
    return Reply({"templates": [_shown(call, each) for each in found]})


def create(call: Call, body: TemplateCreation) -> Reply:
    """Keep a request for leases under a name, without dates, for the caller's project; a `public` one is for all.

    What it keeps is checked as that of POST of a lease is, also that resources have the properties it names, except for
    what depends on the moment: what is free, the limits, and whether a policy lets the user of the template ask for it.
    """
    if body.public:
        call.api.policies.require(template_rules.PUBLIC, call.caller, call.caller)
    check_reservations(body.reservations, lambda each: call.service.types.installed(each.resource_type))
    draft = TemplateDraft(body.name, body.description, body.public, _kept(body.model_dump(include=set(KEYS))))
    with asking_once(call) as service:
        made = templates.make_template(service, call.caller, draft, call.sight)
    return Reply({"template": _shown(call, made)})


def show(call: Call, template: Template) -> Reply:
    """Show one lease template."""
    return Reply({"template": _shown(call, template)})


def amend(call: Call, template: Template, body: TemplateAmendment) -> Reply:
    """Change a lease template, key by key; null removes what it keeps. Leases that were made from it stay as they are.

    `reservations` and `events` are changed as a whole.
    """
    public = template.public if body.public is None else body.public
    if template.public or public:
        call.api.policies.require(template_rules.PUBLIC, call.caller, template)
    check_reservations(body.reservations, lambda each: call.service.types.installed(each.resource_type))
    changed = body.model_dump(include=set(KEYS) & body.model_fields_set)
    draft = TemplateDraft(
        name=template.name if body.name is None else body.name,
        description=template.description if body.description is None else body.description,
        public=public,
        request=_kept({**template.request, **changed}),
    )
    with asking_once(call) as service:
        amended = templates.amend_template(service, call.caller, template, draft, call.sight)
    return Reply({"template": _shown(call, amended)})


def delete(call: Call, template: Template) -> Reply:
    """Delete a lease template. Leases that were made from it stay."""
    if template.public:
        call.api.policies.require(template_rules.PUBLIC, call.caller, template)
    templates.delete_template(call.service, template.id)
    return Reply()


def _kept(request: dict[str, Any]) -> dict[str, Any]:
    """Return the keys that say something; `open_ended` says nothing if it is false."""
    return {key: value for key, value in request.items() if value is not None and value is not False}


def _shown(call: Call, template: Template) -> TemplateAnswer:
    return show_template(template, owner=call.is_admin or template.project_id == call.caller.project_id)
