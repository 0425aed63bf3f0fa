"""Which preemptible servers stay on a host that is drawn into the reservation pool (feature K1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.cloud.ports import Server
    from leasehold.conf.settings import CloudSettings


def stays_on_draw(server: Server, settings: CloudSettings) -> bool:
    """Return whether a server stays when its host is drawn into the reservation pool: a lease of the host ends it.

    Where no preemptible servers are expected, they are moved like others (`[physical:host] expect_preemptibles`).
    """
    return server.preemptible and settings.expect_preemptibles
