"""The headers that keep a request from being carried out twice: `Idempotency-Key`, and `If-Match` with an ETag."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from leasehold.api.versions import AMENDING_ONCE
from leasehold.model.draft import Once
from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.api.models.base import RequestModel
    from leasehold.api.models.lease import LeaseAmendment
    from leasehold.model.draft import LeaseChanges
    from leasehold.model.lease import Lease

IDEMPOTENCY_KEY = "Idempotency-Key"
LONGEST_KEY = 255
IF_MATCH = "If-Match"


def idempotency_key(call: Call) -> str | None:
    """Return the key of a request, None without one; raises InvalidInputError for one that cannot be kept."""
    key: str | None = call.request.get_header(IDEMPOTENCY_KEY)
    if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        message = f"{IDEMPOTENCY_KEY} has to be 1 to {LONGEST_KEY} printable ASCII characters, such as a UUID."
        raise InvalidInputError(message, field=IDEMPOTENCY_KEY)
    return key


def fingerprint(body: RequestModel, *about: str) -> str:
    """Return a digest of the request; it is that of an older version's process if the request has no newer key.

    What a template has added does not count: a request that is repeated is the same, whatever became of its template.
    `about` says what the request is about, where that is not in the body.
    """
    absent = {name for name in body.since if getattr(body, name) is None}
    sent = body.model_dump_json(exclude=absent | body.added)
    return hashlib.sha256(" ".join([*about, sent]).encode()).hexdigest()


def amending_once(call: Call, body: LeaseAmendment, lease: Lease) -> Once | None:
    """Return what makes an amendment one that is carried out once: its key, if it has one, from 1.3 on."""
    key = idempotency_key(call) if call.version >= AMENDING_ONCE else None
    return None if key is None else Once(call.caller.project_id, key, fingerprint(body, "PUT", lease.id))


def check_once(changes: LeaseChanges, once: Once | None, generation: int | None) -> None:
    """Raise InvalidInputError for a relative change that would be made again if its request were sent again."""
    if changes.is_relative and once is None and generation is None:
        message = (
            f"Send a fresh {IDEMPOTENCY_KEY} with a change of dates from where they are, such as a UUID, or {IF_MATCH} "
            "with the lease's ETag. If an answer is lost and the request is sent again, the dates would move twice."
        )
        raise InvalidInputError(message, field=IDEMPOTENCY_KEY)
