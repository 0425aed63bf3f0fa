"""Lease templates in the API, from 1.3 on, and what one adds to the body of a request that names it (decision 0083)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from leasehold.api.call import Reply
from leasehold.api.handlers.lease import asking_once
from leasehold.api.models.base import read
from leasehold.api.paging import ListKeys
from leasehold.api.policies.base import ADMIN, MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.route import CREATED, EVERY, GONE, V1_3, Noun
from leasehold.api.strict import check_reservations
from leasehold.api.views.shown import shown
from leasehold.features.template import use as templates
from leasehold.features.template.bodies import (
    OneTemplate,
    TemplateAmendment,
    TemplateAnswer,
    TemplateCreation,
    TemplateList,
    TemplateName,
)
from leasehold.features.template.model import KEYS, TemplateDraft, added_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from leasehold.api.call import Call
    from leasehold.features.template.model import Template

KEY: Final = "template"
LISTED = ListKeys(texts=("name",), switches=("public",), sorts=("created_at", "name", "updated_at"))


def list_templates(call: Call) -> Reply:
    """Show the lease templates of the caller's project and the public ones; an administrator may ask for all.

    In pages, by name and by whether they are public, and sorted.
    """
    found = templates.TEMPLATES.page(call.service, call.listed_project(), LISTED.asked(call))
    return Reply({"templates": [_shown(call, each) for each in found]})


def create(call: Call, body: TemplateCreation) -> Reply:
    """Keep a request for leases under a name, without dates, for the caller's project; a `public` one is for all.

    What it keeps is checked as that of POST of a lease is, also that resources have the properties it names, except for
    what depends on the moment: what is free, the limits, and whether a policy lets the user of the template ask for it.
    """
    if body.public:
        call.api.policies.require(PUBLIC, call.caller, call.caller)
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
        call.api.policies.require(PUBLIC, call.caller, template)
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
        call.api.policies.require(PUBLIC, call.caller, template)
    templates.TEMPLATES.delete(call.service, template.id)
    return Reply()


def _kept(request: dict[str, Any]) -> dict[str, Any]:
    """Return the keys that say something; `open_ended` says nothing if it is false."""
    return {key: value for key, value in request.items() if value is not None and value is not False}


def _shown(call: Call, template: Template) -> TemplateAnswer:
    return show_template(template, owner=call.is_admin or template.project_id == call.caller.project_id)


def show_template(template: Template, *, owner: bool) -> TemplateAnswer:
    """Return a template; only `owner` says whose it is. Times are in ISO 8601 with the zone."""
    return shown(
        TemplateAnswer,
        template,
        project_id=template.project_id if owner else None,
        user_id=template.user_id if owner else None,
        **{key: template.request.get(key) for key in KEYS},
    )


def added(call: Call, sent: Mapping[str, Any], wanted: Mapping[str, Collection[str]]) -> Mapping[str, Any]:
    """Return the keys that the template of a request adds to its body; none if that is null.

    Raises InvalidInputError, ForbiddenError for who may not see templates, and UnknownTemplateError.
    """
    word = read(TemplateName, {KEY: sent[KEY]}, call.version).template
    if word is None:
        return {}
    call.api.policies.require(GET, call.caller, call.caller)
    return added_keys(templates.meant_template(call.service, call.caller.project_id, word).request, sent, wanted)


ADDITIONS = {KEY: added}
_TEMPLATE = Noun("template_id", "template", templates.TEMPLATES.get)
# Everybody reads a public one.
_READ = replace(_TEMPLATE, shared=lambda template: template.public)
_ALL, _ONE = "/v1/lease-templates", "/v1/lease-templates/{template_id}"

_MAKER_OR_MANAGER = (
    "(rule:project_member_api and user_id:%(user_id)s) or (role:manager and project_id:%(project_id)s) or rule:admin"
)
"""Who made it and is a member still, a manager of its project, or an administrator."""

GET = Rule(
    "leasehold:templates:get",
    READER_OR_ADMIN,
    "Show the lease templates of a project and the public ones, and use them in a request (`template`); "
    "only administrators list those of all projects.",
)
POST = Rule("leasehold:templates:post", MEMBER_OR_ADMIN, "Make a lease template for a project.")
PUT = Rule(
    "leasehold:templates:put",
    _MAKER_OR_MANAGER,
    "Change a lease template of a project: its maker, a manager of the project, or an administrator.",
)
DELETE = Rule(
    "leasehold:templates:delete",
    _MAKER_OR_MANAGER,
    "Delete a lease template of a project: its maker, a manager of the project, or an administrator.",
)
PUBLIC = Rule(
    "leasehold:templates:public",
    ADMIN,
    "Make a lease template that every project sees and uses (`public`), and change or delete such a one.",
)


_PUBLIC = (PUBLIC,)
ROUTES = (
    V1_3("GET", _ALL, list_templates, (GET,), None, TemplateList, query=EVERY, filters=LISTED.query),
    V1_3("POST", _ALL, create, (POST,), TemplateCreation, OneTemplate, CREATED, within=_PUBLIC),
    V1_3("GET", _ONE, show, (GET,), None, OneTemplate, noun=_READ),
    V1_3("PUT", _ONE, amend, (PUT,), TemplateAmendment, OneTemplate, noun=_TEMPLATE, within=_PUBLIC),
    V1_3("DELETE", _ONE, delete, (DELETE,), success=GONE, noun=_TEMPLATE, within=_PUBLIC),
)
