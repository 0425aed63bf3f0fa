"""Shared by tests of what becomes of servers: a reservation as clients see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.views.lease import reservation_view

if TYPE_CHECKING:
    from leasehold.api.models.lease import ReservationAnswer
    from leasehold.api.versions import Version
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.registry import ResourceTypes


def show_reservation(reservation: Reservation, types: ResourceTypes, version: Version) -> ReservationAnswer:
    """Return the reservation as this version shows it."""
    return reservation_view(reservation.resource_type, types, version)(reservation)
