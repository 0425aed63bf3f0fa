"""Requests that name a lease template, from 1.3 on: what it adds to the body, before the body is read.

So one place serves all routes whose model has the key, and what is added is checked as if the client had sent it.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from leasehold.api.models.base import read
from leasehold.api.models.from_template import TemplateName
from leasehold.api.policies import template as template_rules
from leasehold.api.versions import TEMPLATES
from leasehold.leasing.template import meant_template
from leasehold.model.errors import LeaseholdError
from leasehold.model.template import added_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leasehold.api.call import Call
    from leasehold.api.models.base import RequestModel

TEMPLATE: Final = "template"


def added_by_template(call: Call, model: type[RequestModel], sent: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keys that the template of a request adds to its body; none for a request without one.

    Raises InvalidInputError, ForbiddenError for who may not see templates, and UnknownTemplateError.
    """
    if TEMPLATE not in model.model_fields or TEMPLATE not in sent or call.version < TEMPLATES:
        return {}
    word = read(TemplateName, {TEMPLATE: sent[TEMPLATE]}, call.version).template
    if word is None:
        return {}
    call.api.policies.require(template_rules.GET, call.caller, call.caller)
    template = meant_template(call.service, call.caller.project_id, word)
    return added_keys(template.request, sent, model.templated)


@contextmanager
def named_in_template(added: Mapping[str, Any]) -> Iterator[None]:
    """Have an error about a key that a template has added name it as one of the template."""
    try:
        yield
    except LeaseholdError as error:
        if error.field is not None and re.split(r"[.\[]", error.field, maxsplit=1)[0] in added:
            raise error.under(TEMPLATE) from None
        raise
