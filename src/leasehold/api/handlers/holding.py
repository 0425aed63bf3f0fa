"""What a lease has, from 1.2 on (feature J7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.views.holding import show_holdings
from leasehold.leasing.reading import holding as holdings

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.model.lease import Lease


def list_holdings(call: Call, lease: Lease) -> Reply:
    """Show the resources that a lease has, by reservation, with their health and what is public about them.

    Only who may list hosts sees their ids and names, and only administrators see private properties.
    """
    found = holdings.list_holdings(call.service, lease, call.sight)
    return Reply({"reservations": show_holdings(lease, found, call.version)})
