"""Request ids (contract http-api §2.2): one for every request, in the answer and in every line of the log."""

from __future__ import annotations

import re
from uuid import uuid4

from oslo_context.context import RequestContext

HEADER = "x-openstack-request-id"
FORM = re.compile(r"req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def begin(global_id: str | None) -> str:
    """Return the id of the request that this thread starts to answer, and put it into the log's context.

    `global_id` is what the client sent to follow one action through several services; a malformed one is ignored.
    """
    request_id = f"req-{uuid4()}"
    RequestContext(
        request_id=request_id,
        global_request_id=global_id if global_id and FORM.fullmatch(global_id) else None,
        overwrite=True,
    )
    return request_id
