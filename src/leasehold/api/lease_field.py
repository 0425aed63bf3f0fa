"""A key that a feature adds to the answer about one lease, which the core does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.api.versions import Version
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

ShowField: TypeAlias = "Callable[[Lease], Any]"
"""Returns the value for a lease; None: the answer about it does not have the key."""


@dataclass(frozen=True, slots=True)
class LeaseField:
    """A key of `GET /v1/leases/{lease_id}` from a microversion on; with `tried` also of the answer to a dry run.

    `answer` is the type of its value, for the description of the API. `make` and `tried` are called once for each API.
    """

    name: str
    since: Version
    answer: Any
    make: Callable[[Service], ShowField]
    tried: Callable[[Service], ShowField] | None = None
