"""Request ids (contract http-api §2.2): one for every request, in its answer and in each of its log lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import uuid4

from oslo_context.context import RequestContext, get_current

if TYPE_CHECKING:
    from leasehold.model.caller import Caller

HEADER = "x-openstack-request-id"
FORM = re.compile(r"req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def begin(global_id: str | None) -> str:
    """Return the id of the request that this thread starts to answer, and put it into the log's context.

    `global_id` is the client's id for one action in several services; a malformed one is ignored.
    """
    request_id = f"req-{uuid4()}"
    RequestContext(
        request_id=request_id,
        global_request_id=global_id if global_id and FORM.fullmatch(global_id) else None,
        overwrite=True,
    )
    return request_id


def name(caller: Caller) -> None:
    """Add the caller to the log context of this thread's request."""
    context = get_current()
    if context is not None:
        context.user_id, context.user_domain_id = caller.user_id, caller.user_domain_id
        context.project_id, context.project_domain_id = caller.project_id, caller.project_domain_id
