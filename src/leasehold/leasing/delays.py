"""Tell whoever listens of requests that begin later, or not at all, because resources are not ready."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from leasehold.model.errors import NotEnoughError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.leasing.service import Service
    from leasehold.model.delay import Delay


@contextmanager
def telling_delays(service: Service, *, dry_run: bool) -> Iterator[list[Delay]]:
    """Yield where a decision in the block puts the delay of what it grants, and tell of it, or of that of a refusal.

    A dry run is told to nobody.
    """
    found: list[Delay] = []
    try:
        yield found
    except NotEnoughError as error:
        found[:] = [] if error.refusal.delay is None else [error.refusal.delay]
        _tell(service, found, dry_run=dry_run)
        raise
    _tell(service, found, dry_run=dry_run)


def _tell(service: Service, found: list[Delay], *, dry_run: bool) -> None:
    for delay in () if dry_run else found:
        for each in service.listeners:
            each.note(service.now(), delay)
