"""Find leases that need a plugin which cannot be used here: they cannot end, nor release their resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.audit.reading import leases_using, types_in_use
from leasehold.model.finding import Finding, FindingKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.leasing.service import Service

MOST_NAMED = 8
"""The most leases that a finding names; it counts the rest."""
_REMEDY = (
    "Install the plugin again and restart the managers. If none of its objects are left in the cloud, add the type to "
    "[manager] forgotten_plugins: leases of it can end then."
)


def audit_plugins(service: Service) -> Iterator[Finding]:
    """Yield a finding for each resource type of unfinished reservations whose plugin cannot be used."""
    with service.db.reading() as connection:
        missing = [name for name in types_in_use(connection) if service.types.find(name) is None]
        using = {name: leases_using(connection, name) for name in missing}
    for name, leases in using.items():
        what = f"The plugin of the resource type {name!r} cannot be used here, and {_said(leases)}."
        yield Finding(FindingKind.PLUGIN, name, what, _REMEDY)


def _said(leases: list[str]) -> str:
    named = ", ".join(leases[:MOST_NAMED])
    rest = f" and {len(leases) - MOST_NAMED} more" if len(leases) > MOST_NAMED else ""
    return f"{len(leases)} {'lease has' if len(leases) == 1 else 'leases have'} reservations of it: {named}{rest}"
