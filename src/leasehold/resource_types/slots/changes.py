"""Which changes an amendment may make to a reservation of slots (contract http-api §5.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.model.errors import ConflictError, InvalidInputError
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.layout import KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.reservation import Reservation


def check_only_more(reservation: Reservation, changed: Mapping[str, Any]) -> None:
    """Raise unless the changed stored request differs only in a larger `amount`.

    A pending reservation may change in any way. Raises ConflictError for one in ERROR, InvalidInputError otherwise.
    """
    if reservation.status is ReservationStatus.PENDING:
        return
    if reservation.status is ReservationStatus.ERROR:
        message = "The reservation is in error and cannot be changed; delete the lease, or change only its dates."
        raise ConflictError(message)
    before = reservation.request
    keys = changed.keys() | (KEYS & before.keys())
    others = sorted(key for key in keys if key != "amount" and before.get(key) != changed.get(key))
    if others:
        message = f"The reservation is active, so {', '.join(others)} cannot change; only amount may grow."
        raise InvalidInputError(message, field=others[0])
    if changed["amount"] < before["amount"]:
        message = f"The reservation is active, so amount cannot shrink below {before['amount']}."
        raise InvalidInputError(message, field="amount")
