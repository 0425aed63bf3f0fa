"""Restrict what callers may ask about hosts, so that they cannot identify one (docs/decisions/0018).

A refusal says how many hosts match. A caller who may compare a host's name or a private property with any value could
therefore guess it one character at a time. Only new expressions are checked: an amendment keeps those that an operator
wrote.
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
"""The host attributes from the cloud that every caller may use in an expression."""
IDENTIFYING = frozenset({"id", "hypervisor_hostname", "service_name", "trust_id", "created_at", "updated_at"})
"""The host attributes that identify a single host."""


def check_names(sight: Sight, new_names: Mapping[str, frozenset[str]]) -> None:
    """Raise InvalidInputError with the field when a new expression uses an identifying attribute without permission.

    `new_names` holds the names that the new expressions mention, by field.
    """
    if sight.hosts:
        return
    for field, mentioned in new_names.items():
        if identifying := sorted(mentioned & IDENTIFYING):
            message = (
                f"${identifying[0]} identifies a host, so only callers who may list hosts may use it. Ask for what "
                "the host has to have, such as $vcpus or a property."
            )
            raise InvalidInputError(message, field=field)


def hidden_names(service: Service, sight: Sight, mentioned: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the private properties if the caller may not use them and the requests mention a property; else none."""
    if sight.private:
        return frozenset()
    if frozenset().union(*mentioned) <= PUBLIC | IDENTIFYING:
        return frozenset()
    with service.db.reading() as connection:
        return private_names(connection, HOST)
