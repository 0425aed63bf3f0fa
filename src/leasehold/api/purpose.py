"""What leases are for, in the words of who asks for them (feature I9, decision 0154)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.models.name import LONGEST_PURPOSE
from leasehold.api.versions import PURPOSES
from leasehold.model.errors import MissingParameterError

if TYPE_CHECKING:
    from leasehold.api.call import Call

_HOW = (
    f"Say what it is for, in a text of 1 to {LONGEST_PURPOSE} characters: the operators require it. Microversion "
    f"{PURPOSES} and later have the key"
)


def purpose_of(call: Call, sent: str | None) -> str | None:
    """Return the purpose that a request says, None if it says none or a blank one.

    Raises MissingParameterError for none where the operators require one.
    """
    purpose = sent if sent and sent.strip() else None
    if purpose is None and call.service.settings.leases.purpose_required:
        raise MissingParameterError("purpose", how=_HOW)
    return purpose


def new_purpose(call: Call, sent: str | None) -> str | None:
    """Return the purpose that an amendment gives, "" for none any more and None for no change; raises the same."""
    return None if sent is None else purpose_of(call, sent) or ""
