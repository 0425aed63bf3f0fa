"""A key that a feature adds to the answer about one lease, which the core does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from leasehold.api.versions import Version
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

ShowField: TypeAlias = "Callable[[Lease], Any]"
"""Returns the value for a lease; None: the answer about it does not have the key."""
ShowTogether: TypeAlias = "Callable[[Collection[str]], Any]"
"""Returns the value for several leases, by their ids, at once; None: the answer about them does not have the key."""


@dataclass(frozen=True, slots=True)
class LeaseField:
    """A key of `GET /v1/leases/{lease_id}` from a microversion on; with `tried` also of the answer to a dry run.

    `answer` is the type of its value, for the description of the API. With `together` it is in the answer about several
    leases that belong together as well. `make`, `tried` and `together` are called once for each API.
    """

    name: str
    since: Version
    answer: Any
    make: Callable[[Service], ShowField]
    tried: Callable[[Service], ShowField] | None = None
    together: Callable[[Service], ShowTogether] | None = None
