"""What a caller may ask about hosts: nothing that would tell one of them from another (docs/decisions/0018).

A refusal says how many hosts match, so who may compare a name or a private value with whatever they like can find it
out, a character at a time. Only expressions that are new are looked at: an amendment keeps those that an operator made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.property import private_names
from leasehold.model.errors import InvalidInputError
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leasehold.leasing.service import Service
    from leasehold.model.caller import Sight

PUBLIC = frozenset(
    {
        "vcpus",
        "memory_mb",
        "local_gb",
        "cpu_info",
        "hypervisor_type",
        "hypervisor_version",
        "availability_zone",
        "reservable",
        "status",
    }
)
"""What everybody may ask about a host of what the cloud tells of it."""
IDENTIFYING = frozenset({"id", "hypervisor_hostname", "service_name", "trust_id", "created_at", "updated_at"})
"""What tells which host is which."""


def check_names(sight: Sight, new_names: Mapping[str, frozenset[str]]) -> None:
    """Raise InvalidInputError, naming the field, for a new expression that asks which host is which unless allowed.

    `new_names` are what the new expressions mention, by field.
    """
    if sight.hosts:
        return
    for field, mentioned in new_names.items():
        if identifying := sorted(mentioned & IDENTIFYING):
            message = (
                f"${identifying[0]} tells which host is which, and only who may list hosts may ask about it. Ask for "
                "what the host has to have, such as $vcpus or a property."
            )
            raise InvalidInputError(message, field=field)


def hidden_names(service: Service, sight: Sight, mentioned: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the private properties, if the caller may not ask about them and the requests mention any property."""
    if sight.private:
        return frozenset()
    if frozenset().union(*mentioned) <= PUBLIC | IDENTIFYING:
        return frozenset()
    with service.db.reading() as connection:
        return private_names(connection, HOST)
